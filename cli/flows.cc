#include "sim/flows.h"

#include <cstdint>
#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/flows_input.h"
#include "cli/topology_input.h"
#include "cli/verb.h"

namespace twinrun::cli {
namespace {

struct FlowsOptions {
  std::string file;
  std::string topology;
  std::size_t window = 0;
  bool each = false;
};

Table flow_table(const Topology& topology,
                 const std::vector<sim::FlowRequest>& requests,
                 const sim::FlowResults& results) {
  Table table;
  table.columns = {{"src"},
                   {"dst"},
                   {"bytes", "", Align::kRight},
                   {"start_s", "start", Align::kRight},
                   {"end_s", "end", Align::kRight}};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const sim::FlowTimes& times = results.flows[i];
    table.rows.push_back({topology.name(requests[i].from), topology.name(requests[i].to),
                          Cell(requests[i].bytes.count, to_text(requests[i].bytes)),
                          Cell(to_seconds(times.start), to_text(times.start)),
                          Cell(to_seconds(times.end), to_text(times.end))});
  }
  return table;
}

Output run_flows(Context& context, const FlowsOptions& options) {
  const Topology topology = load_topology(context, options.topology);
  const FlowList list = read_flows(context, options.file, topology);
  if (options.window > 0 && list.has_starts) {
    Diagnostics diagnostics;
    diagnostics.warning("W0601", {options.file, "", 0, false},
                        "the column \"start\" has no effect with --window",
                        "leave out the one or the other");
    context.report(diagnostics);
  }
  const sim::FlowResults results = sim::simulate_flows(topology, list.requests, options.window);
  Output output;
  output.json["topology"] = topology.name();
  output.json["flow_count"] = list.requests.size();
  output.json["makespan_s"] = to_seconds(results.makespan);
  output.json["mean_completion_s"] = results.mean_completion_s;
  output.text = fmt::format("{} flows over {}: the last ends at {:.9f} s, the mean at {:.9f} s\n",
                            list.requests.size(), topology.name(), to_seconds(results.makespan),
                            results.mean_completion_s);
  if (options.each) {
    output.rows_key = "flows";
    output.tables.push_back(flow_table(topology, list.requests, results));
    output.json["flows"] = to_json(output.tables.front());
  }
  return output;
}

}  // namespace

Run add_flows(CLI::App& app) {
  const auto options = std::make_shared<FlowsOptions>();
  app.add_option("file", options->file, "a CSV with the columns start, src, dst, bytes; or -")
      ->required()
      ->type_name("FILE");
  app.add_option("--topology", options->topology, "a name, a file or an expression")
      ->required()
      ->type_name("TOPOLOGY");
  app.add_option("--window", options->window,
                 "keep this many in flight: the next of the list starts when one ends")
      ->check([](const std::string& typed) {
        return typed == "0" ? "must be at least 1" : std::string();
      })
      ->type_name("N");
  app.add_flag("--each", options->each, "show when each flow starts and ends");
  return [options](Context& context) { return run_flows(context, *options); };
}

}  // namespace twinrun::cli
