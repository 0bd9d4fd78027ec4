#include "cli/plan.h"

#include <array>

#include <CLI/App.hpp>

#include "cli/verb.h"

namespace twinrun::cli {
namespace {

constexpr std::array kPlanVerbs = {
    Verb{"compile", "a job into the task graph that simulate and execute run",
         "twinrun plan compile job.json -o plan.json\n"
         "twinrun plan compile job.json --set parallelism.strategy=gpipe --steps 1 -o -",
         add_plan_compile},
    Verb{"validate", "find cycles, deadlocks, ranks that disagree: all of it before anything runs",
         "twinrun plan validate step.json\n"
         "twinrun plan validate step.json --topology dgx-a100\n"
         "twinrun plan validate - < step.json",
         add_plan_validate},
    Verb{"show", "counts, critical path, width and the load of each device",
         "twinrun plan show step.json\n"
         "twinrun plan show step.json --format json",
         add_plan_show},
};

}  // namespace

Run add_plan(CLI::App& app) { return add_verbs(app, kPlanVerbs); }

}  // namespace twinrun::cli
