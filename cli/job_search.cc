#include "cli/job_search.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/topology/build_topology.h"

namespace twinrun::cli {
namespace {

Topology built(const TopologySpec& spec) {
  Diagnostics diagnostics;
  Topology topology = build_topology(spec, diagnostics);
  diagnostics.throw_if_errors();
  return topology;
}

std::string reason_in(const Diagnostics& diagnostics) {
  for (const Diagnostic& one : diagnostics.all()) {
    if (one.severity == Severity::kError) {
      return one.message;
    }
  }
  return "";
}

std::int64_t machines_of(const TopologySpec& spec) {
  std::int64_t count = 0;
  for (const NodesSpec& nodes : spec.nodes) {
    count += nodes.count;
  }
  return count;
}

void scale(Bandwidth& bandwidth, double factor) { bandwidth.bytes_per_s *= factor; }

}  // namespace

void throw_if_impossible(const Job& job, const Diagnostics& complaints) {
  const std::string& strategy = job.parallelism.strategy;
  if (complaints.has_errors() && (strategy.empty() || find_strategy(strategy) != nullptr)) {
    throw ImpossibleJob(complaints);
  }
  complaints.throw_if_errors();
}

JobSearch::JobSearch(LoadedJob loaded, std::function<void()> on_run)
    : loaded_(std::move(loaded)), topology_(built(loaded_.topology)), on_run_(std::move(on_run)) {}

const JobFigures& JobSearch::base() {
  if (!base_) {
    Diagnostics diagnostics;
    base_ = job_figures(loaded_.job, loaded_.model, topology_, {.communication_alone = true},
                        diagnostics);
    throw_if_impossible(loaded_.job, diagnostics);
  }
  return *base_;
}

std::optional<JobFigures> JobSearch::run(const Job& job, bool communication_alone) {
  return figures(job, topology_, communication_alone);
}

std::optional<JobFigures> JobSearch::run(const Job& job,
                                         const TopologySpec& topology,
                                         bool communication_alone) {
  Diagnostics diagnostics;
  const Topology other = build_topology(topology, diagnostics);
  if (diagnostics.has_errors()) {
    why_ = reason_in(diagnostics);
    return std::nullopt;
  }
  return figures(job, other, communication_alone);
}

std::optional<JobFigures> JobSearch::run_on(std::size_t devices, Job job) {
  const std::size_t here = topology_.compute_devices().size();
  job.parallelism.data_parallel_replicate_degree.reset();
  if (devices <= here) {
    job.mapping.ranks = std::to_string(devices);
    return run(job);
  }
  TopologySpec spec = loaded_.topology;
  if (spec.nodes.size() != 1 || devices % here != 0) {
    why_ = fmt::format("{} devices are no multiple of {} in machines of one kind", devices, here);
    return std::nullopt;
  }
  spec.nodes.front().count *= static_cast<std::int64_t>(devices / here);
  job.mapping.ranks = "all";
  return run(job, spec);
}

std::optional<JobFigures> JobSearch::figures(const Job& job,
                                             const Topology& topology,
                                             bool communication_alone) {
  if (on_run_) {
    on_run_();
  }
  Diagnostics diagnostics;
  try {
    auto result = job_figures(job, loaded_.model, topology,
                              {.communication_alone = communication_alone}, diagnostics);
    why_ = reason_in(diagnostics);
    return result;
  } catch (const CannotRun& error) {
    why_ = error.what();
    return std::nullopt;
  }
}

Job with_local_batch(const Job& job, std::int64_t micro_batches, std::int64_t batch) {
  Job out = job;
  out.training.global_batch_size.reset();
  if (micro_batches > 1) {
    out.training.micro_batch_size = batch;
    out.training.gradient_accumulation.reset();
    out.training.local_batch_size = batch * micro_batches;
  } else {
    out.training.micro_batch_size.reset();
    out.training.gradient_accumulation.reset();
    out.training.local_batch_size = batch;
  }
  return out;
}

Job with_strategy(const Job& job, const std::string& strategy, std::int64_t global_batch) {
  Job out = job;
  const std::string algorithm = job.parallelism.all_reduce_algorithm;
  out.parallelism = {};
  out.parallelism.strategy = strategy;
  out.parallelism.all_reduce_algorithm = algorithm;
  out.training.local_batch_size.reset();
  out.training.micro_batch_size.reset();
  out.training.gradient_accumulation.reset();
  out.training.global_batch_size = global_batch;
  return out;
}

TopologySpec with_scaled_network(TopologySpec spec, double factor) {
  if (machines_of(spec) <= 1) {
    for (TemplateSpec& machine : spec.templates) {
      for (LinkSpec& link : machine.links) {
        scale(link.bandwidth, factor);
      }
    }
    return spec;
  }
  for (DeviceSpec& device : spec.devices) {
    scale(device.rate, factor);
  }
  for (NodesSpec& nodes : spec.nodes) {
    if (nodes.nic_rate) {
      scale(*nodes.nic_rate, factor);
    }
  }
  for (LinkSpec& link : spec.links) {
    scale(link.bandwidth, factor);
  }
  if (spec.fabric && spec.fabric->bandwidth) {
    scale(*spec.fabric->bandwidth, factor);
  }
  if (spec.fabric && spec.fabric->uplink_bandwidth) {
    scale(*spec.fabric->uplink_bandwidth, factor);
  }
  return spec;
}

Bandwidth network_rate(const Topology& topology) {
  Bandwidth rate{};
  const bool is_cluster = topology.node_count() > 1;
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const auto link = id_at<LinkId>(i);
    const bool counts = is_cluster ? topology.link_kind(link) == LinkKind::kNetwork &&
                                         topology.node_of(topology.from(link)) != no_id<NodeId>()
                                   : topology.link_kind(link) != LinkKind::kBus;
    if (counts) {
      rate = std::max(rate, topology.bandwidth(link));
    }
  }
  return rate;
}

}  // namespace twinrun::cli
