#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/job_search.h"

namespace twinrun::cli {

// A planning question answered: a sentence with numbers, the number itself, what was assumed.
struct Answer {
  std::string question;  // one of the fixed names of the contract
  std::string answer;
  nlohmann::ordered_json value = nullptr;
  std::string unit = {};
  std::vector<std::string> assumed = {};
};

// One function a question; answers.cc has the table.
Answer batch_where_t1_equals_t2(JobSearch& search);
Answer server_or_ring(JobSearch& search);
Answer bandwidth_where_server_and_ring_meet(JobSearch& search);
Answer devices_where_scaling_stops(JobSearch& search);
Answer bottleneck_link(JobSearch& search);
Answer fastest_strategy(JobSearch& search);
Answer fits_memory(JobSearch& search);

struct Question {
  std::string_view name;
  Answer (*ask)(JobSearch& search);
};
std::span<const Question> all_questions();
// With what holds for every answer about this job.
Answer answered(JobSearch& search, const Question& question);
std::vector<Answer> all_answers(JobSearch& search);

nlohmann::ordered_json answer_json(const Answer& answer);

// A change of a job that makes it fit, and what it costs.
struct FittingChange {
  std::string change;  // as one would type it: "--set training.recompute=full"
  JobFigures figures;
};
// The first in order of how little it changes; nothing when none of them does.
std::optional<FittingChange> nearest_fitting_change(JobSearch& search);

// The strategies that can be carried out with the job's global batch, fastest first.
struct StrategyRun {
  std::string name;
  JobFigures figures;
};
std::vector<StrategyRun> strategies_by_speed(JobSearch& search);

// "auto" becomes the strategy that simulates fastest, with the rest of the job as it is. A sentence
// about which that is, or "" where the job names one itself. CannotRun when none can do it.
std::string resolve_auto(LoadedJob& loaded);

// What nn.DataParallel's one process takes to launch a layer: no topology knows it.
std::string launch_assumption(const Job& job);

// The part of a step that two runs differ most in: "exposed communication, 12.1 ms against 3.0 ms".
std::string largest_difference(const Breakdown& a, const Breakdown& b);

}  // namespace twinrun::cli
