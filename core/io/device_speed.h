#pragma once

#include <vector>

#include "core/io/json_object.h"
#include "core/topology/spec.h"

namespace twinrun {

// What a device says about its own speed beyond peaks: the members "efficiency" (one share of the
// peak, or points of a curve) and "kernels" (GEMMs with their measured times). Complains about
// shares that cannot be, empty lists and what is said twice.
std::vector<EfficiencyPoint> read_efficiency(JsonObject& device);
std::vector<MeasuredKernel> read_measured_kernels(JsonObject& device);
// "products" (times of products over a grid of shapes) and "streaming" (rates of all other ops).
std::vector<ProductGrid> read_products(JsonObject& device);
std::vector<StreamingPoint> read_streaming(JsonObject& device);
std::vector<FootprintPoint> read_footprint(JsonObject& cores);

}  // namespace twinrun
