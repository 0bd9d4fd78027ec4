#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace twinrun {

// Number formats: what a device has a peak rate for, what an op computes or moves.
enum class Dtype : std::uint8_t { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kInt8 };
inline constexpr std::array<std::string_view, 7> kDtypeNames = {"fp64", "fp32", "tf32", "fp16",
                                                                "bf16", "fp8",  "int8"};
constexpr std::string_view name_of(Dtype dtype) {
  return kDtypeNames[static_cast<std::size_t>(dtype)];
}

// Of an element as it is stored: tf32 is a way to compute, stored as fp32.
constexpr std::int64_t stored_bytes(Dtype dtype) {
  constexpr std::array<std::int64_t, kDtypeNames.size()> kBytes = {8, 4, 4, 2, 2, 1, 1};
  return kBytes[static_cast<std::size_t>(dtype)];
}

}  // namespace twinrun
