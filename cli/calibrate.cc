#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/calibrate_from.h"
#include "cli/calibrate_gpus.h"
#include "cli/calibrate_machine.h"
#include "cli/verb.h"
#include "core/base/diagnostics.h"

namespace twinrun::cli {
namespace {

constexpr std::array<std::string_view, 3> kBackends = {"cpu", "mpi", "cuda"};

Output calibrate(Context& context, const MachineArguments& machine, FromArguments from) {
  if (machine.backend.empty() == from.from.empty()) {
    throw UsageError(
        "either --backend or --from is required",
        "--backend cpu measures this machine; --from nccl-tests FILE corrects a topology");
  }
  if (!from.from.empty()) {
    from.out = machine.out;
    from.force = machine.force;
    return calibrate_from(context, from);
  }
  check_word("backend", machine.backend, kBackends);
  return machine.backend == "cuda" ? calibrate_gpus(context, machine)
                                   : calibrate_machine(context, machine);
}

}  // namespace

Run add_calibrate(CLI::App& app) {
  const auto machine = std::make_shared<MachineArguments>();
  const auto from = std::make_shared<FromArguments>();
  app.add_option("--backend", machine->backend, "measure this machine: threads, processes or GPUs")
      ->type_name("cpu|mpi|cuda");
  app.add_option(
         "--from", from->from,
         "fit a topology to measurements: run, nccl-tests, nvbandwidth or kineto, and files; "
         "or folders of runs")
      ->expected(1, -1)
      ->type_name("FORMAT FILES…");
  app.add_option("--topology", from->topology,
                 "of --from: what to correct; default: that of the run")
      ->type_name("TOPOLOGY");
  app.add_option("--collective", from->collective,
                 "of --from nccl-tests: what was measured, when the file does not say")
      ->type_name("COLLECTIVE");
  app.add_option("-o,--output", machine->out, "the topology")->required()->type_name("FILE");
  app.add_option("-n", machine->processes, "processes of the mpi backend")
      ->check(CLI::Range(2, 1000))
      ->type_name("RANKS");
  app.add_flag("--one-machine", machine->one_machine,
               "of mpi: the hosts stand on one machine and share its cores");
  app.add_flag("--quick", machine->quick, "fewer shapes and rounds: seconds instead of a minute");
  app.add_flag("--force", machine->force, "replace an existing file");
  return [machine, from](Context& context) { return calibrate(context, *machine, *from); };
}

}  // namespace twinrun::cli
