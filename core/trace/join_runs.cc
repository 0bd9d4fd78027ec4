#include "core/trace/join_runs.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace twinrun {
namespace {

using LooseKey = std::tuple<DeviceId, CollectiveKind, std::int64_t>;  // device of b, kind, bytes
using LooseOps = std::map<LooseKey, std::vector<FoldedId>>;

LooseKey key_of(const FoldedRun& run, FoldedId id, DeviceId device) {
  const OpId op = run[id].op;
  return {device, run.plan().shape(op).kind, run.plan().collective(op).bytes.count};
}

// The collectives that nothing was found for, in the order in which they start.
LooseOps loose_collectives(const FoldedRun& run,
                           const std::vector<FoldedId>& partners,
                           const std::vector<DeviceId>& device_names) {
  LooseOps out;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const auto id = id_at<FoldedId>(i);
    if (partners[i] == no_id<FoldedId>() && run.plan().kind(run[id].op) == OpKind::kCollective) {
      const DeviceId device = device_names[index_of(run.plan().device(run[id].op))];
      out[key_of(run, id, device)].push_back(id);
    }
  }
  for (auto& [key, ids] : out) {
    std::stable_sort(ids.begin(), ids.end(),
                     [&](FoldedId x, FoldedId y) { return run[x].start_s < run[y].start_s; });
  }
  return out;
}

void join_loose(const FoldedRun& a, const FoldedRun& b, RunJoin& join) {
  std::vector<DeviceId> own(b.plan().device_count());
  for (std::size_t i = 0; i < own.size(); ++i) {
    own[i] = id_at<DeviceId>(i);
  }
  const LooseOps in_b = loose_collectives(b, join.in_a, own);
  for (const auto& [key, ids] : loose_collectives(a, join.in_b, join_devices(a.plan(), b.plan()))) {
    const auto found = in_b.find(key);
    const std::size_t pairs = found == in_b.end() ? 0 : std::min(ids.size(), found->second.size());
    for (std::size_t i = 0; i < pairs; ++i) {
      join.in_b[index_of(ids[i])] = found->second[i];
      join.in_a[index_of(found->second[i])] = ids[i];
      join.how[index_of(ids[i])] = JoinedBy::kOrderAndSize;
    }
  }
}

}  // namespace

std::vector<DeviceId> join_devices(const Plan& a, const Plan& b) {
  std::map<std::string_view, DeviceId> by_name;
  for (std::size_t i = 0; i < b.device_count(); ++i) {
    by_name.emplace(b.device_name(id_at<DeviceId>(i)), id_at<DeviceId>(i));
  }
  std::vector<DeviceId> out(a.device_count(), no_id<DeviceId>());
  std::vector<bool> is_taken(b.device_count(), false);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (const auto found = by_name.find(a.device_name(id_at<DeviceId>(i)));
        found != by_name.end()) {
      out[i] = found->second;
      is_taken[index_of(found->second)] = true;
    }
  }
  for (std::size_t i = 0; i < std::min(out.size(), is_taken.size()); ++i) {
    if (out[i] == no_id<DeviceId>() && !is_taken[i]) {
      out[i] = id_at<DeviceId>(i);
    }
  }
  return out;
}

RunJoin join_runs(const FoldedRun& a, const FoldedRun& b) {
  RunJoin join;
  join.in_b.assign(a.size(), no_id<FoldedId>());
  join.in_a.assign(b.size(), no_id<FoldedId>());
  join.how.assign(a.size(), JoinedBy::kNothing);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto id = id_at<FoldedId>(i);
    const FoldedId other = b.find(a[id].name);
    if (other != no_id<FoldedId>() && a.plan().kind(a[id].op) == b.plan().kind(b[other].op)) {
      join.in_b[i] = other;
      join.in_a[index_of(other)] = id;
      join.how[i] = JoinedBy::kName;
    }
  }
  join_loose(a, b, join);
  return join;
}

}  // namespace twinrun
