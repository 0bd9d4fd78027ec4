#include "cli/calibrate_machine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/backend_run.h"
#include "cli/machine_parts.h"
#include "cli/progress.h"
#include "cli/run_on_backend.h"
#include "cli/today.h"
#include "cli/verb.h"
#include "core/base/diagnostics.h"
#include "core/calibrate/machine_topology.h"
#include "core/calibrate/measure_footprint.h"
#include "core/io/save_plan.h"
#include "core/io/save_topology.h"
#include "core/io/source.h"
#include "core/topology/build_topology.h"
#include "exec/backends.h"
#include "exec/thread_schedule.h"

namespace twinrun::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kTimeout = 60;

// Other processes have to read the plan from a file. The folder goes with this object.
class PlanFolder {
 public:
  PlanFolder() : path_((fs::temp_directory_path() / "twinrun-calibrate-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw CannotRun(
          fmt::format("no folder can be made in {}", fs::temp_directory_path().string()));
    }
  }
  PlanFolder(const PlanFolder&) = delete;
  PlanFolder& operator=(const PlanFolder&) = delete;
  ~PlanFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  [[nodiscard]] std::string file(std::string_view name) const {
    return (fs::path(path_) / name).string();
  }

 private:
  std::string path_;
};

// Hosts on a switch, for plans that are run and not simulated: only their names count.
TopologySpec hosts_without_speed(int count) {
  MeasuredMachine unknown;
  unknown.message = {1e-6, 1e9, 0, true, true};
  return topology_of_hosts(unknown, {count, false});
}

RunPlan run_in_processes(const PlanFolder& folder, int processes) {
  const exec::BackendRow& row = backend_named("mpi");
  write_file(folder.file("topology.json"), save_topology(hosts_without_speed(processes)), true);
  return [&row, &folder, processes](const Plan& plan) {
    save_plan_file(plan, folder.file("plan.json"), true);
    exec::ExecuteOptions options;
    options.run.timeout_s = kTimeout;
    options.processes = processes;
    options.command = {fs::read_symlink("/proc/self/exe").string(),
                       "execute",
                       folder.file("plan.json"),
                       "--topology",
                       folder.file("topology.json"),
                       "--backend",
                       "mpi"};
    return trace_of(row.execute(plan, options), "mpi");
  };
}

MeasuredMachine this_machine(const MachineArguments& arguments) {
  MeasuredMachine machine;
  machine.cores = static_cast<int>(std::max<std::size_t>(1, exec::allowed_cores().size()));
  machine.memory = {static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                    static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE))};
  machine.source =
      fmt::format("measured {} by twinrun calibrate --backend {} on {}, {} core{}", today(),
                  arguments.backend, cpu_model(), machine.cores, machine.cores == 1 ? "" : "s");
  return machine;
}

ProductSizes product_sizes(bool quick) {
  ProductSizes sizes;
  if (quick) {
    sizes.widths = {16, 64, 256, 1024};
    sizes.samples = {8, 64, 512};
    sizes.rounds = 1;
    sizes.seconds_a_plan = 0.005;
  }
  return sizes;
}

int footprint_rounds(const MachineArguments& arguments) { return arguments.quick ? 1 : 3; }

std::vector<std::string> device_names(int count, std::string_view pattern) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    names.push_back(fmt::format(fmt::runtime(pattern), i));
  }
  return names;
}

struct Calibration {
  MeasuredMachine machine;
  TopologySpec topology;
};

// On a busy machine times can scatter so much that no rate fits them. The largest messages have
// gone at a rate all the same; that it is not known well is what cost.knows_bandwidth says.
MessageCost cost_of(const std::vector<MessageTime>& times) {
  MessageCost cost = fit_message_cost(times);
  const bool has_rate = cost.bytes_per_s > 0;
  for (const MessageTime& time : times) {
    if (!has_rate && time.seconds > 0) {
      cost.bytes_per_s = std::max(cost.bytes_per_s, time.bytes / time.seconds);
    }
  }
  if (cost.bytes_per_s <= 0) {
    throw CannotRun(
        "no message took a time that can be told from the waking of threads: "
        "is the machine busy?");
  }
  return cost;
}

Calibration measure_threads(const MachineArguments& arguments, const MeasureProgress& progress) {
  MeasuredMachine machine = this_machine(arguments);
  const RunPlan run = run_on("cpu");
  machine.footprint = measure_footprint(run, machine.cores, footprint_rounds(arguments), progress);
  machine.compute = measure_compute(run, product_sizes(arguments.quick), progress);
  MessageSizes sizes;
  sizes.rounds = arguments.quick ? 1 : sizes.rounds;
  machine.wake_s = measure_wake(run, device_names(2, "cpu{}"));
  sizes.between_threads = true;
  machine.message = cost_of(measure_messages(run, device_names(2, "cpu{}"), sizes, progress));
  machine.overlap =
      measure_overlap(run, device_names(machine.cores, "cpu{}"), machine.message, progress);
  return {machine, topology_of_threads(machine)};
}

// Small ones for the latency, and such as no bucket of a shaper or buffer of a socket holds: what
// lies between goes at the speed of memory, and says nothing about the wire.
const std::vector<std::int64_t> kNetworkMessages = {4, 1 << 10, 2 << 20, 4 << 20, 8 << 20};

