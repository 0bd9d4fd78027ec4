#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/collective/algorithms.h"
#include "core/plan/plan.h"
#include "exec/backend.h"
#include "exec/mpi/channels.h"
#include "exec/mpi/device_homes.h"
#include "exec/mpi/post.h"
#include "exec/mpi/schedule_run.h"
#include "exec/training/op_work.h"

namespace twinrun::exec {

// The devices of one process: what they do is work of the CPU, what they exchange goes through the
// post, collectives by the schedules of core/collective or, with the algorithm "mpi", by MPI.
class MpiBackend : public Backend {
 public:
  // By all processes together. CannotRun when a collective's algorithm cannot do it.
  MpiBackend(const Plan& plan, const DeviceHomes& homes, OpWork& work, Post& post);

  void run(OpId op) override;
  void stop() override { post_.stop(); }
  [[nodiscard]] std::string awaited_by(OpId op) const override;
  [[nodiscard]] std::string algorithm(InstanceId instance) const override;

 private:
  struct Collective {
    std::string algorithm;
    std::optional<CollectiveSchedule> schedule;
    int communicator = -1;  // of algorithm "mpi"
  };
  [[nodiscard]] std::optional<OpId> op_here(InstanceId instance) const;
  void choose_schedules();
  void make_groups(Transport& transport);
  [[nodiscard]] bool is_mpi(InstanceId instance) const;

  void send(OpId op);
  void receive(OpId op);
  void collective(OpId op);
  void run_schedule(OpId op,
                    const CollectiveSchedule& schedule,
                    std::span<float> array,
                    std::span<float> into);
  [[nodiscard]] Address address(DeviceId from, OpId to, DeviceId other) const;
  void wait(OpId op, Request request, OpId awaited);

  const Plan& plan_;
  const DeviceHomes& homes_;
  OpWork& work_;
  Post& post_;
  Channels channels_;
  std::vector<Collective> collectives_;              // by instance
  std::vector<std::unique_ptr<ScheduleRun>> runs_;   // by stream: one collective at a time
  std::vector<std::atomic<std::uint32_t>> awaited_;  // by stream: the op its op waits for
};

}  // namespace twinrun::exec
