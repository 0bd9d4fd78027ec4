#pragma once

#include <span>

#include "core/topology/spec.h"

namespace twinrun {

// How many picoseconds longer compute takes for each byte.
struct FootprintCost {
  double product_ps_per_byte = 0;
  double pass_ps_per_byte = 0;
};

// When all devices beside each other hold so much memory, `own` of it this one. Between points the
// picoseconds are linear in the logarithm of the bytes, outside of them level. What a device takes
// alone is in its own measured times already, so that is taken off.
FootprintCost footprint_cost(std::span<const FootprintPoint> points, double own, double all);

}  // namespace twinrun
