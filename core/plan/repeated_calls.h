#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/units.h"
#include "core/plan/op.h"
#include "core/plan/plan.h"

namespace twinrun {

// One collective, again and again for each size. Without a kind: each rank sends to the next one,
// or the first of two to the second.
struct RepeatedCall {
  std::optional<CollectiveKind> kind;
  std::vector<Bytes> sizes;
  std::int64_t times = 1;     // for each size
  std::int64_t settling = 0;  // calls of a few bytes before all of these: until threads and caches
                              // are where they stay
  std::string algorithm = "auto";
  Dtype dtype = Dtype::kFp32;
  std::uint32_t root = 0;  // a rank
};

struct RepeatedCallPlan {
  Plan plan;
  std::vector<std::vector<std::vector<OpId>>> ops;  // by size, by repetition: of all ranks
};

// A plan to measure by. Before each call there is a barrier, so that all ranks begin together, and
// an op of the host, in which data can be put down and looked at without being timed; one more
// follows the last call.
//
//   comm of each rank   host  barrier  CALL  host  barrier  CALL  …  host
//
// A rank that sends to the next one has its host op and its send in a stream of their own:
//
//   send                host  SEND  host  SEND  …          a barrier waits for the host beside it,
//   comm                host  barrier  RECV  host  …       a send for the barrier
RepeatedCallPlan repeat_calls(const std::vector<std::string>& devices, const RepeatedCall& call);

}  // namespace twinrun
