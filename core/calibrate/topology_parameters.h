#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/topology/spec.h"

namespace twinrun {

// A number of a topology that measurements may correct.
struct TopologyParameter {
  enum class Kind : std::uint8_t {
    kLinkBandwidth,
    kLinkLatency,
    kFabricBandwidth,
    kFabricLatency,
    kNicRate,
    kNicLatency,
    kCompute,  // all peaks of a device
    kMemory,   // its memory's bandwidth
    kLaunch,
    kMoves,  // what a core of a group moves
  };
  Kind kind{};
  int owner = 0;  // of links: the template, −1 for those between nodes; else of its list
  int index = 0;  // of links: within the owner
  std::string name;
  std::string unit;
};

// Those that say more than 0: a factor changes nothing else.
std::vector<TopologyParameter> parameters_of(const TopologySpec& spec);

double value_of(const TopologySpec& spec, const TopologyParameter& parameter);

// The same topology with one number times so much, and where that comes from.
void scale(TopologySpec& spec,
           const TopologyParameter& parameter,
           double factor,
           const std::string& source = "");

}  // namespace twinrun
