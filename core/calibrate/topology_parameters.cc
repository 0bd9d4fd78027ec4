#include "core/calibrate/topology_parameters.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace twinrun {
namespace {

using Kind = TopologyParameter::Kind;

LinkSpec& link_of(TopologySpec& spec, const TopologyParameter& parameter) {
  const auto index = static_cast<std::size_t>(parameter.index);
  return parameter.owner < 0
             ? spec.links[index]
             : spec.templates[static_cast<std::size_t>(parameter.owner)].links[index];
}

const LinkSpec& link_of(const TopologySpec& spec, const TopologyParameter& parameter) {
  const auto index = static_cast<std::size_t>(parameter.index);
  return parameter.owner < 0
             ? spec.links[index]
             : spec.templates[static_cast<std::size_t>(parameter.owner)].links[index];
}

double highest_peak(const DeviceSpec& device) {
  double most = 0;
  for (const FlopRate peak : device.peak) {
    most = std::max(most, peak.flop_per_s);
  }
  return most;
}

void multiply(Bandwidth& rate, double factor) { rate.bytes_per_s *= factor; }
void multiply(Time& time, double factor) {
  time.ps = std::llround(static_cast<double>(time.ps) * factor);
}

// Kernels, grids and curves that were measured go with the peaks and the memory.
void multiply_compute(DeviceSpec& device, double factor) {
  for (FlopRate& peak : device.peak) {
    peak.flop_per_s *= factor;
  }
  for (MeasuredKernel& kernel : device.kernels) {
    multiply(kernel.time, 1 / factor);
  }
  for (ProductGrid& grid : device.products) {
    for (double& us : grid.us) {
      us /= factor;
    }
  }
}

void multiply_memory(DeviceSpec& device, double factor) {
  multiply(device.memory_bandwidth, factor);
  for (StreamingPoint& point : device.streaming) {
    multiply(point.rate, factor);
  }
}

class Collected {
 public:
  explicit Collected(const TopologySpec& spec) : spec_(spec) {}

  void add(Kind kind, int owner, int index, const std::string& name, std::string_view unit) {
    TopologyParameter parameter{kind, owner, index, name, std::string(unit)};
    if (value_of(spec_, parameter) > 0) {
      out_.push_back(std::move(parameter));
    }
  }

  void add_links(const std::vector<LinkSpec>& links, int owner, const std::string& where) {
    for (std::size_t i = 0; i < links.size(); ++i) {
      const std::string name = fmt::format("{}{} – {}", where, fmt::join(links[i].from, ","),
                                           fmt::join(links[i].to, ","));
      add(Kind::kLinkBandwidth, owner, static_cast<int>(i), "bandwidth of " + name, "GB/s");
      add(Kind::kLinkLatency, owner, static_cast<int>(i), "latency of " + name, "us");
    }
  }

  void add_device(const DeviceSpec& device, int index) {
    add(Kind::kNicRate, 0, index, "rate of " + device.name, "GB/s");
    add(Kind::kNicLatency, 0, index, "latency of " + device.name, "us");
    add(Kind::kCompute, 0, index, "compute of " + device.name, "TFLOP/s");
    add(Kind::kMemory, 0, index, "memory bandwidth of " + device.name, "GB/s");
    add(Kind::kLaunch, 0, index, "launch of " + device.name, "us");
  }

  std::vector<TopologyParameter> take() && { return std::move(out_); }

 private:
  const TopologySpec& spec_;
  std::vector<TopologyParameter> out_;
};

}  // namespace

std::vector<TopologyParameter> parameters_of(const TopologySpec& spec) {
  Collected out(spec);
  for (std::size_t t = 0; t < spec.templates.size(); ++t) {
    out.add_links(spec.templates[t].links, static_cast<int>(t), spec.templates[t].name + ": ");
  }
  out.add_links(spec.links, -1, "");
  if (spec.fabric) {
    out.add(Kind::kFabricBandwidth, 0, 0, "bandwidth of the fabric", "GB/s");
    out.add(Kind::kFabricLatency, 0, 0, "latency of the fabric", "us");
  }
  for (std::size_t d = 0; d < spec.devices.size(); ++d) {
    out.add_device(spec.devices[d], static_cast<int>(d));
  }
  for (std::size_t c = 0; c < spec.cores.size(); ++c) {
    out.add(Kind::kMoves, 0, static_cast<int>(c), "what a core moves", "GB/s");
  }
  return std::move(out).take();
}

double value_of(const TopologySpec& spec, const TopologyParameter& parameter) {
  const auto index = static_cast<std::size_t>(parameter.index);
  switch (parameter.kind) {
    case Kind::kLinkBandwidth:
      return link_of(spec, parameter).bandwidth.bytes_per_s * 1e-9;
    case Kind::kLinkLatency:
      return to_microseconds(link_of(spec, parameter).latency);
    case Kind::kFabricBandwidth:
      return spec.fabric->bandwidth.value_or(Bandwidth{}).bytes_per_s * 1e-9;
    case Kind::kFabricLatency:
      return to_microseconds(spec.fabric->latency);
    case Kind::kNicRate:
      return spec.devices[index].rate.bytes_per_s * 1e-9;
    case Kind::kNicLatency:
      return to_microseconds(spec.devices[index].latency);
    case Kind::kCompute:
      return highest_peak(spec.devices[index]) * 1e-12;
    case Kind::kMemory:
      return spec.devices[index].memory_bandwidth.bytes_per_s * 1e-9;
    case Kind::kLaunch:
      return to_microseconds(spec.devices[index].launch_overhead);
    case Kind::kMoves:
      return spec.cores[index].moves.bytes_per_s * 1e-9;
  }
  return 0;
}

void scale(TopologySpec& spec,
           const TopologyParameter& parameter,
           double factor,
           const std::string& source) {
  const auto index = static_cast<std::size_t>(parameter.index);
  const auto say = [&](std::string& where) {
    if (!source.empty()) {
      where = source;
    }
  };
  switch (parameter.kind) {
    case Kind::kLinkBandwidth:
      multiply(link_of(spec, parameter).bandwidth, factor);
      return say(link_of(spec, parameter).source);
    case Kind::kLinkLatency:
      multiply(link_of(spec, parameter).latency, factor);
      return say(link_of(spec, parameter).source);
    case Kind::kFabricBandwidth:
      multiply(*spec.fabric->bandwidth, factor);
      return say(spec.fabric->source);
    case Kind::kFabricLatency:
      multiply(spec.fabric->latency, factor);
      return say(spec.fabric->source);
    case Kind::kNicRate:
      multiply(spec.devices[index].rate, factor);
      break;
    case Kind::kNicLatency:
      multiply(spec.devices[index].latency, factor);
      break;
    case Kind::kCompute:
      multiply_compute(spec.devices[index], factor);
      break;
    case Kind::kMemory:
      multiply_memory(spec.devices[index], factor);
      break;
    case Kind::kLaunch:
      multiply(spec.devices[index].launch_overhead, factor);
      break;
    case Kind::kMoves:
      multiply(spec.cores[index].moves, factor);
      return say(spec.cores[index].source);
  }
  say(spec.devices[index].source);
}

}  // namespace twinrun
