#include "core/trace/compare_groups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "core/trace/device_use.h"
#include "core/trace/error_shares.h"
#include "core/trace/phases.h"
#include "core/trace/slice_text.h"

namespace twinrun {
namespace {

// ---- kinds and phases

template <std::size_t kGroups>
using GroupTable = std::array<GroupTimes, kGroups + 1>;  // the last one is waiting

// Where the counted steps went along the critical path, an entry a group.
template <std::size_t kGroups, class GroupOf>
void add_path(const FoldedRun& run, const GroupOf& group_of, GroupTable<kGroups>& out) {
  const auto steps = static_cast<double>(run.steps().spans.size());
  const Time begin = run.steps().begin();
  Time rest = run.steps().end() - begin;
  for (const OpId op : counted_path(run).ops) {
    const OpTimes& times = run.trace().ops[index_of(op)];
    const Time took = times.end - std::max(times.start, begin);
    out[group_of(op)].on_path_s += to_seconds(took) / steps;
    rest = rest - took;
  }
  out.back().on_path_s = steps > 0 ? to_seconds(rest) / steps : 0;
}

template <std::size_t kGroups, class GroupOf>
GroupTable<kGroups> group_table(const FoldedRun& run, const GroupOf& group_of) {
  GroupTable<kGroups> out{};
  std::array<std::vector<bool>, kGroups> has_device;
  for (std::vector<bool>& devices : has_device) {
    devices.assign(run.plan().device_count(), false);
  }
  for (std::size_t i = 0; i < run.size(); ++i) {
    const FoldedOp& op = run[id_at<FoldedId>(i)];
    const std::size_t group = group_of(op.op);
    out[group].ops += 1;
    out[group].working_s += op.working_s();
    out[group].waiting_s += op.waiting_s();
    has_device[group][index_of(run.plan().device(op.op))] = true;
  }
  for (std::size_t group = 0; group < kGroups; ++group) {
    const auto devices = static_cast<double>(std::max<std::ptrdiff_t>(
        1, std::count(has_device[group].begin(), has_device[group].end(), true)));
    out[group].working_s /= devices;
    out[group].waiting_s /= devices;
  }
  add_path<kGroups>(run, group_of, out);
  return out;
}

template <std::size_t kGroups>
std::vector<GroupDifference> side_by_side(const std::array<std::string_view, kGroups>& names,
                                          const GroupTable<kGroups>& a,
                                          const GroupTable<kGroups>& b) {
  std::vector<GroupDifference> out;
  for (std::size_t group = 0; group <= kGroups; ++group) {
    const bool is_waiting = group == kGroups;
    if (is_waiting || a[group].ops + b[group].ops > 0) {
      out.push_back({std::string(is_waiting ? kWaitingGroup : names[group]), a[group], b[group]});
    }
  }
  return out;
}

// ---- devices

std::vector<DeviceTimes> device_times(const TraceIndex& index, const FoldedRun& run) {
  const auto steps = static_cast<double>(std::max<std::size_t>(1, run.steps().spans.size()));
  std::vector<DeviceTimes> out;
  for (const DeviceUse& use : device_use(index, run.steps())) {
    out.push_back({to_seconds(use.compute) / steps, to_seconds(use.communication) / steps,
                   to_seconds(use.exposed) / steps, 0, to_seconds(use.idle) / steps});
  }
  for (std::size_t i = 0; i < run.size(); ++i) {
    const FoldedOp& op = run[id_at<FoldedId>(i)];
    out[index_of(run.plan().device(op.op))].waiting_s += op.waiting_s();
  }
  return out;
}

std::vector<bool> devices_with_ops(const FoldedRun& run) {
  std::vector<bool> out(run.plan().device_count(), false);
  for (std::size_t i = 0; i < run.size(); ++i) {
    out[index_of(run.plan().device(run[id_at<FoldedId>(i)].op))] = true;
  }
  return out;
}

// In whole picoseconds, so that equal ones stay in their order.
std::int64_t apart(double a, double b) { return std::llround(std::abs(b - a) * 1e12); }

std::int64_t apart(const DeviceDifference& device) {
  const auto busy = [](const std::optional<DeviceTimes>& times) {
    return times ? times->compute_s + times->exposed_s : 0;
  };
  return apart(busy(device.a), busy(device.b));
}

// ---- collectives

// A collective of the mean step with the ops of its ranks.
struct FoldedCollective {
  std::string_view name;
  std::vector<FoldedId> ops;
};

// In the order of the plan.
std::vector<FoldedCollective> folded_collectives(const FoldedRun& run) {
  std::vector<FoldedCollective> out;
  std::map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const auto id = id_at<FoldedId>(i);
    if (run.plan().kind(run[id].op) == OpKind::kCollective) {
      const std::string_view name = id_within_step(run.plan().match(run[id].op));
      const auto [at, is_new] = known.try_emplace(name, out.size());
      if (is_new) {
        out.push_back({name, {}});
      }
      out[at->second].ops.push_back(id);
    }
  }
  return out;
}

CollectiveTimes times_of(const FoldedRun& run, const FoldedCollective& collective) {
  CollectiveTimes out;
  out.name = collective.name;
  if (const CollectiveRun* how = run_of(run.plan(), run.trace(), run[collective.ops.front()].op)) {
    out.algorithm = how->algorithm;
    out.protocol = how->protocol;
    out.bottleneck = how->bottleneck;
  }
  double end = run[collective.ops.front()].end_s;
  out.start_s = run[collective.ops.front()].start_s;
  for (const FoldedId id : collective.ops) {
    out.start_s = std::max(out.start_s, run[id].start_s);
    end = std::max(end, run[id].end_s);
    out.waiting_s += run[id].waiting_s() / static_cast<double>(collective.ops.size());
  }
  out.time_s = end - out.start_s;
  return out;
}

CollectiveDifference described(const FoldedRun& run, const FoldedCollective& collective) {
  const OpId op = run[collective.ops.front()].op;
  CollectiveDifference out;
  out.kind = run.plan().shape(op).kind;
  out.bytes = run.plan().collective(op).bytes.count;
  out.ranks = run.plan().group_devices(run.plan().shape(op).group).size();
  return out;
}

double start_of(const CollectiveDifference& collective) {
  return collective.a ? collective.a->start_s : collective.b->start_s;
}

}  // namespace

