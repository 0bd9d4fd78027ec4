#include "core/plan/summary.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/plan/order.h"
#include "core/plan/run_graph.h"

namespace twinrun {
namespace {

Time capped_sum(Time a, Time b) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return {a.ps > kMost - b.ps ? kMost : a.ps + b.ps};
}

double bytes_sent(const Plan& plan, OpId op) {
  switch (plan.kind(op)) {
    case OpKind::kCopy:
      return static_cast<double>(plan.copy(op).bytes.count);
    case OpKind::kSend:
      return static_cast<double>(plan.message(op).bytes.count);
    case OpKind::kCollective:
      return static_cast<double>(plan.collective(op).bytes.count);
    case OpKind::kCompute:
    case OpKind::kRecv:
    case OpKind::kHost:
    case OpKind::kMarker:
      break;
  }
  return 0;
}

void add_op(const Plan& plan, OpId op, PlanSummary& summary) {
  ++summary.by_kind[static_cast<std::size_t>(plan.kind(op))];
  DeviceLoad& load = summary.loads[index_of(plan.device(op))];
  ++load.ops;
  load.flops += plan.kind(op) == OpKind::kCompute ? plan.compute(op).flops : 0;
  load.bytes_sent += bytes_sent(plan, op);
  if (const auto duration = plan.duration(op)) {
    ++summary.with_duration;
    load.given_time = capped_sum(load.given_time, *duration);
  }
}

std::size_t widest_level(const RunGraph& graph, const RunOrder& order) {
  std::size_t widest = 0;
  for (std::size_t level = 0; level + 1 < order.level_begin.size(); ++level) {
    std::size_t ops = 0;
    for (std::size_t i = order.level_begin[level]; i < order.level_begin[level + 1]; ++i) {
      graph.for_each_op(order.nodes[i], [&](OpId) { ++ops; });
    }
    widest = std::max(widest, ops);
  }
  return widest;
}

PathSummary to_summary(CriticalPath path) {
  const std::size_t ops = path.ops.size();
  return {ops, path.length, std::move(path.ops)};
}

}  // namespace

PlanSummary summarize(const Plan& plan) {
  PlanSummary summary;
  summary.name = plan.text().name;
  summary.topology = plan.text().topology;
  summary.ops = plan.size();
  summary.edges = plan.edge_count();
  summary.devices = plan.device_count();
  summary.streams = plan.stream_count();
  summary.groups = plan.group_count();
  summary.collectives = plan.instance_count();
  for (std::size_t d = 0; d < plan.device_count(); ++d) {
    const auto device = id_at<DeviceId>(d);
    summary.loads.push_back({device, std::string(plan.device_name(device)), 0, 0, 0, {}});
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    add_op(plan, id_at<OpId>(i), summary);
  }
  const RunGraph graph(plan);
  const RunOrder order = run_order(graph);
  summary.levels = order.level_begin.size() - 1;
  summary.width = widest_level(graph, order);
  summary.never_start = plan.size() - order.op_count;
  summary.critical_by_count = to_summary(critical_path_by_count(graph, order));
  if (summary.with_duration > 0) {
    summary.critical_by_duration = to_summary(critical_path_by_duration(graph, order));
  }
  summary.memory = plan.memory_use();
  return summary;
}

}  // namespace twinrun
