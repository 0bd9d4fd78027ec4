#include "core/calibrate/gpu_topology.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace twinrun {
namespace {

double best_copy_rate(const ComputeSpeed& compute) {
  double best = 0;
  for (const StreamingPoint& point : compute.streaming) {
    best = std::max(best, point.kind == "copy" ? point.rate.bytes_per_s : 0);
  }
  return best;
}

DeviceSpec measured_device(DeviceSpec device, const ComputeSpeed& compute) {
  device.name += "-measured";
  for (std::size_t i = 0; i < device.peak.size(); ++i) {
    const double seen = best_product_rate(compute, static_cast<Dtype>(i));
    device.peak[i].flop_per_s = std::max(device.peak[i].flop_per_s, std::ceil(seen / 1e9) * 1e9);
  }
  device.memory_bandwidth.bytes_per_s =
      std::max(device.memory_bandwidth.bytes_per_s, best_copy_rate(compute));
  device.launch_overhead = compute.op_overhead;
  device.products = compute.products;
  device.streaming = compute.streaming;
  device.spread_pct = compute.spread_pct;
  return device;
}

}  // namespace

void put_measured_gpu(TopologySpec& topology,
                      const std::string& device,
                      const ComputeSpeed& compute,
                      const std::string& source) {
  const auto known = std::find_if(topology.devices.begin(), topology.devices.end(),
                                  [&](const DeviceSpec& one) { return one.name == device; });
  TWINRUN_CHECK(known != topology.devices.end());
  *known = measured_device(*known, compute);
  known->source = source + "; peaks and memory bandwidth: at least what was seen, else " +
                  (known->source.empty() ? "unknown" : known->source);
  const std::string name = known->name;
  for (TemplateSpec& machine : topology.templates) {
    for (PartSpec& part : machine.parts) {
      if (part.device == device) {
        part.device = name;
      }
    }
  }
}

}  // namespace twinrun
