#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/units.h"
#include "core/plan/op.h"
#include "core/plan/plan.h"

namespace twinrun {

// So many collectives, one after another; without a kind, messages: each rank copies to the next
// one, or the first of two to the second.
struct CollectiveCall {
  std::optional<CollectiveKind> kind;
  Bytes bytes{};
  std::int64_t times = 1;
};

struct CallOptions {
  std::string_view algorithm = "auto";
  Dtype dtype = Dtype::kFp32;
  std::uint32_t root = 0;  // a rank
};

// A plan that makes these calls among the devices and does nothing else.
Plan plan_of_calls(const std::vector<std::string>& devices,
                   std::span<const CollectiveCall> calls,
                   const CallOptions& options);

}  // namespace twinrun
