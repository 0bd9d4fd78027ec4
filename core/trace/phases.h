#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/plan/plan.h"

namespace twinrun {

// What an op is part of, by its kind and the name that strategies give: step0/forward/fc1@rank0.
enum class Phase : std::uint8_t {
  kForward,
  kBackward,
  kRecompute,
  kUpdate,
  kOtherCompute,
  kCommunication,
  kInput,
  kHost,
  kMarker,
};
inline constexpr std::array<std::string_view, 9> kPhaseNames = {
    "forward",       "backward", "recompute", "update", "other compute",
    "communication", "input",    "host",      "marker"};

inline constexpr std::string_view name_of(Phase phase) {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

Phase phase_of(const Plan& plan, OpId op);

}  // namespace twinrun
