#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/topology/spec.h"

namespace twinrun {

// A GPU as a datasheet describes it, in TFLOP/s and GB/s.
inline DeviceSpec gpu(int sm,
                      const std::vector<std::pair<Dtype, double>>& peaks,
                      double memory_gbps,
                      double watts = 250) {
  DeviceSpec device;
  device.name = "gpu-" + std::to_string(sm);
  device.sm = sm;
  for (const auto& [dtype, tflops] : peaks) {
    device.peak[static_cast<std::size_t>(dtype)] = {tflops * 1e12};
  }
  device.memory_bandwidth = gigabytes_per_second(memory_gbps);
  device.launch_overhead = microseconds(5);
  device.watts = watts;
  return device;
}

inline DeviceSpec v100() {
  return gpu(70, {{Dtype::kFp64, 7.8}, {Dtype::kFp32, 15.7}, {Dtype::kFp16, 125}}, 900, 300);
}
inline DeviceSpec a100() {
  return gpu(80,
             {{Dtype::kFp64, 9.7},
              {Dtype::kFp32, 19.5},
              {Dtype::kTf32, 156},
              {Dtype::kFp16, 312},
              {Dtype::kBf16, 312},
              {Dtype::kInt8, 624}},
             1555, 400);
}

}  // namespace twinrun
