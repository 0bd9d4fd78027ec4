#include "cli/explain_job.h"

#include <fmt/format.h>

#include "cli/answers.h"
#include "cli/progress.h"
#include "cli/time_to_accuracy.h"
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

std::string heading(const Answer& answer) {
  std::string text = answer.question;
  for (char& c : text) {
    c = c == '_' ? ' ' : c;
  }
  return text;
}

}  // namespace

Output explain_job(Context& context, const ExplainJobOptions& options) {
  LoadedJob loaded = load(context, options);
  const std::string model = loaded.model.name;
  const std::int64_t dataset = loaded.job.training.dataset_samples;
  Progress progress(context, "asking " + options.job);
  std::int64_t runs = 0;
  JobSearch search(std::move(loaded), [&] { progress.update(++runs, 0); });
  std::vector<Answer> answers =
      options.time_to_accuracy.empty()
          ? all_answers(search)
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
