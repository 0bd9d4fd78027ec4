#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/plan/plan.h"
#include "core/topology/topology.h"
#include "core/trace/trace.h"

namespace twinrun::report {

// Memory in use over time, by part, beside what the devices have. Devices whose curves are equal
// share one; the fullest come first. A curve has a point for each of some equal stretches of the
// run: the instant in it when most was in use, so that peaks are exact. "left_out" says in a
// sentence how many other curves there are. The topology may be null: capacities are not known.
nlohmann::ordered_json memory_data(const Plan& plan, const Topology* topology, const Trace& trace);

}  // namespace twinrun::report
