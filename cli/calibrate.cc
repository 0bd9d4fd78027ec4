#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/calibrate_machine.h"
#include "cli/verb.h"

namespace twinrun::cli {
namespace {

constexpr std::array<std::string_view, 3> kBackends = {"cpu", "mpi", "cuda"};

Output calibrate(Context& context, const MachineArguments& machine) {
  check_word("backend", machine.backend, kBackends);
  return calibrate_machine(context, machine);
}

}  // namespace

Run add_calibrate(CLI::App& app) {
  const auto machine = std::make_shared<MachineArguments>();
  app.add_option("--backend", machine->backend, "what to measure: threads, processes, GPUs")
      ->required()
      ->type_name("cpu|mpi|cuda");
  app.add_option("-o,--output", machine->out, "the topology")->required()->type_name("FILE");
  app.add_option("-n", machine->processes, "processes of the mpi backend")
      ->check(CLI::Range(2, 1000))
      ->type_name("RANKS");
  app.add_flag("--one-machine", machine->one_machine,
               "of mpi: the hosts stand on one machine and share its cores");
  app.add_flag("--quick", machine->quick, "fewer shapes and rounds: seconds instead of a minute");
  app.add_flag("--force", machine->force, "replace an existing file");
  return [machine](Context& context) { return calibrate(context, *machine); };
}

}  // namespace twinrun::cli
