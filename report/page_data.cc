#include "report/page_data.h"

#include <algorithm>

#include "report/headline.h"
#include "report/memory_data.h"
#include "report/pipeline_data.h"
#include "report/result_data.h"
#include "report/timeline_data.h"
#include "report/topology_data.h"

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;

Json run_json(const PageRun& run, std::size_t timeline_bytes) {
  Json json;
  json["label"] = run.label;
  json["headline"] = headline_of_run(run.result);
  json["result"] = result_data(run.result);
  json["job"] = run.job.empty() ? Json(nullptr) : Json(run.job);
  const bool has_trace = run.plan != nullptr && run.trace != nullptr;
  json["timeline"] =
      has_trace ? timeline_data(*run.plan, *run.trace, timeline_bytes) : Json(nullptr);
  json["memory"] = has_trace ? memory_data(*run.plan, run.topology, *run.trace) : Json(nullptr);
  json["pipeline"] = has_trace ? pipeline_data(*run.plan, *run.trace) : Json(nullptr);
  json["topology"] = run.topology != nullptr
                         ? topology_data(*run.topology, run.result.value("links", Json::array()))
                         : Json(nullptr);
  return json;
}

std::string headline(const PageContent& content) {
  if (content.runs.empty()) {
    return content.sweeps.empty() ? "" : headline_of_sweep(content.sweeps.front());
  }
  if (content.runs.size() == 2) {
    return headline_of_two(content.runs[0].result, content.runs[1].result);
  }
  return headline_of_run(content.runs.front().result);
}

std::string title(const PageContent& content) {
  if (!content.runs.empty()) {
    const std::string name = content.runs.front().result.value("name", "");
    return name.empty() ? content.runs.front().label : name;
  }
  return content.sweeps.empty() ? "" : content.sweeps.front().value("label", "");
}

}  // namespace

Json page_data(const PageContent& content, std::size_t timeline_bytes) {
  Json json;
  json["schema"] = "twinrun/page/1";
  json["made_by"] = content.made_by;
  json["title"] = title(content);
  json["headline"] = headline(content);
  json["notes"] = content.notes;
  json["runs"] = Json::array();
  for (const PageRun& run : content.runs) {
    json["runs"].push_back(run_json(run, timeline_bytes / content.runs.size()));
  }
  json["comparison"] = content.comparison;
  json["sweeps"] = content.sweeps;
  json["curves"] = content.curves;
  json["answers"] = content.answers;
  json["controls"] = content.controls;
  return json;
}

}  // namespace twinrun::report
