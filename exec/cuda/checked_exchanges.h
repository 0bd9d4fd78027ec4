#pragma once

#include <cstddef>
#include <map>

#include "core/plan/plan.h"
#include "exec/cpu/checked_work.h"
#include "exec/cuda/gpu_machine.h"
#include "exec/local_devices.h"
#include "exec/training/op_work.h"

namespace twinrun::exec {

// For plans of collectives and messages alone, on GPUs. Numbers are put down and looked at by the
// host, in pinned memory; an op of the host brings what has arrived from the GPU before, and takes
// what is to be exchanged there after:
//
//   comm of each rank   copy to host · call of the host · copy to GPU   barrier   CALL   …
//
// All of it is enqueued on the stream of the op, outside of what is timed of an exchange.
class CheckedExchanges : public OpWork {
 public:
  // CannotRun as CheckedWork, or when a GPU has not so much memory.
  CheckedExchanges(const Plan& plan, GpuMachine& machine, const LocalDevices& here);

  void compute(OpId op) override;
  MovedData moved(OpId op) override;
  void finished(OpId /*op*/) override {}
  [[nodiscard]] std::int64_t wrong() const { return on_host_.wrong(); }

 private:
  std::span<float> allocate(StreamId stream, std::size_t elements);
  [[nodiscard]] std::span<float> on_gpu(std::span<float> on_host) const;

  const Plan& plan_;
  GpuMachine& machine_;
  std::map<const float*, float*> areas_;  // of the host, and the same of a GPU
  CheckedWork on_host_;                   // after what it allocates with
};

}  // namespace twinrun::exec
