#include "exec/cuda/enqueue_order.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/plan/run_graph.h"

namespace twinrun::exec {
namespace {

// How many ops of each stream are known to be done.
using Known = std::vector<std::uint32_t>;

void learn(Known& known, const Known& more) {
  for (std::size_t i = 0; i < known.size(); ++i) {
    known[i] = std::max(known[i], more[i]);
  }
}

class OrderMaker {
 public:
  OrderMaker(const Plan& plan, const std::function<bool(OpId)>& ends_together)
      : plan_(plan),
        ends_together_(ends_together),
        graph_(plan),
        number_(plan.size()),
        place_(plan.size()),
        of_stream_(plan.stream_count(), Known(plan.stream_count())),
        at_start_(plan.size()),
        at_end_(plan.size()),
        left_(plan.size()) {}

  EnqueueOrder make() {
    EnqueueOrder out;
    out.nodes = run_order(graph_).nodes;
    number_ops(out.nodes);
    out.is_known_to_receiver.resize(plan_.size());
    std::vector<OpId> sources;
    std::vector<OpId> targets;
    for (const OpId node : out.nodes) {
      graph_.for_each_op(node, [&](OpId op) {
        for (const OpId before : waits_of(op)) {
          sources.push_back(op);
          targets.push_back(before);
        }
      });
      graph_.for_each_op(node, [&](OpId op) {
        if (plan_.kind(op) == OpKind::kSend) {
          const OpId receiver = plan_.message(op).partner;
          out.is_known_to_receiver[index_of(op)] =
              has_all(at_start_[index_of(receiver)], at_start_[index_of(op)]);
        }
        end(op);
      });
      graph_.for_each_op(node, [&](OpId op) { Known().swap(at_start_[index_of(op)]); });
    }
    out.waits = Csr<OpId, OpId>::from_pairs(plan_.size(), sources, targets);
    return out;
  }

 private:
  void number_ops(const std::vector<OpId>& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      graph_.for_each_op(nodes[i],
                         [&](OpId op) { number_[index_of(op)] = static_cast<std::uint32_t>(i); });
    }
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      left_[i] = static_cast<std::uint32_t>(plan_.successors(id_at<OpId>(i)).size());
    }
    for (std::size_t s = 0; s < plan_.stream_count(); ++s) {
      const auto ops = plan_.stream_ops(id_at<StreamId>(s));
      for (std::size_t i = 0; i < ops.size(); ++i) {
        place_[index_of(ops[i])] = static_cast<std::uint32_t>(i);
      }
    }
  }

  // Those enqueued last are looked at first: whatever follows from another one was enqueued
  // before it.
  std::vector<OpId> waits_of(OpId op) {
    const StreamId stream = plan_.stream(op);
    Known known = of_stream_[index_of(stream)];
    std::vector<OpId> before(plan_.predecessors(op).begin(), plan_.predecessors(op).end());
    std::sort(before.begin(), before.end(), [&](OpId a, OpId b) {
      return std::pair(number_[index_of(a)], a) > std::pair(number_[index_of(b)], b);
    });
    std::vector<OpId> out;
    for (const OpId one : before) {
      const StreamId other = plan_.stream(one);
      if (other != stream && !is_known(one, known)) {
        out.push_back(one);
        learn(known, at_end_[index_of(one)]);
      }
      if (--left_[index_of(one)] == 0) {
        Known().swap(at_end_[index_of(one)]);  // nobody asks again
      }
    }
    at_start_[index_of(op)] = std::move(known);
    return out;
  }

  // A marker has nothing to do: it is over when all before it is.
  [[nodiscard]] bool is_idle(OpId op) const {
    return plan_.kind(op) == OpKind::kMarker && plan_.payload(op) == nullptr;
  }

  // Whether an op is known to be over.
  [[nodiscard]] bool is_known(OpId op, const Known& known) const {
    if (!is_idle(op)) {
      return known[index_of(plan_.stream(op))] > place_[index_of(op)];
    }
    Known before = at_end_[index_of(op)];
    before[index_of(plan_.stream(op))] = place_[index_of(op)];
    return has_all(known, before);
  }

  static bool has_all(const Known& known, const Known& wanted) {
    return std::equal(known.begin(), known.end(), wanted.begin(), std::greater_equal<>());
  }

  void end(OpId op) {
    Known known = at_start_[index_of(op)];
    graph_.for_each_op(graph_.node(op), [&](OpId other) {
      if (other != op && hears(op, other)) {
        learn(known, at_start_[index_of(other)]);
        if (plan_.kind(op) != OpKind::kCollective && ends_together_(op)) {
          known[index_of(plan_.stream(other))] = place_[index_of(other)] + 1;
        }
      }
    });
    const StreamId stream = plan_.stream(op);
    known[index_of(stream)] = place_[index_of(op)] + 1;
    of_stream_[index_of(stream)] = known;
    if (left_[index_of(op)] > 0) {
      at_end_[index_of(op)] = std::move(known);
    }
  }

  // Whether one cannot end before the other has begun, because it needs the other's data.
  [[nodiscard]] bool hears(OpId one, OpId other) const {
    if (plan_.kind(one) != OpKind::kCollective) {
      return plan_.kind(one) == OpKind::kRecv || ends_together_(one);
    }
    const CollectiveShape& shape = plan_.shape(one);
    switch (shape.kind) {
      case CollectiveKind::kBroadcast:
        return plan_.device(other) == shape.root;
      case CollectiveKind::kReduce:
        return plan_.device(one) == shape.root;
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kReduceScatter:
      case CollectiveKind::kAllGather:
      case CollectiveKind::kAllToAll:
      case CollectiveKind::kBarrier:
        return true;
    }
    return false;
  }

  const Plan& plan_;
  const std::function<bool(OpId)>& ends_together_;
  RunGraph graph_;
  std::vector<std::uint32_t> number_;  // by op: of its node
  std::vector<std::uint32_t> place_;   // by op: in its stream
  std::vector<Known> of_stream_;       // by stream: when its next op may start
  std::vector<Known> at_start_;        // by op: of the node at hand
  std::vector<Known> at_end_;          // by op: as long as somebody may ask
  std::vector<std::uint32_t> left_;    // by op: successors that have not asked
};

}  // namespace

EnqueueOrder enqueue_order(const Plan& plan, const std::function<bool(OpId send)>& ends_together) {
  return OrderMaker(plan, ends_together).make();
}

}  // namespace twinrun::exec
