#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/topology/topology.h"

namespace twinrun {

// What is trained to measure a device: perceptrons whose layers go from width a to b and back.
struct TrainedShape {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t samples = 0;
};

// Every pair of widths with every number of samples.
std::vector<TrainedShape> trained_shapes(std::span<const std::uint32_t> widths,
                                         std::span<const std::uint32_t> samples);

// A machine of one device of that kind, for plans of one device: "gpu" or "cpu".
Topology one_device(VertexKind kind);

}  // namespace twinrun
