#include "core/trace/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace twinrun {
namespace {

// All that is found once of a run and asked for by several parts.
struct Side {
  explicit Side(const ComparedRun& compared)
      : run(compared),
        index(compared.view.plan, compared.view.trace),
        folded(compared.view),
        figures(run_figures(index, folded.steps(), compared.view.warmup_steps)) {}

  const ComparedRun& run;
  TraceIndex index;
  FoldedRun folded;
  RunFigures figures;
};

RunSummary summary_of(const Side& side) {
  const RunView& view = side.run.view;
  return {view.plan.text().name,
          view.trace.source,
          view.trace.failure,
          static_cast<std::int64_t>(side.folded.steps().spans.size()),
          side.folded.steps().incomplete,
          side.figures.step_s};
}

// ---- metrics

std::optional<double> percent_of(double part, double whole) {
  if (whole != 0) {
    return 100 * part / whole;
  }
  return part == 0 ? std::optional(0.0) : std::nullopt;
}

MetricDifference metric(std::string_view name,
                        MetricUnit unit,
                        std::optional<double> a,
                        std::optional<double> b) {
  MetricDifference out{name, unit, a, b, 0, 0, std::nullopt};
  if (a && b) {
    out.difference_pct = unit == MetricUnit::kPercent ? *b - *a : percent_of(*b - *a, *a);
  }
  return out;
}

std::vector<MetricDifference> metrics_of(const Side& a, const Side& b) {
  const auto known = [](const Side& side, double value) {
    return side.folded.steps().spans.empty() ? std::nullopt : std::optional(value);
  };
  const auto seconds = [&](std::string_view name, double RunFigures::*figure) {
    return metric(name, MetricUnit::kSeconds, known(a, a.figures.*figure),
                  known(b, b.figures.*figure));
  };
  std::vector<MetricDifference> out = {seconds("step_s", &RunFigures::step_s)};
  out.front().a_deviation = a.figures.step_deviation_s;
  out.front().b_deviation = b.figures.step_deviation_s;
  out.push_back(
      metric("samples_per_s", MetricUnit::kPerSecond, a.run.samples_per_s, b.run.samples_per_s));
  out.push_back(seconds("t1_s", &RunFigures::t1_s));
  out.push_back(metric("t2_s", MetricUnit::kSeconds, a.run.t2_s, b.run.t2_s));
  out.push_back(seconds("communication_s", &RunFigures::communication_s));
  out.push_back(seconds("exposed_communication_s", &RunFigures::exposed_communication_s));
  out.push_back(
      metric("overlap_pct", MetricUnit::kPercent, a.figures.overlap_pct, b.figures.overlap_pct));
  out.push_back(metric("peak_memory_bytes", MetricUnit::kBytes, a.run.peak_memory_bytes,
                       b.run.peak_memory_bytes));
  return out;
}

// ---- ops

OpDifference joined_op(const Side& a, const Side& b, const RunJoin& join, FoldedId id) {
  const FoldedOp& in_a = a.folded[id];
  const FoldedOp& in_b = b.folded[join.in_b[index_of(id)]];
  OpDifference out;
  out.name = in_a.name;
  out.kind = a.folded.plan().kind(in_a.op);
  out.phase = phase_of(a.folded.plan(), in_a.op);
  out.joined_by = join.how[index_of(id)];
  out.a_s = in_a.working_s();
  out.b_s = in_b.working_s();
  out.a_waiting_s = in_a.waiting_s();
  out.b_waiting_s = in_b.waiting_s();
  return out;
}

// An op of the chain that the other run does not have: all its time counts.
OpDifference lone_op(const Side& slower, FoldedId id, bool is_in_b) {
  const FoldedOp& folded = slower.folded[id];
  OpDifference out;
  out.name = folded.name;
  out.kind = slower.folded.plan().kind(folded.op);
  out.phase = phase_of(slower.folded.plan(), folded.op);
  out.joined_by = JoinedBy::kNothing;
  (is_in_b ? out.b_s : out.a_s) = folded.working_s();
  (is_in_b ? out.b_waiting_s : out.a_waiting_s) = folded.waiting_s();
  return out;
}

// How large, in tenths of a picosecond: what differs by rounding alone stays in its order.
std::int64_t size_of(double seconds) {
  constexpr double kLongest = 9e5;
  return std::llround(std::min(std::abs(seconds), kLongest) * 1e13);
}

bool is_worse(const OpDifference& x, const OpDifference& y) {
  const auto key = [](const OpDifference& op) {
    return std::pair(size_of(op.on_path_s), size_of(op.b_s - op.a_s));
  };
  return key(x) > key(y);
}

template <class Entry, class Compare>
std::size_t keep_worst(std::vector<Entry>& entries, std::size_t most, const Compare& is_before) {
  std::stable_sort(entries.begin(), entries.end(), is_before);
  const std::size_t kept = std::min(entries.size(), most);
  const std::size_t left_out = entries.size() - kept;
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(kept), entries.end());
  return left_out;
}

