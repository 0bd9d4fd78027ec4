#include "cli/explain_job.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/answers.h"
#include "cli/comma_list.h"
#include "cli/progress.h"
#include "cli/time_to_accuracy.h"
#include "cli/verb.h"
#include "core/io/load_job.h"

namespace twinrun::cli {
namespace {

LoadedJob load(Context& context, const ExplainJobOptions& options) {
  JobOptions how;
  for (const std::string& set : options.set) {
    how.overrides.push_back(parse_override(set));
  }
  Diagnostics diagnostics;
  LoadedJob loaded = read_job(context.source(options.job), how, diagnostics);
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  if (const std::string chosen = resolve_auto(loaded); !chosen.empty()) {
    context.say(chosen);
  }
  return loaded;
}

std::vector<std::string> asked(const std::string& only) {
  std::vector<std::string> names =
      only.empty() ? std::vector<std::string>() : comma_separated(only);
  for (const std::string& name : names) {
    check_word("question", name, question_names());
  }
  return names;
}

std::vector<Answer> answers_to(JobSearch& search, const std::vector<std::string>& only) {
  std::vector<Answer> answers;
  for (const Question& question : all_questions()) {
    if (only.empty() || std::find(only.begin(), only.end(), question.name) != only.end()) {
      answers.push_back(answered(search, question));
    }
  }
  return answers;
}

std::string heading(const Answer& answer) {
  std::string text = answer.question;
  for (char& c : text) {
    c = c == '_' ? ' ' : c;
  }
  return text;
}

}  // namespace

Output explain_job(Context& context, const ExplainJobOptions& options) {
  const std::vector<std::string> only = asked(options.only);
  LoadedJob loaded = load(context, options);
  const std::string model = loaded.model.name;
  const std::int64_t dataset = loaded.job.training.dataset_samples;
  Progress progress(context, "asking " + options.job);
  std::int64_t runs = 0;
  JobSearch search(std::move(loaded), [&] { progress.update(++runs, 0); });
  std::vector<Answer> answers =
      options.time_to_accuracy.empty()
          ? answers_to(search, only)
          : time_to_accuracy(search,
                             StepsToTarget::parse(options.time_to_accuracy, model, dataset));
  Output output;
  output.rows_key = "answers";
  output.json["schema"] = "twinrun/answers/1";
  output.json["job"] = options.job;
  output.json["answers"] = nlohmann::ordered_json::array();
  for (const Answer& answer : answers) {
    output.json["answers"].push_back(answer_json(answer));
    output.text += fmt::format("{}\n  {}\n", heading(answer), answer.answer);
    for (const std::string& assumed : answer.assumed) {
      output.text += fmt::format("  assumed: {}\n", assumed);
    }
    output.text += '\n';
  }
  output.text += fmt::format("{} simulations\n", runs);
  return output;
}

}  // namespace twinrun::cli
