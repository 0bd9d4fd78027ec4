#pragma once

#include <cstdint>

namespace twinrun {

// splitmix64 (Steele, Lea and Flood 2014): every bit of the input reaches every bit of the output,
// so any counter becomes a random number.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace twinrun
