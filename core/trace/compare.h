#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/compare_groups.h"
#include "core/trace/counted_steps.h"
#include "core/trace/error_shares.h"
#include "core/trace/phases.h"
#include "core/trace/run_figures.h"

// Two runs side by side: how far apart, and where that comes from. A value: whoever shows it
// (terminal, JSON, HTML) computes nothing. Seconds are those of the mean counted step, differences
// are b − a, and percentages of a difference are of a.

namespace twinrun {

struct ComparedRun {
  RunView view;
  // What only the runner knows.
  std::optional<double> t2_s = std::nullopt;  // communication alone
  std::optional<double> samples_per_s = std::nullopt;
  std::optional<double> peak_memory_bytes = std::nullopt;  // of the fullest device
};

struct RunSummary {
  std::string name;    // of the plan
  std::string source;  // simulated, executed, imported
  std::string failure;
  std::int64_t steps = 0;             // that count
  std::int64_t incomplete_steps = 0;  // of which ops did not run
  double step_s = 0;
};

enum class MetricUnit : std::uint8_t { kSeconds, kPerSecond, kPercent, kBytes };

struct MetricDifference {
  std::string_view name;  // a key of the result: "step_s"
  MetricUnit unit = MetricUnit::kSeconds;
  std::optional<double> a;
  std::optional<double> b;
  double a_deviation = 0;  // over the steps; 0 where not known
  double b_deviation = 0;
  // 100 (b − a) / a; of percentages b − a; nothing when one is not known or a is 0 and b is not.
  std::optional<double> difference_pct;
};

struct OpDifference {
  std::string name;  // the id without its step
  OpKind kind = OpKind::kMarker;
  Phase phase = Phase::kMarker;
  JoinedBy joined_by = JoinedBy::kName;
  double a_s = 0;  // start to end
  double b_s = 0;
  double a_waiting_s = 0;  // ready to start
  double b_waiting_s = 0;
  double on_path_s = 0;  // what its work adds to the difference of the steps (error_shares.h)
  std::optional<double> share_pct;  // of that difference; nothing when there is none to share
};

// The ops of one name on all ranks: what a layer or a bucket has to do with the difference.
struct NameDifference {
  std::string name;       // without step and rank: "forward/fc1"
  std::size_t ranks = 0;  // ops of this name that both runs have, or one alone
  double a_s = 0;         // mean over the ranks, start to end; 0 where the run has none
  double b_s = 0;
  double a_waiting_s = 0;
  double b_waiting_s = 0;
  double on_path_s = 0;  // sum over the ranks
  std::optional<double> share_pct;
  std::string most_on;            // the op with the largest part of it
  bool is_mostly_on_one = false;  // … nine tenths or more, and farther apart than on other ranks
  bool is_in_both = false;
};

// A wait on the critical path of the slower run, before an op.
struct WaitDifference {
  std::string before;  // name of the op; "" at the end of the last step
  double a_s = 0;
  double b_s = 0;
  double on_path_s = 0;
  std::optional<double> share_pct;
};

struct PathOp {
  std::string op;  // its id
  std::string device;
  Phase phase = Phase::kMarker;
  double start_s = 0;  // since the step began
  double end_s = 0;
};

// Where two critical paths go different ways in the last counted step. Ranks are passed over: that
// another of several equal ranks was the last is no difference.
struct PathParting {
  bool are_same = true;
  std::size_t common = 0;  // ops that both paths begin with
  std::string after;       // the last of them; "" when they part at once
  std::string next_in_a;   // "" when the path ends there
  std::string next_in_b;
  std::string meet_at;  // the first op that both paths end with; "" when there is none
};

struct ComparedPaths {
  std::vector<PathOp> a;  // of the last counted step
  std::vector<PathOp> b;
  PathParting parting;
};

struct Comparison {
  RunSummary a;
  RunSummary b;
  std::vector<MetricDifference> metrics;
  Breakdown a_breakdown;  // adds up to the step
  Breakdown b_breakdown;

  double step_difference_s = 0;  // that the shares of ops and waits add up to
  bool b_is_slower = true;       // along whose critical path they were found
  // Of the time of that path, in ops that the other run has too. Where it is little, as with
  // foreign traces, phases say more than ops.
  double joined_path_share = 0;
  std::vector<OpDifference> ops;  // of both runs; largest share first, then farthest apart
  std::size_t ops_left_out = 0;
  std::vector<NameDifference> names;  // the same without ranks
  std::size_t names_left_out = 0;
  std::vector<WaitDifference> waits;  // largest share first
  double waiting_difference_s = 0;    // of all waits on the path
  std::optional<double> waiting_share_pct;
  std::vector<std::string> only_in_a;  // names, in the order of the plan
  std::vector<std::string> only_in_b;
  std::size_t only_in_a_left_out = 0;
  std::size_t only_in_b_left_out = 0;

  std::vector<GroupDifference> kinds;
  std::vector<GroupDifference> phases;
  std::vector<DeviceDifference> devices;
  std::vector<CollectiveDifference> collectives;
  std::vector<LinkDifference> links;
  ComparedPaths paths;
};

struct CompareOptions {
  std::size_t most_ops = 10'000;  // of each list; plans have millions
};

Comparison compare(const ComparedRun& a, const ComparedRun& b, const CompareOptions& options = {});

}  // namespace twinrun
