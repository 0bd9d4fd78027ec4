#include "sim/collective/pipelined.h"

#include <algorithm>
#include <cmath>

#include "sim/whole_picoseconds.h"

namespace twinrun::sim {
namespace {

// Loads are whole multiples of a unit in the transfer; so many units for the least of them at most.
constexpr int kMostParts = 32;
constexpr double kGoodEnough = 2e-3;  // relative error of a load

double worst_error(const std::vector<LinkLoad>& loads, double unit) {
  double worst = 0;
  for (const LinkLoad& load : loads) {
    const double exact = load.bytes / unit;
    worst = std::max(worst, std::abs(std::round(exact) / exact - 1));
  }
  return worst;
}

double best_unit(const std::vector<LinkLoad>& loads) {
  double least = loads.front().bytes;
  for (const LinkLoad& load : loads) {
    least = std::min(least, load.bytes);
  }
  double best = least;
  double error = worst_error(loads, least);
  for (int parts = 2; parts <= kMostParts && error > kGoodEnough; ++parts) {
    const double tried = worst_error(loads, least / parts);
    if (tried < error) {
      error = tried;
      best = least / parts;
    }
  }
  return best;
}

}  // namespace

FluidCollective pipelined(const ScheduleProfile& profile, const Topology& topology) {
  FluidCollective out;
  out.latency = profile.latency;
  out.alone = profile.latency;
  if (profile.loads.empty()) {
    return out;
  }
  const double unit = best_unit(profile.loads);
  double slowest_ps = 0;
  for (const LinkLoad& load : profile.loads) {
    const auto times = static_cast<std::size_t>(std::llround(load.bytes / unit));
    out.links.insert(out.links.end(), times, load.link);
    const double ps = load.bytes * 1e12 / topology.bandwidth(load.link).bytes_per_s;
    if (ps > slowest_ps) {
      slowest_ps = ps;
      out.bottleneck = load.link;
    }
  }
  out.bytes = {static_cast<std::int64_t>(std::ceil(unit))};
  out.alone = whole_picoseconds(static_cast<double>(out.latency.ps) + slowest_ps);
  return out;
}

}  // namespace twinrun::sim
