#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/plan/op.h"
#include "core/trace/kineto_events.h"

// The ops of one profiled rank, before they become a plan (kineto_import.h).

namespace twinrun {

// An op before the plan is made: in nanoseconds, on a rank.
struct ImportedOp {
  std::string id;
  std::string stream;
  OpKind kind = OpKind::kCompute;
  const KinetoMessage* message = nullptr;
  const KinetoOwn* own = nullptr;
  std::int64_t bytes = 0;
  std::string to;  // of a copy: device; "" is the op's own
  CollectiveKind collective = CollectiveKind::kAllReduce;
  std::int64_t ready_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct ImportedRank {
  std::int64_t rank = 0;
  std::vector<ImportedOp> ops;
  std::int64_t begin_ns = 0;  // of the first step, or of all
  std::int64_t first_step_ns = 0;
};

// What was met on the way, of all ranks.
struct ImportCounts {
  std::size_t steps = 0;
  std::size_t kernels = 0;
  std::size_t communication = 0;
  std::size_t outside = 0;     // launched in no step
  std::size_t unsized = 0;     // communication of unknown size
  std::size_t unlaunched = 0;  // whose launch is not in the file
};

// Of a file of PyTorch's profiler, in the order in which they started.
ImportedRank foreign_rank(const KinetoFile& file, ImportCounts& counts);
// Of a file that twinrun wrote.
ImportedRank own_rank(const KinetoFile& file, ImportCounts& counts);

struct TorchDtype {
  std::string_view name;
  Dtype dtype = Dtype::kInt8;
  std::int64_t bytes = 1;
};
// By PyTorch's name; bytes when it is not known.
TorchDtype torch_dtype(std::string_view name);

}  // namespace twinrun
