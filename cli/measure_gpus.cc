#include "cli/measure_gpus.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/topology_input.h"
#include "core/base/check.h"
#include "core/base/diagnostics.h"
#include "core/calibrate/compute_beside_sums.h"
#include "core/calibrate/gpu_topology.h"
#include "core/calibrate/robust.h"
#include "core/topology/build_topology.h"
#include "core/topology/router.h"
#include "core/trace/steps.h"

namespace twinrun::cli {
namespace {

constexpr std::int64_t kBoundByLinks = 1 << 20;  // bytes of a sum or a copy
constexpr int kMostFits = 4;
constexpr double kWorthAnother = 0.9;  // of the error that a fit left
constexpr Bytes kSummedBeside{std::int64_t{16} << 20};

Topology topology_built_of(const TopologySpec& spec) {
  Diagnostics diagnostics;
  Topology topology = build_topology(spec, diagnostics);
  diagnostics.throw_if_errors();
  return topology;
}

struct Gpu {
  std::string name;
  std::string device;
};

// In the topology's order, which is CUDA's.
std::vector<Gpu> gpus_of(const Topology& topology) {
  std::vector<Gpu> out;
  for (const VertexId vertex : topology.compute_devices()) {
    const DeviceSpec* const device = topology.device(vertex);
    out.push_back({topology.name(vertex), device == nullptr ? "" : device->name});
  }
  return out;
}

std::vector<std::string> names_of(const std::vector<Gpu>& gpus) {
  std::vector<std::string> out;
  std::transform(gpus.begin(), gpus.end(), std::back_inserter(out),
                 [](const Gpu& gpu) { return gpu.name; });
  return out;
}

Traffic traffic_between(const std::vector<std::string>& gpus,
                        const Topology& topology,
                        Traffic traffic) {
  traffic.messages = telling_pairs(gpus);
  for (const std::string& gpu : gpus) {
    const std::string host = nearest_cpu(topology, gpu);
    traffic.copies.push_back({gpu, host});
    traffic.copies.push_back({host, gpu});
  }
  if (gpus.size() > 1) {
    traffic.summed = gpus;
  } else {
    traffic.sum_bytes.clear();
  }
  return traffic;
}

// The middle half of how long ops of a round took over the median of the same ops in all rounds.
double spread_of(const Plan& plan, const Trace& trace) {
  std::map<std::string_view, std::vector<double>> by_name;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string_view id = plan.id(id_at<OpId>(i));
    if (step_of(id).value_or(0) >= kTrafficWarmUp) {
      by_name[id.substr(id.find('/'))].push_back(to_seconds(trace.ops[i].end - trace.ops[i].start));
    }
  }
  std::vector<double> spreads;
  spreads.reserve(by_name.size());
  for (auto& [name, seconds] : by_name) {
    spreads.push_back(middle_half_pct(std::move(seconds)));
  }
  return std::round(median(std::move(spreads)) * 10) / 10;
}

std::set<LinkId> links_of(const std::vector<Traffic::Pair>& pairs, const Topology& topology) {
  Router router(topology);
  std::set<LinkId> out;
  for (const Traffic::Pair& pair : pairs) {
    const auto route =
        router.route(vertex_named(topology, pair.from), vertex_named(topology, pair.to));
    if (route) {
      out.insert(route->links.begin(), route->links.end());
    }
  }
  return out;
}

// Where both take the same links, a link's latency is that of messages, which NCCL makes several
// times that of a copy: a topology has one number for it, and training sends more small messages.
bool messages_meet_copies(const Traffic& traffic, const Topology& topology) {
  const std::set<LinkId> messages = links_of(traffic.messages, topology);
  const std::set<LinkId> copies = links_of(traffic.copies, topology);
  return std::any_of(copies.begin(), copies.end(),
                     [&](LinkId link) { return messages.contains(link); });
}

// Whether the links decide what it takes. A small sum is NCCL's own latencies.
bool tells_of_links(const MeasuredRow& row, bool small_copies_tell) {
  const auto first = id_at<OpId>(0);
  switch (row.plan.kind(first)) {
    case OpKind::kCollective:
      return row.plan.collective(first).bytes.count >= kBoundByLinks;
    case OpKind::kCopy:
      return small_copies_tell || row.plan.copy(first).bytes.count >= kBoundByLinks;
    default:
      return true;
  }
}

// What a fit that began with what another had found adds to that: numbers that had no effect until
// others were out of their way may have one now.
TopologyFit joined(const TopologyFit& first, TopologyFit then) {
  then.before_s = first.before_s;
  then.held_out_before = first.held_out_before;
  for (std::size_t i = 0; i < then.parameters.size(); ++i) {
    FittedParameter& one = then.parameters[i];
    const FittedParameter& before = first.parameters[i];
    one.before = before.before;
    one.is_determined = one.is_used ? one.is_determined : before.is_determined;
    one.is_used = one.is_used || before.is_used;
  }
  return then;
}

TopologyFit fit_links(const TopologySpec& spec,
                      const std::vector<MeasuredRow>& rows,
                      const std::string& source) {
  std::vector<double> measured;
  std::transform(rows.begin(), rows.end(), std::back_inserter(measured),
                 [](const MeasuredRow& row) { return row.seconds; });
  const PredictRows predict = [&](const TopologySpec& tried) { return predicted_s(rows, tried); };
  TopologyFit fit = fit_topology(spec, measured, predict, source);
  for (int i = 1; i < kMostFits; ++i) {
    TopologyFit again = fit_topology(fit.topology, measured, predict, source);
    if (again.fitted_after.median_pct > kWorthAnother * fit.fitted_after.median_pct) {
      break;
    }
    fit = joined(fit, std::move(again));
  }
  return fit;
}

// More digits are noise.
double to_three_digits(double value) {
  const double unit = value > 0 ? std::pow(10, std::floor(std::log10(value)) - 2) : 1;
  return std::round(value / unit) * unit;
}

// Of the links that were corrected: what their numbers are worth.
void finish_links(TopologySpec& spec, double spread_pct, const std::string& source) {
  constexpr double kNanosecondPs = 1e3;
  for (TemplateSpec& machine : spec.templates) {
    for (LinkSpec& link : machine.links) {
      if (link.source == source) {
        link.bandwidth = gigabytes_per_second(to_three_digits(link.bandwidth.bytes_per_s * 1e-9));
        const double ns = to_three_digits(static_cast<double>(link.latency.ps) / kNanosecondPs);
        link.latency = Time{std::llround(ns) * static_cast<std::int64_t>(kNanosecondPs)};
        link.spread_pct = spread_pct;
      }
    }
  }
}

void measure_traffic(const RunPlan& run, const Traffic& traffic, MeasuredGpus& found) {
  CompareInput input{"", traffic_plan(traffic), {}, kTrafficWarmUp};
  input.trace = run(input.plan);
  found.traffic = rows_of_run(input);
  found.traffic_spread_pct = spread_of(input.plan, input.trace);
}

void correct_links(MeasuredGpus& found, bool small_copies_tell, const std::string& source) {
  std::vector<MeasuredRow> fitted;
  std::copy_if(found.traffic.begin(), found.traffic.end(), std::back_inserter(fitted),
               [&](const MeasuredRow& row) { return tells_of_links(row, small_copies_tell); });
  found.fit = fit_links(found.topology, fitted, source);
  found.topology = found.fit.topology;
  finish_links(found.topology, found.traffic_spread_pct, source);
  found.predicted_s = predicted_s(found.traffic, found.topology);
}

double seconds_of_sum(const std::vector<MeasuredRow>& rows, Bytes bytes) {
  double nearest = 0;
  double apart = 0;
  for (const MeasuredRow& row : rows) {
    const auto first = id_at<OpId>(0);
    if (row.plan.kind(first) != OpKind::kCollective) {
      continue;
    }
    const auto here = static_cast<double>(row.plan.collective(first).bytes.count);
    const double ratio = static_cast<double>(bytes.count) / here;
    if (const double far = std::abs(std::log(ratio)); nearest == 0 || far < apart) {
      apart = far;
      nearest = row.seconds * ratio;
    }
  }
  return nearest;
}

bool is_of_link(const FittedParameter& one) {
  return one.parameter.kind == TopologyParameter::Kind::kLinkBandwidth ||
         one.parameter.kind == TopologyParameter::Kind::kLinkLatency;
}

std::vector<std::string> undetermined_of(const MeasuredGpus& found, const std::vector<Gpu>& gpus) {
  std::vector<std::string> out;
  if (gpus.size() < 2) {
    out.emplace_back("messages and sums between GPUs, and compute beside them: there is one GPU");
  }
  std::set<std::string> others;
  for (const Gpu& gpu : gpus) {
    if (gpu.device != found.device && others.insert(gpu.device).second) {
      out.push_back(
          fmt::format("compute of {} ({}): the first GPU is another, and only that one "
                      "was measured; CUDA_VISIBLE_DEVICES chooses",
                      gpu.device, gpu.name));
    }
  }
  for (const FittedParameter& one : found.fit.parameters) {
    if (is_of_link(one) && !one.is_determined) {
      out.push_back(fmt::format(
          "{}: {}", one.parameter.name,
          one.is_used ? "only together with others" : "nothing that was measured depends on it"));
    }
  }
  return out;
}

}  // namespace

