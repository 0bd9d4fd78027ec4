#include <memory>
#include <optional>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/child_process.h"
#include "cli/described_machine.h"
#include "cli/topo.h"
#include "core/io/nccl_xml.h"
#include "core/io/source.h"
#include "core/topology/build_topology.h"
#include "exec/discover/copy_rates.h"
#include "exec/discover/driver_gpus.h"
#include "exec/discover/hwloc_agreement.h"
#include "exec/discover/read_hwloc.h"
#include "exec/discover/read_sysfs.h"

namespace twinrun::cli {
namespace {

struct DiscoverOptions {
  std::string out;
  std::string root;
  std::string hwloc;
  std::string nic_rate;
  ImportOptions import;
  bool measures = false;
  bool force = false;
};

// hwloc crashes over files that lack what it always writes: another process reads them first.
std::optional<exec::Machine> tried_in_child(const std::string& file_or_description) {
  const ChildResult tried = run_in_child(
      [&]() -> std::string { return exec::read_hwloc_of(file_or_description) ? "readable" : ""; });
  return tried.succeeded && !tried.output.empty() ? exec::read_hwloc_of(file_or_description)
                                                  : std::nullopt;
}

exec::Machine machine_of_hwloc(const std::string& file_or_description) {
  if (const std::string reason = exec::why_no_hwloc(); !reason.empty()) {
    throw CannotRun(fmt::format("--hwloc needs hwloc: {}", reason));
  }
  std::optional<exec::Machine> machine = tried_in_child(file_or_description);
  if (!machine) {
    throw UsageError(
        fmt::format("hwloc cannot read \"{}\"", file_or_description),
        "name a file of `lstopo --of xml`, or write such as \"package:2 core:8 pu:2\"");
  }
  if (machine->name.empty()) {
    machine->name = "machine";
  }
  return *machine;
}

exec::Machine look_around(const DiscoverOptions& options, Diagnostics& diagnostics) {
  if (!options.hwloc.empty()) {
    return machine_of_hwloc(options.hwloc);
  }
  const exec::SystemFiles files(options.root);
  if (!files.exists("/sys") && !files.exists("/proc")) {
    throw UsageError(fmt::format("{} has neither sys nor proc", options.root),
                     "name the folder in which copies of a machine's /sys and /proc are");
  }
  exec::Machine machine = exec::read_sysfs(files);
  if (options.root.empty()) {
    if (const std::optional<exec::Machine> said = exec::read_hwloc()) {
      exec::take_from_hwloc(*said, machine, diagnostics);
    }
    exec::ask_driver(machine);
  }
  if (options.measures) {
    exec::measure_copies(machine);
  }
  return machine;
}

void check(const DiscoverOptions& options) {
  const char* const other = !options.root.empty() ? "--root" : "--hwloc";
  if (options.measures && (!options.root.empty() || !options.hwloc.empty())) {
    throw UsageError(fmt::format("--measure measures this machine, {} describes another", other),
                     "leave one of the two out");
  }
  if (!options.root.empty() && !options.hwloc.empty()) {
    throw UsageError("--root and --hwloc describe two machines", "leave one of the two out");
  }
}

Output discover(Context& context, DiscoverOptions options) {
  if (!options.nic_rate.empty()) {
    options.import.nic_rate = parse_bandwidth(options.nic_rate);
    if (!options.import.nic_rate) {
      throw UsageError(fmt::format("\"{}\" is no rate of a NIC", options.nic_rate),
                       fmt::format("write {}", kBandwidthForms));
    }
  }
  check(options);
  Diagnostics diagnostics;
  const exec::Machine machine = look_around(options, diagnostics);
  const DescribedMachine described =
      describe_machine(context, machine, options.import, diagnostics);
  const Topology topology = build_topology(described.spec, diagnostics);
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  Output output = show_topology(topology);
  output.rows_key.clear();
  output.json = nlohmann::ordered_json::parse(described.text);
  if (options.out == "-") {
    output.text = described.text;
    output.tables.clear();
  } else if (!options.out.empty()) {
    write_file(options.out, described.text, options.force);
    context.say(fmt::format("wrote {}; use it with: twinrun simulate JOB --topology {}",
                            options.out, options.out));
  }
  return output;
}

}  // namespace

Run add_topo_discover(CLI::App& app) {
  const auto options = std::make_shared<DiscoverOptions>();
  app.add_option("-o,--output", options->out,
                 "where to write the topology; - is standard output, as --format json is")
      ->type_name("FILE");
  app.add_flag("--measure", options->measures,
               "measure how fast memory is copied, about a second a NUMA node");
  app.add_option("--name", options->import.name, "name of the topology; default: the host's")
      ->type_name("NAME");
  app.add_option("--gpu", options->import.gpu_device, "what every GPU is, such as h100-sxm5")
      ->type_name("DEVICE");
  app.add_option("--nic", options->nic_rate, "rate of NICs that do not say their speed")
      ->type_name("RATE");
  app.add_option("--assume-bridge", options->import.assume_bridge,
                 "what to take for bridges below 1 GB/s, such as gen5x16")
      ->type_name("GENxLANES");
  app.add_option("--root", options->root,
                 "describe another machine: a folder with copies of its /sys and /proc")
      ->type_name("DIR");
  app.add_option("--hwloc", options->hwloc,
                 "describe another machine: a file of lstopo --of xml, or such as \"package:2 "
                 "core:8 pu:2\"")
      ->type_name("FILE");
  app.add_flag("--force", options->force, "replace an existing file");
  return [options](Context& context) { return discover(context, *options); };
}

}  // namespace twinrun::cli
