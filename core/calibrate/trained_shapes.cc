#include "core/calibrate/trained_shapes.h"

#include "core/base/check.h"
#include "core/base/diagnostics.h"
#include "core/topology/build_topology.h"

namespace twinrun {

std::vector<TrainedShape> trained_shapes(std::span<const std::uint32_t> widths,
                                         std::span<const std::uint32_t> samples) {
  std::vector<TrainedShape> out;
  for (const std::uint32_t count : samples) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      for (std::size_t j = i; j < widths.size(); ++j) {
        out.push_back({widths[i], widths[j], count});
      }
    }
  }
  return out;
}

Topology one_device(VertexKind kind) {
  TopologySpec spec;
  spec.name = "one device";
  DeviceSpec device;
  device.name = word(kind);
  device.kind = kind;
  spec.devices.push_back(device);
  TemplateSpec machine;
  machine.name = "machine";
  PartSpec part;
  part.name = device.name;
  part.kind = kind;
  part.device = device.name;
  machine.parts.push_back(part);
  spec.templates.push_back(machine);
  NodesSpec nodes;
  nodes.template_name = machine.name;
  spec.nodes.push_back(nodes);
  Diagnostics diagnostics;
  Topology topology = build_topology(spec, diagnostics);
  TWINRUN_CHECK(!diagnostics.has_errors());
  return topology;
}

}  // namespace twinrun
