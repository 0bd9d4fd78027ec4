#include "core/trace/error_shares.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace twinrun {
namespace {

// Walks along the chain in both runs and adds up what lies between.
class Chain {
 public:
  Chain(const FoldedRun& slower,
        const FoldedRun& faster,
        const std::vector<FoldedId>& in_faster,
        double sign)
      : slower_(slower),
        faster_(faster),
        in_faster_(in_faster),
        sign_(sign),
        steps_(static_cast<double>(slower.steps().spans.size())),
        has_same_steps_(slower.steps().spans.size() == faster.steps().spans.size()),
        share_of_(slower.size()) {}

  void walk(ErrorShares& out) {
    for (const OpId op : counted_path(slower_).ops) {
      if (slower_.folded(op) != no_id<FoldedId>()) {
        pass(op, out);
      }
    }
    const double window_s = to_seconds(slower_.steps().end() - slower_.steps().begin());
    const double slower_rest = window_s - slower_at_;
    const double faster_window_s = has_same_steps_
                                       ? to_seconds(faster_.steps().end() - faster_.steps().begin())
                                       : steps_ * faster_.steps().mean_s();
    const double faster_rest = faster_window_s - faster_at_;
    out.end_s = sign_ * (slower_rest - faster_rest) / steps_;
  }

 private:
  struct Stretch {
    double waiting = 0;
    double working = 0;
  };

  // The wait up to the start and the work up to the end; what lies before the steps is cut off.
  static Stretch advance(double& at, double start, double end) {
    const double from = std::max(start, 0.0);
    const double to = std::max(end, from);
    const Stretch stretch{from - at, to - from};
    at = to;
    return stretch;
  }

  void pass(OpId op, ErrorShares& out) {
    const OpTimes& times = slower_.trace().ops[index_of(op)];
    const Time begin = slower_.steps().begin();
    const Stretch slow =
        advance(slower_at_, to_seconds(times.start - begin), to_seconds(times.end - begin));
    const FoldedId id = slower_.folded(op);
    const Stretch fast = pass_in_faster(in_faster_[index_of(id)], slower_.step_position(op));
    OpShare& share = share_of(id, out);
    const double in_a = sign_ > 0 ? fast.waiting : slow.waiting;
    const double in_b = sign_ > 0 ? slow.waiting : fast.waiting;
    share.working_s += sign_ * (slow.working - fast.working) / steps_;
    share.waiting_s += (in_b - in_a) / steps_;
    share.waited_in_a += in_a / steps_;
    share.waited_in_b += in_b / steps_;
  }

  // In the same step where both runs have as many, else in the mean step laid there.
  Stretch pass_in_faster(FoldedId id, std::size_t step) {
    if (id == no_id<FoldedId>()) {
      return {};
    }
    if (has_same_steps_) {
      const OpId op = faster_.op_at(id, step);
      if (op == no_id<OpId>()) {
        return {};
      }
      const OpTimes& times = faster_.trace().ops[index_of(op)];
      const Time begin = faster_.steps().begin();
      return advance(faster_at_, to_seconds(times.start - begin), to_seconds(times.end - begin));
    }
    const double begin = static_cast<double>(step) * faster_.steps().mean_s();
    return advance(faster_at_, begin + faster_[id].start_s, begin + faster_[id].end_s);
  }

  OpShare& share_of(FoldedId id, ErrorShares& out) {
    std::optional<std::size_t>& at = share_of_[index_of(id)];
    if (!at) {
      at = out.ops.size();
      out.ops.push_back({id});
    }
    return out.ops[*at];
  }

  const FoldedRun& slower_;
  const FoldedRun& faster_;
  const std::vector<FoldedId>& in_faster_;
  double sign_;   // +1: b is slower
  double steps_;  // how many of the slower run count
  bool has_same_steps_;
  double slower_at_ = 0;
  double faster_at_ = 0;
  std::vector<std::optional<std::size_t>> share_of_;  // by FoldedId
};

// Sums of doubles that should cancel leave some billionths of a billionth.
void drop_rounding(double smallest, ErrorShares& out) {
  const auto drop = [&](double& value) { value = std::abs(value) < smallest ? 0 : value; };
  drop(out.difference_s);
  drop(out.end_s);
  for (OpShare& share : out.ops) {
    drop(share.working_s);
    drop(share.waiting_s);
    drop(share.waited_in_a);
    drop(share.waited_in_b);
  }
}

}  // namespace

CriticalPath counted_path(const FoldedRun& run) {
  const CountedSteps& steps = run.steps();
  if (steps.spans.empty()) {
    return {};
  }
  const bool from_start = steps.begin() == Time{};  // then what ends at 0 belongs to it too
  return critical_path(run.plan(), run.trace(),
                       {from_start ? Time{-1} : steps.begin(), steps.end()});
}

ErrorShares error_shares(const FoldedRun& a, const FoldedRun& b, const RunJoin& join) {
  ErrorShares out;
  if (a.steps().spans.empty() || b.steps().spans.empty()) {
    return out;
  }
  out.difference_s = b.steps().mean_s() - a.steps().mean_s();
  out.b_is_slower = out.difference_s >= 0;
  if (out.b_is_slower) {
    Chain(b, a, join.in_a, 1).walk(out);
  } else {
    Chain(a, b, join.in_b, -1).walk(out);
  }
  drop_rounding(1e-12 * std::max(a.steps().mean_s(), b.steps().mean_s()), out);
  return out;
}

}  // namespace twinrun
