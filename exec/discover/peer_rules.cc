#include "exec/discover/peer_rules.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/io/json_document.h"
#include "core/io/load_topology.h"
#include "core/io/save_topology.h"
#include "core/io/source.h"
#include "core/topology/build_topology.h"
#include "core/topology/router.h"

namespace twinrun::exec {
namespace {

// As any user would read it, with the catalogue's devices filled in. Complaints are left to the
// verb, which reads the same text.
std::optional<Topology> built(const TopologySpec& spec) {
  Diagnostics complaints;
  const Source text = Source::of_text(spec.name, save_topology(spec));
  const JsonDocument document = JsonDocument::read(text, complaints);
  const TopologySpec read = read_topology(document.root(), complaints);
  return complaints.has_errors() ? std::nullopt : std::optional(build_topology(read, complaints));
}

bool reaches(const DriverGpu& gpu, const std::string& bus_id) {
  return std::find(gpu.peers.begin(), gpu.peers.end(), bus_id) != gpu.peers.end();
}

std::vector<std::string> bus_ids_of_gpus(const TemplateSpec& host) {
  std::vector<std::string> out;
  for (const PartSpec& part : host.parts) {
    if (part.kind == VertexKind::kGpu) {
      out.insert(out.end(), part.ids.begin(), part.ids.end());
    }
  }
  return out;
}

struct Pairs {
  std::vector<std::pair<std::size_t, std::size_t>> denied;  // by the driver alone
  std::size_t near = 0;                                     // that the rule allows
};

Pairs pairs_of(const Machine& machine, const TopologySpec& spec, const Topology& topology) {
  const TemplateSpec& host = spec.templates.front();
  const std::vector<std::string> ids = bus_ids_of_gpus(host);
  const std::vector<VertexId> gpus = topology.compute_devices();
  Router router(topology);
  Pairs out;
  for (std::size_t a = 0; a < ids.size(); ++a) {
    for (std::size_t b = a + 1; b < ids.size(); ++b) {
      const auto way = router.wires(gpus[a], gpus[b]);
      if (!way || way->path > host.p2p) {
        continue;
      }
      ++out.near;
      const DriverGpu* const one = machine.driver_gpu(ids[a]);
      const DriverGpu* const other = machine.driver_gpu(ids[b]);
      const bool is_said =
          one != nullptr && other != nullptr && one->knows_peers && other->knows_peers;
      if (is_said && (!reaches(*one, ids[b]) || !reaches(*other, ids[a]))) {
        out.denied.emplace_back(a, b);
      }
    }
  }
  return out;
}

}  // namespace

void apply_peers(const Machine& machine, TopologySpec& spec) {
  const std::optional<Topology> topology = built(spec);
  if (!topology) {
    return;
  }
  const Pairs pairs = pairs_of(machine, spec, *topology);
  if (!pairs.denied.empty() && pairs.denied.size() == pairs.near) {
    spec.templates.front().p2p = PathClass::kLoc;
    return;
  }
  for (const auto& [a, b] : pairs.denied) {
    OverrideSpec change;
    change.p2p_pair = {"gpu" + std::to_string(a), "gpu" + std::to_string(b)};
    change.p2p_allowed = false;
    spec.overrides.push_back(std::move(change));
  }
}

}  // namespace twinrun::exec
