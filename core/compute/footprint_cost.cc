#include "core/compute/footprint_cost.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace twinrun {
namespace {

FootprintCost on_curve(std::span<const FootprintPoint> points, double bytes) {
  const FootprintPoint* below = nullptr;
  const FootprintPoint* above = nullptr;
  for (const FootprintPoint& point : points) {
    const auto at = static_cast<double>(point.bytes.count);
    if (at <= bytes && (below == nullptr || point.bytes > below->bytes)) {
      below = &point;
    } else if (at > bytes && (above == nullptr || point.bytes < above->bytes)) {
      above = &point;
    }
  }
  below = below == nullptr ? above : below;
  above = above == nullptr ? below : above;
  TWINRUN_CHECK(below != nullptr && above != nullptr);  // there is a point
  const double low = std::log(static_cast<double>(below->bytes.count));
  const double high = std::log(static_cast<double>(above->bytes.count));
  const double way = above == below ? 0 : (std::log(bytes) - low) / (high - low);
  return {std::lerp(below->product_ps_per_byte, above->product_ps_per_byte, way),
          std::lerp(below->pass_ps_per_byte, above->pass_ps_per_byte, way)};
}

}  // namespace

FootprintCost footprint_cost(std::span<const FootprintPoint> points, double own, double all) {
  if (points.empty()) {
    return {};
  }
  const FootprintCost alone = on_curve(points, own);
  const FootprintCost together = on_curve(points, all);
  return {std::max(0.0, together.product_ps_per_byte - alone.product_ps_per_byte),
          std::max(0.0, together.pass_ps_per_byte - alone.pass_ps_per_byte)};
}

}  // namespace twinrun
