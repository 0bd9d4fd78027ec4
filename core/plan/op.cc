#include "core/plan/op.h"

namespace twinrun {

std::string_view default_stream(OpKind kind) {
  switch (kind) {
    case OpKind::kCompute:
    case OpKind::kHost:
    case OpKind::kMarker:
      return "compute";
    case OpKind::kCopy:
      return "copy";
    case OpKind::kSend:
    case OpKind::kRecv:
    case OpKind::kCollective:
      return "comm";
  }
  return "compute";
}

double bus_factor(CollectiveKind kind, std::size_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
      return (n - 1) / n;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kBarrier:
      return 1;
  }
  return 1;
}

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
}

std::string_view default_match(std::string_view id) { return id.substr(0, id.rfind('@')); }

}  // namespace twinrun
