#include <array>
#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/import_file.h"
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
  ImportFile file;
  std::string nic_rate;
  ImportOptions import;
};

Output import_file(Context& context, ImportCommand options) {
  check_word("format to import from", options.file.from, kImportFormats);
  if (!options.nic_rate.empty()) {
    options.import.nic_rate = parse_bandwidth(options.nic_rate);
    if (!options.import.nic_rate) {
      throw UsageError(fmt::format("\"{}\" is no rate of a NIC", options.nic_rate),
                       fmt::format("write {}", kBandwidthForms));
    }
  }
  Diagnostics diagnostics;
  const Source source = context.source(options.file.file);
  const std::string text = save_topology(import_nccl_xml(source, options.import, diagnostics));
  const auto read_again = [](JsonValue root, Diagnostics& complaints) -> ImportSummary {
    const TopologySpec spec = read_topology(root, complaints);
    if (complaints.has_errors()) {
      return {};
    }
    const Topology topology = build_topology(spec, complaints);
    return {fmt::format("{} vertices, {} links", topology.vertex_count(), topology.link_count()),
            "topo show"};
  };
  return write_import(context, options.file, text, diagnostics, read_again);
}

}  // namespace

Run add_topo_import(CLI::App& app) {
  const auto options = std::make_shared<ImportCommand>();
  add_import_options(app, options->file, "nccl-xml", "its format");
  app.add_option("--name", options->import.name, "name of the topology; default: the file's")
      ->type_name("NAME");
  app.add_option("--gpu", options->import.gpu_device, "what every GPU is, such as h100-sxm5")
      ->type_name("DEVICE");
  app.add_option("--nic", options->nic_rate, "rate of NICs whose speed the file does not say")
      ->type_name("RATE");
  app.add_option("--assume-bridge", options->import.assume_bridge,
                 "what to take for bridges below 1 GB/s, such as gen5x16")
      ->type_name("GENxLANES");
  app.add_flag("--force", options->file.force, "replace an existing file");
  return [options](Context& context) { return import_file(context, *options); };
}

}  // namespace twinrun::cli
