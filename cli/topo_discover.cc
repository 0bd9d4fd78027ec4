#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/described_machine.h"
#include "cli/topo.h"
#include "core/io/nccl_xml.h"
#include "core/io/source.h"
#include "core/topology/build_topology.h"
#include "exec/discover/copy_rates.h"
#include "exec/discover/driver_gpus.h"
#include "exec/discover/read_sysfs.h"

namespace twinrun::cli {
namespace {

struct DiscoverOptions {
  std::string out;
  std::string root;
  std::string nic_rate;
  ImportOptions import;
  bool measures = false;
  bool force = false;
};

exec::Machine look_around(const DiscoverOptions& options) {
  const exec::SystemFiles files(options.root);
  if (!files.exists("/sys") && !files.exists("/proc")) {
    throw UsageError(fmt::format("{} has neither sys nor proc", options.root),
                     "name the folder in which copies of a machine's /sys and /proc are");
  }
  exec::Machine machine = exec::read_sysfs(files);
  if (options.root.empty()) {
    exec::ask_driver(machine);
  }
  if (options.measures) {
    exec::measure_copies(machine);
  }
  return machine;
}

Output discover(Context& context, DiscoverOptions options) {
  if (!options.nic_rate.empty()) {
    options.import.nic_rate = parse_bandwidth(options.nic_rate);
    if (!options.import.nic_rate) {
      throw UsageError(fmt::format("\"{}\" is no rate of a NIC", options.nic_rate),
                       fmt::format("write {}", kBandwidthForms));
    }
  }
  if (options.measures && !options.root.empty()) {
    throw UsageError("--measure measures this machine, --root describes another",
                     "leave one of the two out");
  }
  const exec::Machine machine = look_around(options);
  Diagnostics diagnostics;
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
  app.add_flag("--force", options->force, "replace an existing file");
  return [options](Context& context) { return discover(context, *options); };
}

}  // namespace twinrun::cli
