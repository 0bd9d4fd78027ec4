#include "tests/substitute/small_floats.h"

#include <bit>
#include <cmath>

namespace substitute {
namespace {

constexpr std::uint32_t kSign = 0x80000000U;
constexpr std::uint32_t kInfinity = 0x7F800000U;

// Drops the last `dropped` bits of a finite float, to nearest, ties to even; the carry may make it
// infinite.
std::uint32_t rounded_bits(float value, int dropped) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t kept_odd = (bits >> dropped) & 1U;
  const std::uint32_t half = (1U << (dropped - 1)) - 1U;
  return (bits + half + kept_odd) & ~((1U << dropped) - 1U);
}

}  // namespace

float float_of_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const int mantissa = bits & 0x3FF;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1F) {
    return mantissa == 0 ? sign * INFINITY : std::copysign(NAN, sign);
  }
  if (exponent == 0) {
    return sign * std::ldexp(static_cast<float>(mantissa), -24);
  }
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

std::uint16_t half_of_float(float value) {
  const auto sign = static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) & kSign) >> 16);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(sign | 0x7E00);
  }
  const float size = std::fabs(value);
  if (size <
      std::ldexp(1.0F,
                 -14)) {  // subnormal: whole multiples of 2^-24; nearbyint breaks ties to even
    return static_cast<std::uint16_t>(
        sign | static_cast<std::uint16_t>(std::nearbyint(std::ldexp(size, 24))));
  }
  const float rounded = std::bit_cast<float>(rounded_bits(size, 13));
  if (rounded >= 65536.0F) {
    return static_cast<std::uint16_t>(sign | 0x7C00);
  }
  const auto bits = std::bit_cast<std::uint32_t>(rounded);
  return static_cast<std::uint16_t>(sign | ((bits >> 13) - (112U << 10)));
}

float float_of_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

std::uint16_t bfloat_of_float(float value) {
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) >> 16) | 0x0040);
  }
  return static_cast<std::uint16_t>(rounded_bits(value, 16) >> 16);
}

float tf32_of_float(float value) {
  if ((std::bit_cast<std::uint32_t>(value) & kInfinity) == kInfinity) {
    return value;
  }
  return std::bit_cast<float>(rounded_bits(value, 13));
}

}  // namespace substitute
