#pragma once

#include <vector>

#include "core/base/diagnostics.h"
#include "core/io/json_document.h"
#include "core/topology/spec.h"

namespace twinrun {

// Each reads one entry of a topology file and complains about what is wrong in it alone; names that
// must fit other entries are looked at later (load_topology.cc, build_topology()).
DeviceSpec read_device(JsonValue value, Diagnostics& diagnostics);
TemplateSpec read_template(JsonValue value, Diagnostics& diagnostics);
std::vector<NodesSpec> read_nodes(JsonValue nodes, Diagnostics& diagnostics);
PartSpec read_switch(JsonValue value, Diagnostics& diagnostics);
LinkSpec read_link(JsonValue value, LinkKind usual_kind, Diagnostics& diagnostics);
FabricSpec read_fabric(JsonValue value, Diagnostics& diagnostics);
OverrideSpec read_override(JsonValue value, Diagnostics& diagnostics);
CoresSpec read_cores(JsonValue value, Diagnostics& diagnostics);

}  // namespace twinrun
