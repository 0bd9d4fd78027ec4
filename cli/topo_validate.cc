#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/topo.h"
#include "cli/topology_input.h"

namespace twinrun::cli {

Run add_topo_validate(CLI::App& app) {
  const auto argument = std::make_shared<std::string>();
  app.add_option("topology", *argument, "a name, a file, - or an expression")
      ->required()
      ->type_name("TOPOLOGY");
  return [argument](Context& context) {
    const Topology topology = load_topology(context, *argument);
    Output output;
    output.text =
        fmt::format("{}: valid · {} nodes · {} vertices · {} links\n", *argument,
                    topology.node_count(), topology.vertex_count(), topology.link_count());
    output.json["valid"] = true;
    output.json["nodes"] = topology.node_count();
    output.json["vertices"] = topology.vertex_count();
    output.json["links"] = topology.link_count();
    return output;
  };
}

}  // namespace twinrun::cli
