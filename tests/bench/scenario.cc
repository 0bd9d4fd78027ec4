// scenario ft FLOWS uniform|equal WINDOW | pse WORKERS | pss WORKERS | rings FLOWS
//
// Runs one scenario of the peer baselines a few times, each time from a fresh network, and prints
//   result_s mean_s cpu_s peak_MiB
// Only the simulation with its routing is timed, in CPU seconds; building the topology is not. The
// middle of the times is printed. compare_simgrid.py reads it.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/io/topology_argument.h"
#include "core/topology/build_topology.h"
#include "sim/flows.h"
#include "tests/sim/parameter_server.h"
#include "tests/sim/random_flows.h"
#include "tests/sim/ring_groups.h"

namespace twinrun::sim {
namespace {

struct Outcome {
  double end_s = 0;
  double mean_s = 0;
};

Topology built(const std::string& argument) {
  Diagnostics diagnostics;
  Topology topology = build_topology(read_topology_argument(argument, diagnostics), diagnostics);
  diagnostics.throw_if_errors();
  return topology;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Of this program alone: getrusage() would count what the parent was before it became us.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) {
      return std::stod(line.substr(6)) / 1024;
    }
  }
  return 0;
}

void report(const std::function<Outcome()>& run) {
  constexpr std::size_t kMost = 7;
  constexpr double kEnough = 1;  // seconds in all
  Outcome outcome;
  std::vector<double> times;
  for (double spent = 0; times.size() < kMost && spent < kEnough; spent += times.back()) {
    const double start = cpu_seconds();
    outcome = run();
    times.push_back(cpu_seconds() - start);
  }
  std::sort(times.begin(), times.end());
  fmt::print("{:.12f} {:.12f} {:.6f} {:.1f}\n", outcome.end_s, outcome.mean_s,
             times[times.size() / 2], peak_mib());
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 4 && words[0] == "ft") {
    const Topology topology = built(kFatTree);
    const Sizes sizes = words[2] == "equal" ? Sizes::kEqual : Sizes::kUniform;
    const auto requests = random_flows(topology, std::stoul(words[1]), sizes);
    report([&] {
      const FlowResults results = simulate_flows(topology, requests, std::stoul(words[3]));
      return Outcome{to_seconds(results.makespan), results.mean_completion_s};
    });
    return 0;
  }
  if (words.size() != 2) {
    return 2;
  }
  const auto count = static_cast<std::uint32_t>(std::stoul(words[1]));
  if (words[0] == "rings") {
    report([&] { return Outcome{to_seconds(RingGroups().run(count, true)), 0}; });
    return 0;
  }
  const Topology topology =
      built(fmt::format("single-switch:hosts={},bandwidth=12.5GB/s,latency=1us", count + 1));
  const bool is_equal = words[0] == "pse";
  report([&] {
    return Outcome{to_seconds(is_equal ? run_equal_parameter_server(topology, count)
                                       : run_parameter_server(topology, count)),
                   0};
  });
  return 0;
}

}  // namespace
}  // namespace twinrun::sim

int main(int argc, char** argv) { return twinrun::sim::run({argv + 1, argv + argc}); }