void set_ops(
    const Side& a, const Side& b, const RunJoin& join, const ErrorShares& shares, Comparison& out) {
  const Side& slower = shares.b_is_slower ? b : a;
  const std::vector<FoldedId>& in_faster = shares.b_is_slower ? join.in_a : join.in_b;
  std::vector<double> on_path(a.folded.size(), 0);
  for (const OpShare& share : shares.ops) {
    const FoldedId other = in_faster[index_of(share.in_slower)];
    if (other != no_id<FoldedId>()) {
      on_path[index_of(shares.b_is_slower ? other : share.in_slower)] = share.working_s;
    } else {
      out.ops.push_back(lone_op(slower, share.in_slower, shares.b_is_slower));
      out.ops.back().on_path_s = share.working_s;
    }
  }
  for (std::size_t i = 0; i < a.folded.size(); ++i) {
    if (join.in_b[i] != no_id<FoldedId>()) {
      out.ops.push_back(joined_op(a, b, join, id_at<FoldedId>(i)));
      out.ops.back().on_path_s = on_path[i];
    }
  }
  for (OpDifference& op : out.ops) {
    op.share_pct = percent_of(op.on_path_s, shares.difference_s);
  }
}

// Of each name the op that has the largest part on the path.
struct LargestPart {
  double on_path_s = 0;
  double difference_s = 0;
};

bool is_mostly_on(const LargestPart& part, const NameDifference& name) {
  constexpr double kMostOfIt = 0.9;
  constexpr double kFartherApart = 1.5;
  return part.on_path_s > 0 && part.on_path_s >= kMostOfIt * std::abs(name.on_path_s) &&
         part.difference_s > kFartherApart * std::abs(name.b_s - name.a_s);
}

void add_to(NameDifference& name, const OpDifference& op, LargestPart& largest) {
  name.ranks += 1;
  name.a_s += op.a_s;
  name.b_s += op.b_s;
  name.a_waiting_s += op.a_waiting_s;
  name.b_waiting_s += op.b_waiting_s;
  name.on_path_s += op.on_path_s;
  name.is_in_both = name.is_in_both || op.joined_by != JoinedBy::kNothing;
  if (name.most_on.empty() || std::abs(op.on_path_s) > largest.on_path_s) {
    largest = {std::abs(op.on_path_s), std::abs(op.b_s - op.a_s)};
    name.most_on = op.name;
  }
}

void set_names(std::size_t most, Comparison& out) {
  std::map<std::string_view, std::size_t> known;
  std::vector<LargestPart> largest;
  for (const OpDifference& op : out.ops) {
    const auto [at, is_new] = known.try_emplace(name_within_step(op.name), out.names.size());
    if (is_new) {
      out.names.emplace_back().name = at->first;
      largest.emplace_back();
    }
    add_to(out.names[at->second], op, largest[at->second]);
  }
  for (std::size_t i = 0; i < out.names.size(); ++i) {
    NameDifference& name = out.names[i];
    for (double NameDifference::*const time :
         {&NameDifference::a_s, &NameDifference::b_s, &NameDifference::a_waiting_s,
          &NameDifference::b_waiting_s}) {
      name.*time /= static_cast<double>(name.ranks);
    }
    name.is_mostly_on_one = is_mostly_on(largest[i], name);
    name.share_pct = percent_of(name.on_path_s, out.step_difference_s);
  }
  const auto key = [](const NameDifference& name) {
    return std::pair(size_of(name.on_path_s), size_of(name.b_s - name.a_s));
  };
  out.names_left_out =
      keep_worst(out.names, most, [&](const auto& x, const auto& y) { return key(x) > key(y); });
}

void set_waits(const Side& slower, const ErrorShares& shares, Comparison& out) {
  const auto add = [&](std::string_view before, double in_a, double in_b, double on_path) {
    if (on_path != 0) {
      out.waits.push_back(
          {std::string(before), in_a, in_b, on_path, percent_of(on_path, shares.difference_s)});
    }
    out.waiting_difference_s += on_path;
  };
  for (const OpShare& share : shares.ops) {
    add(slower.folded[share.in_slower].name, share.waited_in_a, share.waited_in_b, share.waiting_s);
  }
  add("", std::max(0.0, -shares.end_s), std::max(0.0, shares.end_s), shares.end_s);
  out.waiting_share_pct = percent_of(out.waiting_difference_s, shares.difference_s);
}

double joined_path_share(const Side& slower, const std::vector<FoldedId>& in_faster) {
  double joined = 0;
  double all = 0;
  for (const OpId op : counted_path(slower.folded).ops) {
    const FoldedId id = slower.folded.folded(op);
    const OpTimes& times = slower.folded.trace().ops[index_of(op)];
    const double took = to_seconds(times.end - times.start);
    const bool is_joined = id != no_id<FoldedId>() && in_faster[index_of(id)] != no_id<FoldedId>();
    joined += is_joined ? took : 0;
    all += took;
  }
  return all > 0 ? joined / all : 1;
}

