#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/plan/plan.h"

namespace twinrun {

// What must be done before an op may start, as one graph: its predecessors, and the op before it in
// its stream. Ops that start together (the ranks of a collective, a send and its recv) are one
// node, named by the first of them. A plan can run to its end exactly when this graph has no cycle.
//
//   stream a:  f ── A0 ── g        A0 and A1 are one collective, so g waits for f, h and e
//   stream b:  h ── e ── A1
class RunGraph {
 public:
  explicit RunGraph(const Plan& plan);

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] OpId node(OpId op) const;
  [[nodiscard]] OpId next_in_stream(OpId op) const { return next_[index_of(op)]; }  // or no_id

  // Calls with each op of a node.
  template <class Call>
  void for_each_op(OpId node, const Call& call) const {
    switch (plan_->kind(node)) {
      case OpKind::kCollective:
        for (const OpId op : plan_->instance_ops(plan_->collective(node).instance)) {
          call(op);
        }
        return;
      case OpKind::kSend:
      case OpKind::kRecv:
        call(node);
        if (const OpId partner = plan_->message(node).partner; partner != no_id<OpId>()) {
          call(partner);
        }
        return;
      case OpKind::kCompute:
      case OpKind::kCopy:
      case OpKind::kHost:
      case OpKind::kMarker:
        call(node);
        return;
    }
  }

  // Calls with (op of the node, op that waits for it): dependencies first, then the stream.
  template <class Call>
  void for_each_edge(OpId node, const Call& call) const {
    for_each_op(node, [&](OpId op) {
      for (const OpId successor : plan_->successors(op)) {
        call(op, successor);
      }
      if (next_in_stream(op) != no_id<OpId>()) {
        call(op, next_in_stream(op));
      }
    });
  }

 private:
  const Plan* plan_;
  std::vector<OpId> next_;
};

// The nodes in an order in which they can run, level by level: a node stands in the first level
// after all it waits for. What is missing can never start.
struct RunOrder {
  std::vector<OpId> nodes;
  std::vector<std::size_t> level_begin;  // one more entry than there are levels
  std::size_t op_count = 0;              // ops of those nodes
};

RunOrder run_order(const RunGraph& graph);
// Whether the order has all ops; quicker where nobody asks for it.
bool runs_to_its_end(const RunGraph& graph);

inline OpId RunGraph::node(OpId op) const {
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

}  // namespace twinrun
