#include "sim/noise.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

#include "core/base/splitmix.h"
#include "sim/whole_picoseconds.h"

namespace twinrun::sim {
namespace {

// In (0, 1]: a logarithm of it is finite.
double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 1) * 0x1p-53; }

}  // namespace

std::optional<Noise> parse_noise(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto* const word =
      std::find(kJitterWords.begin(), kJitterWords.end(), text.substr(0, colon));
  if (word == kJitterWords.end()) {
    return std::nullopt;
  }
  Noise noise;
  noise.jitter = static_cast<Jitter>(word - kJitterWords.begin());
  if (colon == std::string_view::npos) {
    return noise.jitter == Jitter::kNone ? std::optional(noise) : std::nullopt;
  }
  const std::string_view number = text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), noise.spread);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  const bool sane = noise.spread >= 0 && noise.spread <= 1;  // a NaN is not
  return whole && sane ? std::optional(noise) : std::nullopt;
}

double noise_factor(const Noise& noise, OpId op) {
  if (noise.jitter == Jitter::kNone) {
    return 1;
  }
  const std::uint64_t first = mixed(noise.seed ^ mixed(index_of(op)));
  const double u = uniform(first);
  switch (noise.jitter) {
    case Jitter::kUniform:
      return 1 + noise.spread * (2 * u - 1);
    case Jitter::kLognormal: {
      const double v = uniform(mixed(first));
      const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
      return std::exp(noise.spread * normal);
    }
    case Jitter::kExponential:
      return 1 - noise.spread * std::log(u);
    case Jitter::kNone:
      break;
  }
  return 1;
}

Time with_noise(const Noise& noise, OpId op, Time time) {
  if (noise.jitter == Jitter::kNone) {
    return time;
  }
  return whole_picoseconds(static_cast<double>(time.ps) * noise_factor(noise, op));
}

}  // namespace twinrun::sim
