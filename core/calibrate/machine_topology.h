#pragma once

#include <string>

#include "core/base/units.h"
#include "core/calibrate/measure_compute.h"
#include "core/calibrate/measure_messages.h"
#include "core/topology/spec.h"

namespace twinrun {

// What calibrate found out about a machine.
struct MeasuredMachine {
  std::string source;  // "measured 2026-11-18 by twinrun calibrate --backend cpu on …"
  int cores = 1;
  Bytes memory{};
  ComputeSpeed compute;
  MessageCost message;
  double wake_s = 0;  // of a thread
  std::vector<FootprintPoint> footprint;
  OverlapCost overlap;
};

// Devices that are threads of one process: they share cores and reach each other through memory.
TopologySpec topology_of_threads(const MeasuredMachine& machine);

// Hosts with a device each on a switch, and processes that send to each other.
struct Hosts {
  int count = 2;
  bool on_one_machine = false;  // then they share its cores
};
TopologySpec topology_of_hosts(const MeasuredMachine& machine, const Hosts& hosts);

}  // namespace twinrun
