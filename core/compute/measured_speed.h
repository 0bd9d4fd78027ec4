#pragma once

#include <optional>
#include <string_view>

#include "core/plan/op.h"
#include "core/topology/spec.h"

namespace twinrun {

// Which grid a product belongs to (ProductGrid::pass), and which curve an op that is none
// (StreamingPoint::kind); `kernel` is null for a plain copy.
std::string_view product_pass(const Kernel& kernel);
std::string_view streaming_kind(const Kernel* kernel);

// Seconds of a product by the device's own grids of measured ones; nothing when it has none for the
// pass and format. A grid for the very pass wins over one for any. Convolutions are no such
// products.
//
// Inside a cell of the grid, log(time / (m n k)) is linear in log m, log n and log k: exact where
// the time is a product of powers, and continuous from cell to cell. Outside of the grid the time
// of a multiplication is that of the nearest point on its edge.
std::optional<double> measured_product_s(const DeviceSpec& device,
                                         const Kernel& kernel,
                                         Dtype dtype);

// Seconds of an op that is no product, by the device's own rates of passing over bytes; nothing
// when it has none for its kind.
std::optional<double> measured_streaming_s(const DeviceSpec& device,
                                           const Kernel* kernel,
                                           double bytes);

}  // namespace twinrun