std::vector<GroupDifference> compare_kinds(const FoldedRun& a, const FoldedRun& b) {
  constexpr std::size_t kKinds = kOpKindNames.size();
  const auto table = [](const FoldedRun& run) {
    return group_table<kKinds>(
        run, [&](OpId op) { return static_cast<std::size_t>(run.plan().kind(op)); });
  };
  return side_by_side<kKinds>(kOpKindNames, table(a), table(b));
}

std::vector<GroupDifference> compare_phases(const FoldedRun& a, const FoldedRun& b) {
  constexpr std::size_t kPhases = kPhaseNames.size();
  const auto table = [](const FoldedRun& run) {
    return group_table<kPhases>(
        run, [&](OpId op) { return static_cast<std::size_t>(phase_of(run.plan(), op)); });
  };
  return side_by_side<kPhases>(kPhaseNames, table(a), table(b));
}

std::vector<DeviceDifference> compare_devices(const TraceIndex& a_index,
                                              const FoldedRun& a,
                                              const TraceIndex& b_index,
                                              const FoldedRun& b) {
  const std::vector<DeviceTimes> a_times = device_times(a_index, a);
  const std::vector<DeviceTimes> b_times = device_times(b_index, b);
  const std::vector<DeviceId> in_b = join_devices(a.plan(), b.plan());
  const std::vector<bool> a_has = devices_with_ops(a);
  std::vector<bool> b_has = devices_with_ops(b);
  std::vector<DeviceDifference> out;
  for (std::size_t i = 0; i < a_times.size(); ++i) {
    const bool is_joined = in_b[i] != no_id<DeviceId>() && b_has[index_of(in_b[i])];
    if (!a_has[i] && !is_joined) {
      continue;
    }
    DeviceDifference device{std::string(a.plan().device_name(id_at<DeviceId>(i))), "", {}, {}, 0};
    device.a = a_has[i] ? std::optional(a_times[i]) : std::nullopt;
    if (is_joined) {
      device.device_in_b = b.plan().device_name(in_b[i]);
      device.b = b_times[index_of(in_b[i])];
      b_has[index_of(in_b[i])] = false;
    }
    out.push_back(std::move(device));
  }
  for (std::size_t i = 0; i < b_times.size(); ++i) {
    if (b_has[i]) {
      const std::string name(b.plan().device_name(id_at<DeviceId>(i)));
      out.push_back({name, name, std::nullopt, b_times[i], 0});
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& x, const auto& y) { return apart(x) > apart(y); });
  return out;
}

