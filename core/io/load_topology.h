#pragma once

#include <string>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/io/json_document.h"
#include "core/topology/spec.h"

namespace twinrun {

// Reads a topology (twinrun/topology/1). Templates and devices that the file names but does not
// define are taken from the catalogue. Complaints go to the diagnostics; with errors the result is
// incomplete.
TopologySpec read_topology(JsonValue root, Diagnostics& diagnostics);

// Reads a list of devices (twinrun/devices/1, or the "devices" object of a topology).
std::vector<DeviceSpec> read_devices(JsonValue object, Diagnostics& diagnostics);

// Complains (E0323) about keys that the fabric's kind does not read, since they would have no
// effect.
void check_fabric_keys(const FabricSpec& fabric, Diagnostics& diagnostics);

}  // namespace twinrun
