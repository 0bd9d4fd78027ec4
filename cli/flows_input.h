#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "core/topology/topology.h"
#include "sim/flows.h"

namespace twinrun::cli {

struct FlowList {
  std::vector<sim::FlowRequest> requests;
  bool has_starts = false;  // some flow starts after 0
};

// Reads a CSV of transfers: a header with the columns src, dst, bytes and perhaps start, in any
// order, then a line each. Empty lines and those that begin with # are skipped. Throws InputError
// with every complaint, each with its line.
FlowList read_flows(Context& context, const std::string& argument, const Topology& topology);

}  // namespace twinrun::cli
