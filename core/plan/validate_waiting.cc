#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/csr.h"
#include "core/plan/detail/complaints.h"
#include "core/plan/order.h"
#include "core/plan/run_graph.h"

// Who waits for whom for ever. One pass over the run graph says whether anything is stuck; nearly
// always nothing is, and that is all the work. Otherwise the stuck part is looked at three times,
// each time with one more reason to wait, so that every knot is explained by the simplest reason
// that ties it:
//   dependencies alone            E0401  a cycle
//   + the order of streams        E0402  an op queued before one it waits for
//   + ops that start together     E0421  ranks issue collectives in different order, or
//                                 E0405  any other deadlock

namespace twinrun::detail {
namespace {

class WaitingCheck {
 public:
  explicit WaitingCheck(const Complaints& complaints)
      : complaints_(complaints), plan_(complaints.plan), graph_(plan_), knotted_(plan_.size()) {}

  void run() {
    const RunOrder order = run_order(graph_);
    if (order.op_count == plan_.size()) {
      return;
    }
    stuck_.assign(plan_.size(), true);
    for (const OpId node : order.nodes) {
      graph_.for_each_op(node, [&](OpId op) { stuck_[index_of(op)] = false; });
    }
    check_dependencies();
    check_streams();
    check_rendezvous();
    report_blocked();
  }

 private:
  void check_dependencies();
  void check_streams();
  void check_rendezvous();
  void report_blocked();

  // Stuck ops, or their nodes, with edges to those that wait for them.
  [[nodiscard]] Csr<OpId, OpId> stream_edges() const;
  [[nodiscard]] Csr<OpId, OpId> node_edges() const;
  // True when no op of the knot was explained before; marks them all.
  bool is_new_knot(const Cycle& cycle, bool of_nodes);
  [[nodiscard]] bool depends(OpId op, OpId on) const;

  void report_stream_knot(const Cycle& cycle);
  void report_deadlock(const Cycle& cycle, bool of_nodes) const;
  [[nodiscard]] bool report_collective_order(const Cycle& cycle);
  [[nodiscard]] bool report_inverted(OpId a, OpId b);
  void check_waits_inside_node(OpId node);
  [[nodiscard]] std::string why(OpId from, OpId to) const;

  const Complaints& complaints_;
  const Plan& plan_;
  RunGraph graph_;
  std::vector<bool> stuck_;
  std::vector<bool> knotted_;  // part of a knot, so not merely blocked behind one
  // Looking for the best explanation of huge knots ends here; a plainer one is given then.
  std::int64_t steps_left_ = 20'000'000;
};

bool WaitingCheck::depends(OpId op, OpId on) const {
  const auto before = plan_.predecessors(op);
  return std::find(before.begin(), before.end(), on) != before.end();
}

bool WaitingCheck::is_new_knot(const Cycle& cycle, bool of_nodes) {
  bool is_new = true;
  const auto mark = [&](OpId op) {
    is_new = is_new && !knotted_[index_of(op)];
    knotted_[index_of(op)] = true;
  };
  for (const OpId op : cycle.component) {
    if (of_nodes) {
      graph_.for_each_op(op, mark);
    } else {
      mark(op);
    }
  }
  return is_new;
}

void WaitingCheck::check_dependencies() {
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (stuck_[i] && depends(op, op)) {
      knotted_[i] = true;  // said already (E0404)
    }
  }
  for (const Cycle& cycle : find_cycles(plan_.successor_rows())) {
    is_new_knot(cycle, false);
    std::string help = "remove one of these from \"after\"";
    if (cycle.component.size() > cycle.way.size()) {
      help += fmt::format("; {} ops are tied into this knot", cycle.component.size());
    }
    const std::string back = cycle.way.size() <= 10 ? " → " + complaints_.op(cycle.way[0]) : "";
    complaints_.error("E0401", cycle.way.front(), "after",
                      fmt::format("{} ops wait for each other in a cycle: {}{}", cycle.way.size(),
                                  complaints_.chain(cycle.way, " → "), back),
                      std::move(help));
  }
}

Csr<OpId, OpId> WaitingCheck::stream_edges() const {
  std::vector<OpId> from;
  std::vector<OpId> to;
  const auto add = [&](OpId a, OpId b) {
    if (b != no_id<OpId>() && stuck_[index_of(b)]) {
      from.push_back(a);
      to.push_back(b);
    }
  };
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (stuck_[i]) {
      for (const OpId successor : plan_.successors(op)) {
        add(op, successor);
      }
      add(op, graph_.next_in_stream(op));
    }
  }
  return Csr<OpId, OpId>::from_pairs(plan_.size(), from, to);
}

