#include "core/plan/run_graph.h"

#include <algorithm>

namespace twinrun {

RunGraph::RunGraph(const Plan& plan) : plan_(&plan), next_(plan.size(), no_id<OpId>()) {
  for (std::size_t s = 0; s < plan.stream_count(); ++s) {
    const auto ops = plan.stream_ops(id_at<StreamId>(s));
    for (std::size_t i = 1; i < ops.size(); ++i) {
      next_[index_of(ops[i - 1])] = ops[i];
    }
  }
}

OpId RunGraph::node(OpId op) const {
  switch (plan_->kind(op)) {
    case OpKind::kCollective:
      return plan_->instance_ops(plan_->collective(op).instance).front();
    case OpKind::kSend:
    case OpKind::kRecv:
      return std::min(op, plan_->message(op).partner);  // no_id is the largest
    case OpKind::kCompute:
    case OpKind::kCopy:
    case OpKind::kHost:
    case OpKind::kMarker:
      break;
  }
  return op;
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

}  // namespace

RunOrder run_order(const RunGraph& graph) {
  const Plan& plan = graph.plan();
  std::vector<std::uint32_t> waits_for = count_waits(graph);
  RunOrder order;
  order.nodes.reserve(plan.size());
  order.level_begin.push_back(0);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (waits_for[i] == 0 && graph.node(id_at<OpId>(i)) == id_at<OpId>(i)) {
      order.nodes.push_back(id_at<OpId>(i));
    }
  }
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
