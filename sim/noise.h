#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/units.h"

namespace twinrun::sim {

// How the time of an op strays from the model's. Each op draws its own factor from the seed and its
// number alone, so neither the order of events nor another op changes it.
enum class Jitter : std::uint8_t {
  kNone,
  kUniform,      // factor in 1 ± spread
  kLognormal,    // exp(spread · normal): never negative, now and then much later
  kExponential,  // 1 + spread · exponential: only ever later, as interrupts are
};
inline constexpr std::array<std::string_view, 4> kJitterWords = {"none", "uniform", "lognormal",
                                                                 "exponential"};

struct Noise {
  Jitter jitter = Jitter::kNone;
  double spread = 0;
  std::uint64_t seed = 1;
};

// "lognormal:0.05": the word and the spread. Nothing when it is neither.
std::optional<Noise> parse_noise(std::string_view text);

double noise_factor(const Noise& noise, OpId op);
Time with_noise(const Noise& noise, OpId op, Time time);

}  // namespace twinrun::sim
