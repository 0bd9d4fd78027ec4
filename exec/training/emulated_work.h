#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "exec/local_devices.h"
#include "exec/training/op_work.h"
#include "exec/training/tensor_machine.h"

namespace twinrun::exec {

// For plans that do not say what their ops work on: a matrix product of as many FLOPs for each
// compute op, or a pass over as many bytes where it has none; copies, messages and collectives move
// as many bytes. What the numbers are means nothing.
class EmulatedWork : public OpWork {
 public:
  EmulatedWork(const Plan& plan, TensorMachine& machine, const LocalDevices& here = {});

  void compute(OpId op) override;
  MovedData moved(OpId op) override;
  void finished(OpId /*op*/) override {}

 private:
  // A matrix product in slices of its depth, so that operands stay small.
  struct Slices {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t slice = 0;
    [[nodiscard]] std::int64_t elements() const { return m * slice + slice * n + m * n; }
  };
  [[nodiscard]] Slices slices_of(OpId op) const;  // no depth when it is no product
  [[nodiscard]] std::int64_t wanted(OpId op) const;
  void multiply(OpId op, const Slices& product);
  void pass_over(OpId op, std::int64_t bytes);
  void copy(OpId op);

  const Plan& plan_;
  TensorMachine& machine_;
  std::vector<std::span<float>> scratch_;  // by stream: streams run beside each other
  std::vector<std::span<float>> landing_;  // by op that copies: on the other device
};

}  // namespace twinrun::exec
