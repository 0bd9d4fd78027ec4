#include "cli/comparison_page.h"

#include "cli/breakdown_json.h"
#include "cli/page_input.h"
#include "report/page_data.h"
#include "report/render_page.h"

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

// As much of a result as a comparison knows.
Json known_result(const CompareInput& input, const RunSummary& run, const Breakdown& parts) {
  return {{"schema", "twinrun/result/1"},
          {"source", run.source},
          {"backend", nullptr},
          {"name", run.name},
          {"topology", input.plan.text().topology},
          {"devices", input.plan.device_count()},
          {"steps", run.steps},
          {"makespan_s", to_seconds(input.trace.makespan)},
          {"step_s", run.step_s},
          {"t2_s", input.t2_s ? Json(*input.t2_s) : Json(nullptr)},
          {"breakdown_s", breakdown_json(parts)}};
}

}  // namespace

std::string comparison_page(const CompareInput& a,
                            const CompareInput& b,
                            const Comparison& comparison) {
  report::PageContent content;
  content.made_by = page_maker();
  content.runs.push_back({a.argument, known_result(a, comparison.a, comparison.a_breakdown), "",
                          &a.plan, nullptr, &a.trace});
  content.runs.push_back({b.argument, known_result(b, comparison.b, comparison.b_breakdown), "",
                          &b.plan, nullptr, &b.trace});
  add_comparison(comparison, {a.argument, b.argument}, content);
  return report::render_page(report::page_data(content));
}

}  // namespace twinrun::cli
