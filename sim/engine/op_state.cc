#include "sim/engine/op_state.h"

namespace twinrun::sim {
namespace {

std::uint32_t met_by(const Plan& plan, OpId op) {
  switch (plan.kind(op)) {
    case OpKind::kCollective:
      return static_cast<std::uint32_t>(plan.collective(op).instance);
    case OpKind::kSend:
    case OpKind::kRecv:
      return static_cast<std::uint32_t>(plan.message(op).partner);
    case OpKind::kCompute:
    case OpKind::kCopy:
    case OpKind::kHost:
    case OpKind::kMarker:
      break;
  }
  return 0;
}

}  // namespace

std::vector<OpState> op_states(const Plan& plan) {
  std::vector<OpState> states(plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    OpState& state = states[i];
    state.waits = static_cast<std::uint32_t>(plan.predecessors(op).size());
    state.meets = met_by(plan, op);
    state.kind = plan.kind(op);
    state.has_successors = !plan.successors(op).empty();
    state.has_effects = !plan.memory_effects(op).empty();
    state.has_duration = plan.duration(op).has_value();
  }
  for (std::size_t i = 0; i < plan.instance_count(); ++i) {
    states[index_of(plan.instance_ops(id_at<InstanceId>(i)).front())].is_first = true;
  }
  for (std::size_t s = 0; s < plan.stream_count(); ++s) {
    const auto ops = plan.stream_ops(id_at<StreamId>(s));
    for (std::size_t i = 1; i < ops.size(); ++i) {
      states[index_of(ops[i - 1])].next = ops[i];
      ++states[index_of(ops[i])].waits;
    }
  }
  return states;
}

}  // namespace twinrun::sim