GpusToMeasure all_of_gpus() {
  GpusToMeasure what;
  what.sizes.message_bytes = {4, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20};
  what.sizes.copy_bytes = {4, 4 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20};
  what.sizes.sum_bytes = {4 << 10, 256 << 10, 4 << 20, 64 << 20, 256 << 20};
  return what;
}

GpusToMeasure little_of_gpus() {
  GpusToMeasure what;
  what.shapes.widths = {128, 1024};
  what.shapes.samples = {128, 1024};
  what.shapes.steps = 3;
  what.shapes.largest_copy = 16 << 20;
  what.shapes.rounds = 1;
  what.sizes.message_bytes = {4, 64 << 10, 4 << 20};
  what.sizes.copy_bytes = {4, 64 << 10, 4 << 20};
  what.sizes.sum_bytes = {4 << 10, 4 << 20};
  what.sizes.rounds = 3;
  what.side = 1024;
  return what;
}

MeasuredGpus measure_gpus(const RunPlan& run,
                          const TopologySpec& described,
                          const GpusToMeasure& what,
                          const MeasureProgress& progress) {
  const Topology topology = topology_built_of(described);
  std::vector<Gpu> gpus = gpus_of(topology);
  gpus.resize(std::min(gpus.size(), static_cast<std::size_t>(what.count)));
  TWINRUN_CHECK(!gpus.empty());
  const std::vector<std::string> names = names_of(gpus);
  MeasuredGpus found;
  found.device = gpus.front().device;
  found.compute = measure_gpu_compute(run, what.shapes, what.formats, progress);
  found.topology = described;
  put_measured_gpu(found.topology, found.device, found.compute, what.source);
  if (progress) {
    progress("messages, copies and sums", 0, 1);
  }
  const Traffic traffic = traffic_between(names, topology, what.sizes);
  measure_traffic(run, traffic, found);
  correct_links(found, !messages_meet_copies(traffic, topology), what.source);
  found.topology.source = fmt::format("{}; all else: {}", what.source, described.source);
  if (gpus.size() > 1) {
    BesideSums beside;
    beside.side = what.side;
    beside.summed = kSummedBeside;
    beside.sum_s = seconds_of_sum(found.traffic, kSummedBeside);
    found.slowdown = measure_compute_beside_sums(run, names, beside, progress);
  }
  found.not_determined = undetermined_of(found, gpus);
  return found;
}

}  // namespace twinrun::cli
