#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/cuda/gpu_runtime.h"

namespace twinrun::exec::gpu {

// Kernels as CUPTI records them. The library is opened on demand: it comes with the toolkit, and
// not with what runs programs. One collector at a time.
class KernelCollector {
 public:
  KernelCollector() = default;
  KernelCollector(const KernelCollector&) = delete;
  KernelCollector& operator=(const KernelCollector&) = delete;
  virtual ~KernelCollector() = default;

  // Null and why, where it cannot be done.
  static std::unique_ptr<KernelCollector> start(std::string& problem);

  // What this thread launches until end_op belongs to that op.
  virtual void begin_op(std::uint64_t op) = 0;
  virtual void end_op() = 0;
  // All that there are so far.
  virtual std::vector<GpuKernelRecord> take() = 0;
};

}  // namespace twinrun::exec::gpu