// Of what a wire carries. A core that seems to move less was not moving: its processes asked again
// and again whether something had arrived.
constexpr double kTimesTheWire = 4;

Calibration measure_processes(const MachineArguments& arguments, const MeasureProgress& progress) {
  MeasuredMachine machine = this_machine(arguments);
  const PlanFolder folder;
  const RunPlan run = run_in_processes(folder, arguments.processes);
  MessageSizes sizes;
  sizes.rounds = arguments.quick ? 1 : 2;
  sizes.bytes = kNetworkMessages;
  const std::vector<std::string> names = device_names(arguments.processes, "node{}/cpu0");
  machine.message = cost_of(measure_messages(run, {names[0], names[1]}, sizes, progress));
  machine.overlap = measure_overlap(run, names, machine.message, progress);
  if (machine.overlap.moved_per_core_s < kTimesTheWire * machine.message.bytes_per_s) {
    machine.overlap.moved_per_core_s = 0;
  }
  machine.footprint =
      measure_footprint(run_on("cpu"), machine.cores, footprint_rounds(arguments), progress);
  machine.compute = measure_compute(run_on("cpu"), product_sizes(arguments.quick), progress);
  const bool is_local = std::getenv("TWINRUN_MPIRUN") == nullptr;  // NOLINT(concurrency-mt-unsafe)
  return {machine,
          topology_of_hosts(machine, {arguments.processes, is_local || arguments.one_machine})};
}

Table found_table(const MeasuredMachine& machine, const TopologySpec& spec) {
  Table table;
  table.columns = {{"what"},
                   {"value", "", Align::kRight},
                   {"spread_pct", "spread %", Align::kRight, 1},
                   {"how"}};
  const DeviceSpec& device = spec.devices.front();
  const LinkSpec& link =
      spec.links.empty() ? spec.templates.front().links.front() : spec.links.front();
  const MessageCost& message = machine.message;
  table.rows.push_back({"fastest product",
                        to_text(device.peak[static_cast<std::size_t>(Dtype::kFp32)]),
                        machine.compute.spread_pct, "fp32, one core"});
  table.rows.push_back(
      {"copy of 16 MiB", to_text(device.memory_bandwidth), Cell(), "read and written, one core"});
  table.rows.push_back({"time between ops", to_text(device.launch_overhead), Cell(), ""});
  table.rows.push_back({"wake of a thread", to_text(spec.cores.front().wake), Cell(), ""});
  table.rows.push_back({"message latency", to_text(Time{std::llround(message.latency_s * 1e12)}),
                        link.spread_pct, message.knows_latency ? "" : "not determined"});
  table.rows.push_back({"message bandwidth", to_text(link.bandwidth), link.spread_pct,
                        message.knows_bandwidth ? "" : "not determined"});
  table.rows.push_back({"compute beside messages",
                        fmt::format("x {:.2f}", machine.overlap.slowdown), Cell(),
                        "products on all devices while a ring sums 1 MiB arrays"});
  table.rows.push_back({"a core moves", to_text(spec.cores.front().moves), Cell(),
                        "bytes of messages a second of a core"});
  const FootprintPoint& largest = machine.footprint.back();
  table.rows.push_back({"a product's byte beside others",
                        fmt::format("+ {:.0f} ps", largest.product_ps_per_byte), Cell(),
                        fmt::format("when all devices together hold {}", to_text(largest.bytes))});
  return table;
}

std::vector<std::string> undetermined(const MeasuredMachine& machine) {
  std::vector<std::string> out;
  if (!machine.message.knows_latency) {
    out.emplace_back("message latency: no message was small enough to show it");
  }
  if (!machine.message.knows_bandwidth) {
    out.emplace_back("message bandwidth: no message was large enough to show it");
  }
  if (machine.overlap.moved_per_core_s == 0) {
    out.emplace_back("what messages cost a core: compute was not slower beside them");
  }
  return out;
}

void check(const TopologySpec& spec) {
  Diagnostics diagnostics;
  build_topology(spec, diagnostics);
  diagnostics.throw_if_errors();
}

}  // namespace

Output calibrate_machine(Context& context, const MachineArguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  Progress progress(context, "measuring this machine");
  const MeasureProgress tell = [&](std::string_view what, std::size_t done, std::size_t of) {
    progress.update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(of),
                    std::string(what));
  };
  const Calibration found = arguments.backend == "mpi" ? measure_processes(arguments, tell)
                                                       : measure_threads(arguments, tell);
  check(found.topology);
  write_file(arguments.out, save_topology(found.topology), arguments.force);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Output output;
  Table table = found_table(found.machine, found.topology);
  output.json = {{"topology", arguments.out},
                 {"source", found.machine.source},
                 {"took_s", took.count()},
                 {"found", to_json(table)},
                 {"not_determined", undetermined(found.machine)}};
  for (const std::string& what : undetermined(found.machine)) {
    output.text += fmt::format("not determined: {}\n", what);
  }
  output.text += fmt::format("{}\n{} in {:.0f} s; simulate with --topology {}\n",
                             found.machine.source, arguments.out, took.count(), arguments.out);
  output.tables.push_back(std::move(table));
  return output;
}

}  // namespace twinrun::cli
