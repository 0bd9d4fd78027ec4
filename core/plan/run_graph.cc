#include "core/plan/run_graph.h"

namespace twinrun {

RunGraph::RunGraph(const Plan& plan) : plan_(&plan), next_(plan.size(), no_id<OpId>()) {
  for (std::size_t s = 0; s < plan.stream_count(); ++s) {
    const auto ops = plan.stream_ops(id_at<StreamId>(s));
    for (std::size_t i = 1; i < ops.size(); ++i) {
      next_[index_of(ops[i - 1])] = ops[i];
    }
  }
}

namespace {

// For how many dependencies and places in a stream each node waits.
std::vector<std::uint32_t> count_waits(const RunGraph& graph) {
  const Plan& plan = graph.plan();
  std::vector<std::uint32_t> waits_for(plan.size(), 0);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    waits_for[index_of(graph.node(op))] += static_cast<std::uint32_t>(plan.predecessors(op).size());
    if (const OpId next = graph.next_in_stream(op); next != no_id<OpId>()) {
      ++waits_for[index_of(graph.node(next))];
    }
  }
  return waits_for;
}

std::vector<OpId> nodes_without_waits(const RunGraph& graph,
                                      const std::vector<std::uint32_t>& waits_for) {
  std::vector<OpId> nodes;
  for (std::size_t i = 0; i < waits_for.size(); ++i) {
    if (waits_for[i] == 0 && graph.node(id_at<OpId>(i)) == id_at<OpId>(i)) {
      nodes.push_back(id_at<OpId>(i));
    }
  }
  return nodes;
}

}  // namespace

bool runs_to_its_end(const RunGraph& graph) {
  std::vector<std::uint32_t> waits_for = count_waits(graph);
  std::vector<OpId> ready = nodes_without_waits(graph, waits_for);
  std::size_t reached = 0;
  const auto release = [&](OpId /*from*/, OpId to) {
    const OpId waiting = graph.node(to);
    if (--waits_for[index_of(waiting)] == 0) {
      ready.push_back(waiting);
    }
  };
  // Depth first: what an op releases lies near it, the next op of its level anywhere.
  while (!ready.empty()) {
    const OpId node = ready.back();
    ready.pop_back();
    graph.for_each_op(node, [&](OpId) { ++reached; });
    graph.for_each_edge(node, release);
  }
  return reached == graph.plan().size();
}

RunOrder run_order(const RunGraph& graph) {
  const Plan& plan = graph.plan();
  std::vector<std::uint32_t> waits_for = count_waits(graph);
  RunOrder order;
  order.nodes = nodes_without_waits(graph, waits_for);
  order.nodes.reserve(plan.size());
  order.level_begin.push_back(0);
  const auto release = [&](OpId /*from*/, OpId to) {
    const OpId waiting = graph.node(to);
    if (--waits_for[index_of(waiting)] == 0) {
      order.nodes.push_back(waiting);
    }
  };
  std::size_t at = 0;
  while (at < order.nodes.size()) {
    const std::size_t level_end = order.nodes.size();
    for (; at < level_end; ++at) {
      const OpId node = order.nodes[at];
      graph.for_each_op(node, [&](OpId) { ++order.op_count; });
      graph.for_each_edge(node, release);
    }
    order.level_begin.push_back(level_end);
  }
  return order;
}

}  // namespace twinrun
