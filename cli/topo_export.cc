#include <array>
#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/topo.h"
#include "cli/topology_input.h"
#include "core/io/nccl_xml.h"
#include "core/io/save_topology.h"
#include "core/io/source.h"

namespace twinrun::cli {
namespace {

constexpr std::array<std::string_view, 2> kExportFormats = {"nccl-xml", "json"};

struct ExportOptions {
  std::string topology;
  std::string to;
  std::string out = "-";
  bool force = false;
};

Output export_topology(Context& context, const ExportOptions& options) {
  check_word("format to export to", options.to, kExportFormats);
  Diagnostics diagnostics;
  const TopologySpec spec = read_topology_spec(context, options.topology, diagnostics);
  diagnostics.throw_if_errors();
  const std::string text =
      options.to == "json" ? save_topology(spec) : export_nccl_xml(spec, diagnostics);
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  Output output;
  output.json["format"] = options.to;
  output.json["text"] = text;
  if (options.out == "-") {
    output.text = text;
    return output;
  }
  write_file(options.out, text, options.force);
  context.say(fmt::format("wrote {}", options.out));
  return output;
}

}  // namespace

Run add_topo_export(CLI::App& app) {
  const auto options = std::make_shared<ExportOptions>();
  app.add_option("topology", options->topology, "a name, a file, - or an expression")
      ->required()
      ->type_name("TOPOLOGY");
  app.add_option("--to", options->to, "the format to write")
      ->required()
      ->type_name("nccl-xml|json");
  app.add_option("-o,--output", options->out, "where to write it; default: standard output")
      ->type_name("FILE");
  app.add_flag("--force", options->force, "replace an existing file");
  return [options](Context& context) { return export_topology(context, *options); };
}

}  // namespace twinrun::cli
