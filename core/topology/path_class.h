#pragma once

#include <span>

#include "core/topology/kinds.h"
#include "core/topology/topology.h"

namespace twinrun {

// How near two devices are along these links (kinds.h). No links: the same device.
PathClass classify(const Topology& topology, std::span<const LinkId> links);

// The same within a machine, by local numbers.
PathClass classify(const NodeShape& shape, std::span<const std::uint32_t> links);

}  // namespace twinrun
