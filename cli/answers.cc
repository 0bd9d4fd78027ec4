#include "cli/answers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace twinrun::cli {
namespace {

constexpr std::array<Question, 7> kQuestions = {{
    {"batch_where_t1_equals_t2", batch_where_t1_equals_t2},
    {"server_or_ring", server_or_ring},
    {"bandwidth_where_server_and_ring_meet", bandwidth_where_server_and_ring_meet},
    {"devices_where_scaling_stops", devices_where_scaling_stops},
    {"bottleneck_link", bottleneck_link},
    {"fastest_strategy", fastest_strategy},
    {"fits_memory", fits_memory},
}};

struct NamedPart {
  const char* name;
  Time Breakdown::*part;
};
constexpr std::array<NamedPart, 10> kParts = {{
    {"compute", &Breakdown::compute},
    {"recompute", &Breakdown::recompute},
    {"exposed communication", &Breakdown::exposed_communication},
    {"pipeline bubble", &Breakdown::bubble},
    {"imbalance", &Breakdown::imbalance},
    {"waiting for input", &Breakdown::input_wait},
    {"waiting for servers", &Breakdown::server_wait},
    {"update", &Breakdown::update},
    {"host", &Breakdown::host},
    {"idle", &Breakdown::idle},
}};

bool is_strategy(const Job& job, std::string_view name) {
  const Strategy* const strategy = find_strategy(job.parallelism.strategy);
  return strategy != nullptr && strategy->name == name;
}

// What holds for every answer about this job.
std::vector<std::string> assumptions_about(const Job& job) {
  std::vector<std::string> out;
  if (is_strategy(job, "data_parallel")) {
    out.push_back(launch_assumption(job));
  }
  if (job.server.given && job.server.mode != ServerMode::kSync) {
    out.emplace_back(
        "workers do not wait for each other: a step is what they make together while all work; "
        "stale gradients are taken to be as good as others");
  }
  return out;
}

}  // namespace

std::string launch_assumption(const Job& job) {
  return fmt::format("nn.DataParallel's one process takes {} to launch a layer on one GPU{}",
                     to_text(job.host.launch),
                     job.host.launch == HostCosts{}.launch
                         ? ", a rule of thumb (host.data_parallel_launch sets it)"
                         : "");
}

std::span<const Question> all_questions() { return kQuestions; }

Answer answered(JobSearch& search, const Question& question) {
  Answer answer = question.ask(search);
  for (const std::string& one : assumptions_about(search.job())) {
    if (std::find(answer.assumed.begin(), answer.assumed.end(), one) == answer.assumed.end()) {
      answer.assumed.push_back(one);
    }
  }
  return answer;
}

std::vector<Answer> all_answers(JobSearch& search) {
  std::vector<Answer> answers;
  answers.reserve(kQuestions.size());
  for (const Question& question : kQuestions) {
    answers.push_back(answered(search, question));
  }
  return answers;
}

nlohmann::ordered_json answer_json(const Answer& answer) {
  return {{"question", answer.question},
          {"answer", answer.answer},
          {"value", answer.value},
          {"unit", answer.unit},
          {"assumed", answer.assumed}};
}

std::string largest_difference(const Breakdown& a, const Breakdown& b) {
  const NamedPart* largest = kParts.data();
  for (const NamedPart& part : kParts) {
    const auto gap = [&](const NamedPart& one) { return std::abs((a.*one.part - b.*one.part).ps); };
    if (gap(part) > gap(*largest)) {
      largest = &part;
    }
  }
  return fmt::format("{}, {} against {}", largest->name, to_text(a.*largest->part),
                     to_text(b.*largest->part));
}

}  // namespace twinrun::cli