std::vector<CollectiveDifference> compare_collectives(const FoldedRun& a,
                                                      const FoldedRun& b,
                                                      const RunJoin& join) {
  std::map<std::string_view, const FoldedCollective*> of_b;
  const std::vector<FoldedCollective> all_of_b = folded_collectives(b);
  for (const FoldedCollective& collective : all_of_b) {
    of_b.emplace(collective.name, &collective);
  }
  std::vector<CollectiveDifference> out;
  for (const FoldedCollective& collective : folded_collectives(a)) {
    CollectiveDifference both = described(a, collective);
    both.a = times_of(a, collective);
    for (const FoldedId id : collective.ops) {
      const FoldedId other = join.in_b[index_of(id)];
      const auto found = other == no_id<FoldedId>()
                             ? of_b.end()
                             : of_b.find(id_within_step(b.plan().match(b[other].op)));
      if (found != of_b.end()) {
        both.b = times_of(b, *found->second);
        both.joined_by = join.how[index_of(id)];
        of_b.erase(found);
        break;
      }
    }
    out.push_back(std::move(both));
  }
  for (const FoldedCollective& collective : all_of_b) {
    if (of_b.contains(collective.name)) {
      out.push_back(described(b, collective));
      out.back().b = times_of(b, collective);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& x, const auto& y) {
    return std::pair(!x.a, start_of(x)) < std::pair(!y.a, start_of(y));
  });
  return out;
}

std::vector<LinkDifference> compare_links(const Trace& a,
                                          const Trace& b,
                                          const std::vector<CollectiveDifference>& collectives) {
  std::map<std::string, LinkDifference> by_name;
  const auto entry = [&](const std::string& name) -> LinkDifference& {
    LinkDifference& link = by_name[name];
    link.link = name;
    return link;
  };
  for (const LinkUse& use : a.links) {
    entry(use.link).a = use;
  }
  for (const LinkUse& use : b.links) {
    entry(use.link).b = use;
  }
  for (const CollectiveDifference& collective : collectives) {
    const std::string& known = collective.a && !collective.a->bottleneck.empty()
                                   ? collective.a->bottleneck
                               : collective.b ? collective.b->bottleneck
                                              : "";
    if (!known.empty() && collective.a && collective.b) {
      entry(known).limited_a_s += collective.a->time_s;
      entry(known).limited_b_s += collective.b->time_s;
    }
  }
  std::vector<LinkDifference> out;
  for (auto& [name, link] : by_name) {
    const bool carried = (link.a && link.a->bytes > 0) || (link.b && link.b->bytes > 0);
    if (carried || link.limited_a_s + link.limited_b_s > 0) {
      out.push_back(std::move(link));
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& x, const auto& y) {
    return apart(x.limited_a_s, x.limited_b_s) > apart(y.limited_a_s, y.limited_b_s);
  });
  return out;
}

}  // namespace twinrun
