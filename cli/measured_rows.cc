#include "cli/measured_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/collective.h"
#include "core/base/diagnostics.h"
#include "core/calibrate/robust.h"
#include "core/plan/collective_calls.h"
#include "core/plan/plan_builder.h"
#include "core/topology/build_topology.h"
#include "core/trace/steps.h"
#include "sim/simulate.h"

namespace twinrun::cli {
namespace {

// ---- runs

struct Occurrences {
  OpId first{};
  std::vector<double> seconds;
};

// Those that meet in an op: of a collective all ranks, of a message both ends, else itself.
std::vector<OpId> meeting_of(const Plan& plan, OpId op) {
  switch (plan.kind(op)) {
    case OpKind::kCollective: {
      const auto all = plan.instance_ops(plan.collective(op).instance);
      return {all.begin(), all.end()};
    }
    case OpKind::kSend:
      return {op, plan.message(op).partner};
    default:
      return {op};
  }
}

// From when the last of them was ready to when the last had ended.
double seconds_of_meeting(const Plan& plan, const Trace& trace, OpId op) {
  Time ready{};
  Time end{};
  for (const OpId met : meeting_of(plan, op)) {
    ready = std::max(ready, trace.ops[index_of(met)].ready);
    end = std::max(end, trace.ops[index_of(met)].end);
  }
  return to_seconds(end - ready);
}

std::string name_of_compute(const Plan& plan, OpId op) {
  const ComputeOp& compute = plan.compute(op);
  const Kernel* const kernel = plan.kernel(op);
  if (compute.flops <= 0 && compute.bytes.count <= 0) {
    return "";
  }
  if (kernel == nullptr) {
    return fmt::format("compute {} FLOPs, {} B, {}", compute.flops, compute.bytes.count,
                       name_of(compute.dtype));
  }
  return fmt::format("{} {} × {} × {}, {} FLOPs, {} B, {}, {}",
                     kKernelKindNames[static_cast<std::size_t>(kernel->kind)], kernel->m, kernel->n,
                     kernel->k, compute.flops, compute.bytes.count, name_of(compute.dtype),
                     kGradientOfNames[static_cast<std::size_t>(kernel->gradient)]);
}

// The same for ops that should take as long; "" for those without a row.
std::string name_of_work(const Plan& plan, OpId op) {
  const std::string_view device = plan.device_name(plan.device(op));
  switch (plan.kind(op)) {
    case OpKind::kCompute:
      return name_of_compute(plan, op);
    case OpKind::kCopy:
      return fmt::format("copy {} B {} – {}", plan.copy(op).bytes.count, device,
                         plan.device_name(plan.copy(op).to));
    case OpKind::kSend:
      return fmt::format("message {} B {} – {}", plan.message(op).bytes.count, device,
                         plan.device_name(plan.message(op).peer));
    case OpKind::kCollective: {
      const CollectiveShape& shape = plan.shape(op);
      const auto ops = plan.instance_ops(plan.collective(op).instance);
      const bool is_whole = ops.size() == plan.group_devices(shape.group).size();
      return ops.front() != op || !is_whole || plan.collective(op).bytes.count <= 0
                 ? ""
                 : fmt::format("{} {} B, {} ranks with {}, {}", name_of(shape.kind),
                               plan.collective(op).bytes.count, ops.size(), device,
                               plan.algorithm_name(shape));
    }
    case OpKind::kRecv:
    case OpKind::kHost:
    case OpKind::kMarker:
      return "";
  }
  return "";
}

std::optional<Kernel> kernel_copy(const Kernel* kernel) {
  return kernel == nullptr ? std::nullopt : std::optional(*kernel);
}

void add_one_collective(PlanBuilder& builder, const Plan& plan, OpId op) {
  const CollectiveShape& shape = plan.shape(op);
  std::vector<DeviceId> devices;
  for (const DeviceId device : plan.group_devices(shape.group)) {
    devices.push_back(builder.add_device(std::string(plan.device_name(device))));
  }
  const GroupId group = builder.add_group("all", devices);
  const DeviceId root = shape.root == no_id<DeviceId>()
                            ? no_id<DeviceId>()
                            : builder.add_device(std::string(plan.device_name(shape.root)));
  for (const DeviceId device : devices) {
    builder.add_collective(fmt::format("op@{}", index_of(device)),
                           builder.stream(device, "communication"),
                           {.kind = shape.kind,
                            .group = group,
                            .bytes = plan.collective(op).bytes,
                            .algorithm = plan.algorithm_name(shape),
                            .root = root});
  }
}

// The op and nothing else.
Plan plan_of_op(const Plan& plan, OpId op) {
  PlanBuilder builder(std::string(plan.id(op)));
  const DeviceId device = builder.add_device(std::string(plan.device_name(plan.device(op))));
  const StreamId stream = builder.stream(device, "work");
  const auto other = [&](DeviceId there) {
    return builder.add_device(std::string(plan.device_name(there)));
  };
  if (plan.kind(op) == OpKind::kCompute) {
    const ComputeOp& compute = plan.compute(op);
    builder.add_compute(
        "op", stream, {compute.flops, compute.bytes, compute.dtype, kernel_copy(plan.kernel(op))});
  } else if (plan.kind(op) == OpKind::kCopy) {
    builder.add_copy("op", stream, other(plan.copy(op).to), plan.copy(op).bytes);
  } else if (plan.kind(op) == OpKind::kSend) {
    const DeviceId peer = other(plan.message(op).peer);
    builder.add_send("send", stream, {peer, plan.message(op).bytes});
    builder.add_recv("recv", builder.stream(peer, "work"), {device, plan.message(op).bytes});
  } else {
    add_one_collective(builder, plan, op);
  }
  return std::move(builder).finish();
}

// ---- nvbandwidth

constexpr Bytes kCopied{std::int64_t{512} << 20};  // nvbandwidth's own default

Plan copy_between(const std::string& from, const std::string& to) {
  const CollectiveCall call{std::nullopt, kCopied, 1};
  return plan_of_calls({from, to}, {&call, 1}, {});
}

std::string gpu_named(const Topology& topology, std::size_t number) {
  std::vector<VertexId> devices = topology.compute_devices();
  if (number >= devices.size()) {
    throw CannotRun(fmt::format("nvbandwidth measured GPU {}, and {} has {}", number,
                                topology.name(), devices.size()));
  }
  return topology.name(devices[number]);
}

}  // namespace

std::vector<MeasuredRow> rows_of_run(const CompareInput& run) {
  std::map<std::string, Occurrences> by_work;
  for (std::size_t i = 0; i < run.plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    const std::string name = name_of_work(run.plan, op);
    const bool has_ended = run.trace.ops[i].end.ps > 0;
    const bool is_given = run.plan.duration(op).has_value();  // whatever the topology
    if (name.empty() || !has_ended || is_given ||
        step_of(run.plan.id(op)).value_or(0) < run.warmup_steps) {
      continue;
    }
    Occurrences& all = by_work.try_emplace(name, Occurrences{op, {}}).first->second;
    all.seconds.push_back(seconds_of_meeting(run.plan, run.trace, op));
  }
  std::vector<MeasuredRow> rows;
  rows.reserve(by_work.size());
  for (auto& [name, all] : by_work) {
    rows.push_back({name, plan_of_op(run.plan, all.first), median(std::move(all.seconds))});
  }
  return rows;
}

std::vector<MeasuredRow> rows_of_nccl_tests(const NcclTestsOutput& output,
                                            const Topology& topology) {
  std::vector<std::string> devices;
  for (const VertexId vertex : topology.compute_devices()) {
    devices.push_back(topology.name(vertex));
  }
  const std::size_t ranks = output.ranks == 0 ? devices.size() : output.ranks;
  if (ranks > devices.size()) {
    throw CannotRun(fmt::format("nccl-tests ran on {} ranks, and {} has {}", ranks, topology.name(),
                                devices.size()));
  }
  devices.resize(ranks);
  const auto word = std::find(kCollectiveWords.begin(), kCollectiveWords.end(), output.collective);
  const auto number = static_cast<std::size_t>(word - kCollectiveWords.begin());
  std::vector<MeasuredRow> rows;
  for (const NcclTestsOutput::Row& row : output.rows) {
    CollectiveCall call;
    call.bytes = row.bytes;
    if (number != kSendRecv) {
      call.kind = static_cast<CollectiveKind>(number);
    }
    rows.push_back({fmt::format("{} {} B", output.collective, row.bytes.count),
                    plan_of_calls(devices, {&call, 1}, {}), row.seconds});
  }
  return rows;
}

std::string nearest_cpu(const Topology& topology, const std::string& gpu) {
  std::string nearest;
  Time least{};
  for (std::size_t i = 0; i < topology.vertex_count(); ++i) {
    const auto vertex = id_at<VertexId>(i);
    if (topology.kind(vertex) != VertexKind::kCpu) {
      continue;
    }
    const std::string name = topology.name(vertex);
    const Time time = sim::simulate(copy_between(name, gpu), topology).trace.makespan;
    if (nearest.empty() || time < least) {
      nearest = name;
      least = time;
    }
  }
  if (nearest.empty()) {
    throw CannotRun(fmt::format("{} has no CPU to copy from", topology.name()));
  }
  return nearest;
}

std::vector<MeasuredRow> rows_of_nvbandwidth(const NvbandwidthOutput& output,
                                             const Topology& topology) {
  std::vector<MeasuredRow> rows;
  for (const NvbandwidthOutput::Copy& copy : output.copies) {
    const std::string gpu = gpu_named(topology, copy.from_host ? copy.to : copy.from);
    const std::string host = copy.from_host || copy.to_host ? nearest_cpu(topology, gpu) : "";
    const std::string from = copy.from_host ? host : gpu;
    const std::string to = copy.to_host     ? host
                           : copy.from_host ? gpu
                                            : gpu_named(topology, copy.to);
    rows.push_back({fmt::format("{}: {} – {}", copy.test, from, to), copy_between(from, to),
                    static_cast<double>(kCopied.count) / copy.rate.bytes_per_s});
  }
  return rows;
}

std::vector<double> predicted_s(const std::vector<MeasuredRow>& rows, const TopologySpec& spec) {
  Diagnostics diagnostics;
  const Topology topology = build_topology(spec, diagnostics);
  diagnostics.throw_if_errors();
  std::vector<double> seconds;
  for (const MeasuredRow& row : rows) {
    try {
      seconds.push_back(to_seconds(sim::simulate(row.plan, topology).trace.makespan));
    } catch (const CannotRun&) {
      seconds.push_back(0);  // it has no such device, or no way between them
    }
  }
  return seconds;
}

}  // namespace twinrun::cli