Csr<OpId, OpId> WaitingCheck::node_edges() const {
  std::vector<OpId> from;
  std::vector<OpId> to;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const OpId node = id_at<OpId>(i);
    if (stuck_[i] && graph_.node(node) == node) {
      graph_.for_each_edge(node, [&](OpId, OpId waiting) {
        from.push_back(node);
        to.push_back(graph_.node(waiting));
      });
    }
  }
  return Csr<OpId, OpId>::from_pairs(plan_.size(), from, to);
}

void WaitingCheck::check_streams() {
  for (const Cycle& cycle : find_cycles(stream_edges())) {
    if (is_new_knot(cycle, false)) {
      report_stream_knot(cycle);
    }
  }
}

// On the way round, look for a run of dependencies from Y to X where X is queued before Y in the
// same stream: those are the two ops to swap. With several streams there may be no such run.
void WaitingCheck::report_stream_knot(const Cycle& cycle) {
  const std::vector<OpId>& way = cycle.way;
  const std::size_t size = way.size();
  for (std::size_t start = 0; start < size; ++start) {
    const OpId later = way[start];
    for (std::size_t step = 1; step < size && steps_left_ > 0; ++step) {
      --steps_left_;
      const OpId op = way[(start + step) % size];
      if (!depends(op, way[(start + step - 1) % size])) {
        break;
      }
      if (plan_.stream(op) == plan_.stream(later) && op < later) {
        complaints_.error(
            "E0402", op, "",
            fmt::format("stream \"{}\" of {} is out of order: {} is queued before {}, which it "
                        "waits for{}",
                        plan_.stream_name(plan_.stream(op)), complaints_.device(plan_.device(op)),
                        complaints_.op(op), complaints_.op(later),
                        step == 1 ? "" : " through other ops"),
            fmt::format("list {} first, or put one of the two into another stream",
                        complaints_.op(later)));
        return;
      }
    }
  }
  report_deadlock(cycle, false);
}

void WaitingCheck::check_rendezvous() {
  for (const Cycle& cycle : find_cycles(node_edges())) {
    if (is_new_knot(cycle, true) && !report_collective_order(cycle)) {
      report_deadlock(cycle, true);
    }
  }
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const OpId node = id_at<OpId>(i);
    if (stuck_[i] && graph_.node(node) == node) {
      check_waits_inside_node(node);
    }
  }
}

// An op that waits for another with which it starts together never starts.
void WaitingCheck::check_waits_inside_node(OpId node) {
  std::optional<std::pair<OpId, OpId>> inside;
  graph_.for_each_edge(node, [&](OpId op, OpId waiting) {
    if (graph_.node(waiting) == node && op != waiting) {
      inside = {op, waiting};
    }
  });
  if (!inside) {
    return;
  }
  // One device twice in a collective, or as its own peer, was said already (E0424, E0434).
  const bool explained =
      knotted_[index_of(node)] || plan_.device(inside->first) == plan_.device(inside->second);
  graph_.for_each_op(node, [&](OpId op) { knotted_[index_of(op)] = true; });
  if (!explained) {
    complaints_.error("E0405", inside->second, "",
                      fmt::format("{} waits for {}, but the two start together",
                                  complaints_.op(inside->second), complaints_.op(inside->first)),
                      "remove the dependency, or put them into different streams");
  }
}

