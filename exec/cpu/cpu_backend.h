#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "exec/backend.h"
#include "exec/cpu/collective_exchange.h"
#include "exec/gate.h"
#include "exec/training/op_work.h"

namespace twinrun::exec {

// Devices are threads of this process, links are copies from one's memory to another's, and
// collectives run the schedules of core/collective.
class CpuBackend : public Backend {
 public:
  // CannotRun when a collective's algorithm cannot do it.
  CpuBackend(const Plan& plan, OpWork& work);

  void run(OpId op) override;
  void stop() override;
  [[nodiscard]] std::string algorithm(InstanceId instance) const override;

 private:
  void receive(OpId op);
  void collective(OpId op);

  const Plan& plan_;
  OpWork& work_;
  std::vector<Gate> received_;                                  // by op: the recv is done
  std::vector<std::unique_ptr<CollectiveExchange>> exchanges_;  // by instance
  std::vector<std::string> algorithms_;                         // by instance
};

}  // namespace twinrun::exec
