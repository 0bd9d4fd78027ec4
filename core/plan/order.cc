#include "core/plan/order.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include <boost/graph/strong_components.hpp>
#include <boost/graph/topological_sort.hpp>

#include "core/base/check.h"
#include "core/base/csr_graph.h"

namespace twinrun {
namespace {

// Finds the shortest way from a row back to itself inside its component, by breadth-first search.
class WayRound {
 public:
  WayRound(const Csr<OpId, OpId>& edges, const std::vector<std::uint32_t>& component_of)
      : edges_(edges), component_of_(component_of), came_from_(edges.rows(), no_id<OpId>()) {}

  std::vector<OpId> from(OpId start) {
    queue_.assign(1, start);
    came_from_[index_of(start)] = start;
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      const OpId op = queue_[at];
      for (const OpId next : edges_[op]) {
        if (next == start && op != start) {
          return way_to(op);
        }
        visit(next, op);
      }
    }
    report_bug("a strongly connected component has a way round", __FILE__, __LINE__);
  }

 private:
  void visit(OpId op, OpId from) {
    if (component_of_[index_of(op)] == component_of_[index_of(from)] &&
        came_from_[index_of(op)] == no_id<OpId>()) {
      came_from_[index_of(op)] = from;
      queue_.push_back(op);
    }
  }

  [[nodiscard]] std::vector<OpId> way_to(OpId op) const {
    std::vector<OpId> way = {op};
    while (came_from_[index_of(op)] != op) {  // the start came from itself
      op = came_from_[index_of(op)];
      way.push_back(op);
    }
    std::reverse(way.begin(), way.end());
    return way;
  }

  const Csr<OpId, OpId>& edges_;
  const std::vector<std::uint32_t>& component_of_;
  std::vector<OpId> came_from_;
  std::vector<OpId> queue_;
};

// Given durations may be as long as 106 days each; a sum of them stops at the end of the clock.
std::int64_t capped_sum(std::int64_t a, std::int64_t b) {
  return a > std::numeric_limits<std::int64_t>::max() - b ? std::numeric_limits<std::int64_t>::max()
                                                          : a + b;
}

template <class Weight>
CriticalPath longest_path(const RunGraph& graph, const RunOrder& order, const Weight& weight) {
  const std::size_t ops = graph.plan().size();
  std::vector<std::int64_t> longest(ops, 0);        // before a node, then with it
  std::vector<OpId> came_from(ops, no_id<OpId>());  // the op, not the node, the way comes from
  OpId last = no_id<OpId>();
  for (const OpId node : order.nodes) {
    std::int64_t own = 0;
    graph.for_each_op(node, [&](OpId op) { own = std::max(own, weight(op)); });
    longest[index_of(node)] = capped_sum(longest[index_of(node)], own);
    if (last == no_id<OpId>() || longest[index_of(node)] > longest[index_of(last)]) {
      last = node;
    }
    graph.for_each_edge(node, [&](OpId op, OpId to) {
      const std::size_t next = index_of(graph.node(to));
      if (came_from[next] == no_id<OpId>() || longest[index_of(node)] > longest[next]) {
        longest[next] = longest[index_of(node)];
        came_from[next] = op;
      }
    });
  }
  CriticalPath path;
  for (OpId op = last; op != no_id<OpId>(); op = came_from[index_of(graph.node(op))]) {
    path.ops.push_back(op);
  }
  std::reverse(path.ops.begin(), path.ops.end());
  path.length.ps = last == no_id<OpId>() ? 0 : longest[index_of(last)];
  return path;
}

std::int64_t given_ps(const Plan& plan, OpId op) { return plan.duration(op).value_or(Time{0}).ps; }

}  // namespace

std::optional<std::vector<OpId>> topological_order(const Plan& plan) {
  const CsrGraph<OpId> graph(plan.successor_rows());
  std::vector<std::uint32_t> last_first;
  last_first.reserve(plan.size());
  try {
    boost::topological_sort(graph, std::back_inserter(last_first),
                            boost::vertex_index_map(index_map(graph)));
  } catch (const boost::not_a_dag&) {
    return std::nullopt;
  }
  std::vector<OpId> order;
  order.reserve(plan.size());
  for (auto vertex = last_first.rbegin(); vertex != last_first.rend(); ++vertex) {
    order.push_back(id_at<OpId>(*vertex));
  }
  return order;
}

std::vector<Cycle> find_cycles(const Csr<OpId, OpId>& edges) {
  const CsrGraph<OpId> graph(edges);
  std::vector<std::uint32_t> component_of(edges.rows());
  const auto component_map =
      boost::make_iterator_property_map(component_of.begin(), index_map(graph));
  const std::size_t components =
      boost::strong_components(graph, component_map, boost::vertex_index_map(index_map(graph)));

  std::vector<std::uint32_t> sizes(components, 0);
  for (const std::uint32_t component : component_of) {
    ++sizes[component];
  }
  std::vector<Cycle> cycles;
  std::vector<std::uint32_t> cycle_of(components, 0);  // from 1
  for (std::size_t i = 0; i < edges.rows(); ++i) {
    const std::uint32_t component = component_of[i];
    if (sizes[component] < 2) {
      continue;
    }
    if (cycle_of[component] == 0) {
      cycles.emplace_back();
      cycle_of[component] = static_cast<std::uint32_t>(cycles.size());
    }
    cycles[cycle_of[component] - 1].component.push_back(id_at<OpId>(i));
  }
  WayRound way(edges, component_of);
  for (Cycle& cycle : cycles) {
    cycle.way = way.from(cycle.component.front());
  }
  return cycles;
}

CriticalPath critical_path_by_count(const RunGraph& graph, const RunOrder& order) {
  CriticalPath path = longest_path(graph, order, [](OpId) { return std::int64_t{1}; });
  path.length = {0};
  for (const OpId on_path : path.ops) {
    std::int64_t longest = 0;
    graph.for_each_op(graph.node(on_path),
                      [&](OpId op) { longest = std::max(longest, given_ps(graph.plan(), op)); });
    path.length.ps = capped_sum(path.length.ps, longest);
  }
  return path;
}

CriticalPath critical_path_by_duration(const RunGraph& graph, const RunOrder& order) {
  return longest_path(graph, order, [&](OpId op) { return given_ps(graph.plan(), op); });
}

}  // namespace twinrun
