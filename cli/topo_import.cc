#include <array>
#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/topo.h"
#include "core/io/json_document.h"
#include "core/io/load_topology.h"
#include "core/io/nccl_xml.h"
#include "core/io/save_topology.h"
#include "core/io/source.h"
#include "core/topology/build_topology.h"

namespace twinrun::cli {
namespace {

constexpr std::array<std::string_view, 1> kImportFormats = {"nccl-xml"};

struct ImportCommand {
  std::string file;
  std::string from = "nccl-xml";
  std::string out = "-";
  std::string nic_rate;
  bool force = false;
  ImportOptions import;
};

Output import_file(Context& context, ImportCommand options) {
  check_word("format to import from", options.from, kImportFormats);
  if (!options.nic_rate.empty()) {
    options.import.nic_rate = parse_bandwidth(options.nic_rate);
    if (!options.import.nic_rate) {
      throw UsageError(fmt::format("\"{}\" is no rate of a NIC", options.nic_rate),
                       fmt::format("write {}", kBandwidthForms));
    }
  }
  Diagnostics diagnostics;
  const Source source = context.source(options.file);
  const std::string text = save_topology(import_nccl_xml(source, options.import, diagnostics));
  // What is written is read again as any user would, so that a file that leaves here is a good one.
  const Source written = Source::of_text(options.out, text);
  context.remember(written);
  const JsonDocument document = JsonDocument::read(written, diagnostics);
  const TopologySpec spec = read_topology(document.root(), diagnostics);
  diagnostics.throw_if_errors();
  const Topology topology = build_topology(spec, diagnostics);
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  Output output;
  output.json = nlohmann::ordered_json::parse(text);
  if (options.out == "-") {
    output.text = text;
    return output;
  }
  write_file(options.out, text, options.force);
  context.say(fmt::format("wrote {}: {} vertices, {} links; look at it with: twinrun topo show {}",
                          options.out, topology.vertex_count(), topology.link_count(),
                          options.out));
  return output;
}

}  // namespace

Run add_topo_import(CLI::App& app) {
  const auto options = std::make_shared<ImportCommand>();
  app.add_option("file", options->file, "the file to read, or - for standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--from", options->from, "its format")->required()->type_name("nccl-xml");
  app.add_option("-o,--output", options->out, "where to write the JSON; default: standard output")
      ->type_name("FILE");
  app.add_option("--name", options->import.name, "name of the topology; default: the file's")
      ->type_name("NAME");
  app.add_option("--gpu", options->import.gpu_device, "what every GPU is, such as h100-sxm5")
      ->type_name("DEVICE");
  app.add_option("--nic", options->nic_rate, "rate of NICs whose speed the file does not say")
      ->type_name("RATE");
  app.add_option("--assume-bridge", options->import.assume_bridge,
                 "what to take for bridges below 1 GB/s, such as gen5x16")
      ->type_name("GENxLANES");
  app.add_flag("--force", options->force, "replace an existing file");
  return [options](Context& context) { return import_file(context, *options); };
}

}  // namespace twinrun::cli
