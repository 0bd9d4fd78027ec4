#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/op.h"
#include "core/trace/critical_path.h"
#include "core/trace/folded_run.h"
#include "core/trace/join_runs.h"
#include "core/trace/trace_index.h"

// The parts of a comparison that set groups of ops beside each other. All times are seconds of the
// mean step.

namespace twinrun {

// What the ops of a group did in one run.
struct GroupTimes {
  std::size_t ops = 0;   // of the mean step, over all devices
  double working_s = 0;  // start to end, on the mean device that has such ops
  double waiting_s = 0;  // ready to start: for the others of a collective or message
  double on_path_s = 0;  // on the critical path
  bool operator==(const GroupTimes&) const = default;
};
struct GroupDifference {
  std::string name;  // "forward", "collective"
  GroupTimes a;
  GroupTimes b;
};
// The critical path's own time without any op: its times on the path and those of all groups add up
// to the step.
inline constexpr std::string_view kWaitingGroup = "waiting";
std::vector<GroupDifference> compare_kinds(const FoldedRun& a, const FoldedRun& b);
std::vector<GroupDifference> compare_phases(const FoldedRun& a, const FoldedRun& b);

struct DeviceTimes {
  double compute_s = 0;
  double communication_s = 0;
  double exposed_s = 0;  // communication without compute
  double waiting_s = 0;  // of its ops, ready to start
  double idle_s = 0;     // neither compute, communication nor host work
  bool operator==(const DeviceTimes&) const = default;
};
struct DeviceDifference {
  std::string device;       // the name in a; in b when only that has it
  std::string device_in_b;  // "" when it is only in a
  std::optional<DeviceTimes> a;
  std::optional<DeviceTimes> b;
  double on_path_s = 0;  // what its ops and their waits add to the difference (error_shares.h)
};
// Of the devices that have ops; farthest apart in working time first. compare() fills in the path.
std::vector<DeviceDifference> compare_devices(const TraceIndex& a_index,
                                              const FoldedRun& a,
                                              const TraceIndex& b_index,
                                              const FoldedRun& b);

struct CollectiveTimes {
  std::string name;  // "all_reduce/bucket0-s0t0"
  std::string algorithm;
  std::string protocol;
  std::string bottleneck;
  double start_s = 0;    // since the step began, when the last rank had come
  double time_s = 0;     // from then until the last rank was done
  double waiting_s = 0;  // mean over the ranks that are known: ready to start
  bool operator==(const CollectiveTimes&) const = default;
};
struct CollectiveDifference {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::int64_t bytes = 0;
  std::size_t ranks = 0;
  JoinedBy joined_by = JoinedBy::kNothing;  // kNothing: only one of the two is there
  std::optional<CollectiveTimes> a;
  std::optional<CollectiveTimes> b;
};
// In the order in which they start; those of b alone last.
std::vector<CollectiveDifference> compare_collectives(const FoldedRun& a,
                                                      const FoldedRun& b,
                                                      const RunJoin& join);

struct LinkDifference {
  std::string link;
  std::optional<LinkUse> a;  // nothing where the run does not know its links
  std::optional<LinkUse> b;
  // How long the collectives took that this link limits, according to the run that knows it (a when
  // both do), in each of the two.
  double limited_a_s = 0;
  double limited_b_s = 0;
};
// Links that carried something or limited a collective; what they limit farthest apart first.
std::vector<LinkDifference> compare_links(const Trace& a,
                                          const Trace& b,
                                          const std::vector<CollectiveDifference>& collectives);

}  // namespace twinrun