// Whose ops the shares belong to.
void set_device_shares(const Side& slower, const ErrorShares& shares, Comparison& out) {
  std::map<std::string_view, double> by_device;
  const Plan& plan = slower.folded.plan();
  for (const OpShare& share : shares.ops) {
    const DeviceId device = plan.device(slower.folded[share.in_slower].op);
    by_device[plan.device_name(device)] += share.working_s + share.waiting_s;
  }
  for (DeviceDifference& device : out.devices) {
    const auto found = by_device.find(shares.b_is_slower ? device.device_in_b : device.device);
    device.on_path_s = found == by_device.end() ? 0 : found->second;
  }
}

std::size_t set_lonely(const FoldedRun& run,
                       const std::vector<FoldedId>& partners,
                       std::size_t most,
                       std::vector<std::string>& out) {
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (partners[i] != no_id<FoldedId>()) {
      continue;
    }
    if (out.size() < most) {
      out.emplace_back(run[id_at<FoldedId>(i)].name);
    } else {
      ++left_out;
    }
  }
  return left_out;
}

// ---- critical paths

std::vector<PathOp> last_step_of_path(const FoldedRun& run) {
  std::vector<PathOp> out;
  if (run.steps().spans.empty()) {
    return out;
  }
  const std::size_t last = run.steps().spans.size() - 1;
  const Time begin = run.steps().spans.back().begin;
  for (const OpId op : counted_path(run).ops) {
    if (run.folded(op) != no_id<FoldedId>() && run.step_position(op) == last) {
      const OpTimes& times = run.trace().ops[index_of(op)];
      out.push_back({std::string(run.plan().id(op)),
                     std::string(run.plan().device_name(run.plan().device(op))),
                     phase_of(run.plan(), op), to_seconds(times.start - begin),
                     to_seconds(times.end - begin)});
    }
  }
  return out;
}

PathParting parting_of(const std::vector<PathOp>& a, const std::vector<PathOp>& b) {
  const auto name = [](const PathOp& op) { return name_within_step(op.op); };
  const auto is_same = [&](const PathOp& x, const PathOp& y) { return name(x) == name(y); };
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end(), is_same);
  PathParting out;
  out.common = static_cast<std::size_t>(in_a - a.begin());
  out.are_same = in_a == a.end() && in_b == b.end();
  if (out.are_same) {
    return out;
  }
  out.after = in_a == a.begin() ? "" : name(*(in_a - 1));
  out.next_in_a = in_a == a.end() ? "" : name(*in_a);
  out.next_in_b = in_b == b.end() ? "" : name(*in_b);
  const auto from_end = std::mismatch(a.rbegin(), std::make_reverse_iterator(in_a), b.rbegin(),
                                      std::make_reverse_iterator(in_b), is_same);
  out.meet_at = from_end.first == a.rbegin() ? "" : name(*(from_end.first - 1));
  return out;
}

}  // namespace

Comparison compare(const ComparedRun& a_run,
                   const ComparedRun& b_run,
                   const CompareOptions& options) {
  const Side a(a_run);
  const Side b(b_run);
  const RunJoin join = join_runs(a.folded, b.folded);
  const ErrorShares shares = error_shares(a.folded, b.folded, join);
  Comparison out;
  out.a = summary_of(a);
  out.b = summary_of(b);
  out.a_breakdown = breakdown(a.index, a.folded.steps(), a_run.view.warmup_steps);
  out.b_breakdown = breakdown(b.index, b.folded.steps(), b_run.view.warmup_steps);
  out.metrics = metrics_of(a, b);
  out.step_difference_s = shares.difference_s;
  out.b_is_slower = shares.b_is_slower;
  out.joined_path_share =
      shares.b_is_slower ? joined_path_share(b, join.in_a) : joined_path_share(a, join.in_b);
  set_ops(a, b, join, shares, out);
  set_names(options.most_ops, out);
  set_waits(shares.b_is_slower ? b : a, shares, out);
  out.ops_left_out = keep_worst(out.ops, options.most_ops, is_worse);
  keep_worst(out.waits, options.most_ops, [](const WaitDifference& x, const WaitDifference& y) {
    return size_of(x.on_path_s) > size_of(y.on_path_s);
  });
  out.only_in_a_left_out = set_lonely(a.folded, join.in_b, options.most_ops, out.only_in_a);
  out.only_in_b_left_out = set_lonely(b.folded, join.in_a, options.most_ops, out.only_in_b);
  out.kinds = compare_kinds(a.folded, b.folded);
  out.phases = compare_phases(a.folded, b.folded);
  out.devices = compare_devices(a.index, a.folded, b.index, b.folded);
  set_device_shares(shares.b_is_slower ? b : a, shares, out);
  out.collectives = compare_collectives(a.folded, b.folded, join);
  out.links = compare_links(a.folded.trace(), b.folded.trace(), out.collectives);
  out.paths = {last_step_of_path(a.folded), last_step_of_path(b.folded), {}};
  out.paths.parting = parting_of(out.paths.a, out.paths.b);
  return out;
}

}  // namespace twinrun
