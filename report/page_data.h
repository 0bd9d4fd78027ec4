#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/plan/plan.h"
#include "core/topology/topology.h"
#include "core/trace/trace.h"

namespace twinrun::report {

// One run. What is null is not shown.
struct PageRun {
  std::string label;              // how the page calls it: "runs/sim"
  nlohmann::ordered_json result;  // twinrun/result/1
  std::string job = {};           // the text of its job.json; "" without
  const Plan* plan = nullptr;
  const Topology* topology = nullptr;
  const Trace* trace = nullptr;
};

// What a page is made from.
struct PageContent {
  std::vector<PageRun> runs;
  nlohmann::ordered_json comparison = nullptr;      // of the first two runs
  std::vector<nlohmann::ordered_json> sweeps = {};  // twinrun/sweep/1, with a "label"
  nlohmann::ordered_json curves = nullptr;          // t1 and t2, server or ring, scaling
  nlohmann::ordered_json answers = nlohmann::ordered_json::array();  // twinrun/answers/1
  nlohmann::ordered_json controls = nullptr;  // of `serve`: what sliders can move
  std::vector<std::string> notes = {};        // sentences: what could not be shown
  std::string made_by = {};                   // "twinrun 0.1.0"
};

// So that the page stays under 3 MB with its script.
inline constexpr std::size_t kUsualTimelineBytes = 2'200'000;

// The value that the page draws, as "twinrun/page/1". A function of the content: the same bytes.
// `timeline_bytes` is for the timelines of all runs together.
nlohmann::ordered_json page_data(const PageContent& content,
                                 std::size_t timeline_bytes = kUsualTimelineBytes);

}  // namespace twinrun::report
