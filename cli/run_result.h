#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "core/plan/plan.h"
#include "core/topology/topology.h"
#include "core/trace/trace.h"
#include "sim/memory_meter.h"

namespace twinrun::cli {

// What a run left, simulated or executed, and what only the runner knows of it.
struct RunFacts {
  const Plan& plan;
  const Topology& topology;
  const Trace& trace;
  std::vector<sim::MemoryPeak> memory = {};  // by device of the plan; empty when not known
  std::string backend = {};                  // of an executed run
  std::optional<Time> communication_alone =
      std::nullopt;               // t2: a step of nothing but communication
  std::int64_t warmup_steps = 0;  // the first so many are not counted
};

// The keys of "twinrun/result/1" that follow from the facts; the runner adds `engine` and warnings.
nlohmann::ordered_json result_json(const RunFacts& facts);

// The same for people: what a step costs, where the time went, what limited it.
std::string result_text(const RunFacts& facts, const nlohmann::ordered_json& json);
// The devices, complete unless for people; the busiest links, the longest on the critical path.
std::vector<Table> result_tables(const nlohmann::ordered_json& json, bool for_people);

// Devices whose peak is above their capacity, as sentences with numbers.
std::vector<std::string> memory_verdicts(const RunFacts& facts);

}  // namespace twinrun::cli
