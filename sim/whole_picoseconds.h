#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/base/units.h"

namespace twinrun::sim {

// What the clock cannot hold is the end of time.
inline constexpr Time kEndOfTime{std::numeric_limits<std::int64_t>::max()};

constexpr Time later(Time date, Time by) {
  return by.ps < kEndOfTime.ps - date.ps ? date + by : kEndOfTime;
}

// Rounded up, for nothing ends early.
inline Time whole_picoseconds(double ps) {
  const double up = std::ceil(ps);
  return up < static_cast<double>(kEndOfTime.ps) ? Time{static_cast<std::int64_t>(up)} : kEndOfTime;
}

}  // namespace twinrun::sim