// Do two ranks of one group issue collectives a and b, here in this order, in different orders?
bool WaitingCheck::report_inverted(OpId a, OpId b) {
  for (const OpId other_a : plan_.instance_ops(plan_.collective(a).instance)) {
    for (const OpId other_b : plan_.instance_ops(plan_.collective(b).instance)) {
      --steps_left_;
      if (plan_.stream(other_a) != plan_.stream(other_b) || other_a < other_b) {
        continue;
      }
      complaints_.error(
          "E0421", other_b, "",
          fmt::format("the ranks of group \"{}\" issue collectives in different order: {} has "
                      "\"{}\" before \"{}\", {} has \"{}\" before \"{}\"",
                      plan_.group_name(plan_.shape(a).group), complaints_.device(plan_.device(a)),
                      plan_.match(a), plan_.match(b), complaints_.device(plan_.device(other_b)),
                      plan_.match(b), plan_.match(a)),
          "every rank must issue the collectives of a group in the same order");
      return true;
    }
  }
  return false;
}

bool WaitingCheck::report_collective_order(const Cycle& cycle) {
  for (const OpId node : cycle.component) {
    if (plan_.kind(node) != OpKind::kCollective) {
      continue;
    }
    for (const OpId op : plan_.instance_ops(plan_.collective(node).instance)) {
      OpId next = graph_.next_in_stream(op);
      while (next != no_id<OpId>() && !(plan_.kind(next) == OpKind::kCollective &&
                                        plan_.shape(next).group == plan_.shape(op).group)) {
        next = graph_.next_in_stream(next);
        --steps_left_;
      }
      if (next != no_id<OpId>() && report_inverted(op, next)) {
        return true;
      }
      if (steps_left_ < 0) {
        return false;
      }
    }
  }
  return false;
}

// Why the op of the second node waits for the first.
std::string WaitingCheck::why(OpId from, OpId to) const {
  std::string reason;
  graph_.for_each_edge(from, [&](OpId op, OpId waiting) {
    if (!reason.empty() || graph_.node(waiting) != graph_.node(to)) {
      return;
    }
    reason =
        depends(waiting, op)
            ? fmt::format("{} comes after {}", complaints_.op(waiting), complaints_.op(op))
            : fmt::format("{} is queued behind {} in stream \"{}\" of {}", complaints_.op(waiting),
                          complaints_.op(op), plan_.stream_name(plan_.stream(op)),
                          complaints_.device(plan_.device(op)));
  });
  return reason;
}

void WaitingCheck::report_deadlock(const Cycle& cycle, bool of_nodes) const {
  constexpr std::size_t kExplained = 10;
  const std::vector<OpId>& way = cycle.way;
  std::string reasons;
  for (std::size_t i = 0; i < std::min(way.size(), kExplained); ++i) {
    const OpId to = way[(i + 1) % way.size()];
    reasons += (i == 0 ? "" : "; ") + why(graph_.node(way[i]), to);
  }
  if (way.size() > kExplained) {
    reasons += fmt::format("; … ({} more)", way.size() - kExplained);
  }
  complaints_.error("E0405", way.front(), "",
                    fmt::format("deadlock: {} {} wait for each other: {}", way.size(),
                                of_nodes ? "ops or groups of ops that start together" : "ops",
                                complaints_.chain(way, " → ")),
                    std::move(reasons));
}

void WaitingCheck::report_blocked() {
  constexpr std::size_t kShown = 3;
  std::vector<OpId> first;
  std::size_t count = 0;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (stuck_[i] && !knotted_[i]) {
      ++count;
      if (first.size() < kShown) {
        first.push_back(id_at<OpId>(i));
      }
    }
  }
  if (count == 0) {
    return;
  }
  complaints_.error("E0403", first.front(), "",
                    fmt::format("{} {} can never start: {}{}", count, count == 1 ? "op" : "ops",
                                complaints_.chain(first, ", "), count > kShown ? ", …" : ""),
                    "they wait behind the ops that wait for each other; untie those first");
}

}  // namespace

void check_waiting(const Complaints& complaints) { WaitingCheck(complaints).run(); }

}  // namespace twinrun::detail
