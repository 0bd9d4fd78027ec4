#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/nccl/prediction.h"
#include "core/plan/plan.h"
#include "core/topology/topology.h"
#include "core/trace/trace.h"
#include "sim/collective/method.h"
#include "sim/memory_meter.h"
#include "sim/noise.h"

namespace twinrun::sim {

struct SimulationOptions {
  Fidelity fidelity = Fidelity::kAuto;
  Noise noise = {};
  std::map<std::string, double> slowdown = {};  // device name → factor on its compute time
  double compute_scale = 1;                     // 0: as if compute took no time
  bool has_communication = true;                // false: as if communication took no time
  double communication_share = 0;               // of a device that a running collective takes
  double kernels_at_once = 1;          // that a device runs beside each other without being slower
  double cores_per_node = 0;           // that the CPU devices of a machine share; 0: own ones
  std::vector<VertexId> servers = {};  // for parameter servers in places of their own
  std::uint32_t server_count = 0;
  NcclLaunch launch = {};  // how processes drive their GPUs
  std::function<void(std::uint64_t done, std::uint64_t of)> progress =
      {};  // ops ended, now and then
};

struct EngineCounts {
  std::uint64_t events = 0;    // ops that ended and transfers that were made
  std::uint64_t instants = 0;  // distinct dates at which something happened
  std::uint64_t transfers = 0;
  std::uint64_t uncontended = 0;  // collectives that needed no solver
};

struct Simulation {
  Trace trace;
  std::vector<MemoryPeak> memory;  // by device of the plan
  EngineCounts engine;
  std::string fidelity;  // "stepwise", …; "stepwise, pipelined" when both occurred
  std::string why;       // of the fidelity, when it was chosen
};

// Runs a plan over a topology. A function: the same plan, topology and options give the same bytes.
// The plan must be valid. Throws CannotRun when a device is not in the topology, two devices are
// not connected, or ops wait for ever (naming them).
Simulation simulate(const Plan& plan,
                    const Topology& topology,
                    const SimulationOptions& options = {});

}  // namespace twinrun::sim
