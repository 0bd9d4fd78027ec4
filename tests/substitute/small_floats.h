#pragma once

#include <cstdint>

namespace substitute {

// The 16-bit formats, as bits; rounding is to the nearest, ties to even.

[[nodiscard]] float float_of_half(std::uint16_t bits);
[[nodiscard]] std::uint16_t half_of_float(float value);
[[nodiscard]] float float_of_bfloat(std::uint16_t bits);
[[nodiscard]] std::uint16_t bfloat_of_float(float value);
// As a tensor core reads a float in TF32: 10 bits of mantissa.
[[nodiscard]] float tf32_of_float(float value);

}  // namespace substitute
