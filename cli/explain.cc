#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/answers.h"
#include "cli/explain_job.h"
#include "cli/verb.h"
#include "core/base/diagnostic_codes.h"
#include "core/base/did_you_mean.h"

namespace twinrun::cli {
namespace {

bool is_code(std::string_view text) {
  return text.size() == 5 && (text[0] == 'E' || text[0] == 'W') &&
         std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Breaks a paragraph at blanks.
std::string wrapped(std::string_view text, std::size_t width) {
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool breaks = used > 0 && used + 1 + shown_width(word) > width;
    out += used == 0 ? "" : breaks ? "\n" : " ";
    out += word;
    used = shown_width(word) + (breaks || used == 0 ? 0 : used + 1);
  }
  return out;
}

Output list_codes() {
  Output output;
  output.rows_key = "codes";
  Table table;
  table.columns = {{"code"}, {"title"}};
  for (const DiagnosticCode& row : diagnostic_codes()) {
    table.rows.push_back({row.code, row.title});
  }
  table.note = "\nmore about one: twinrun explain CODE";
  output.json["codes"] = to_json(table);
  output.tables.push_back(std::move(table));
  return output;
}

Output explain_code(const std::string& code) {
  const DiagnosticCode* row = find_diagnostic_code(code);
  if (row == nullptr) {
    std::vector<std::string> known;
    for (const DiagnosticCode& one : diagnostic_codes()) {
      known.emplace_back(one.code);
    }
    throw UsageError(fmt::format("there is no code {}", code), did_you_mean(code, known));
  }
  Output output;
  output.text = fmt::format("{}: {}\n\n{}\n", row->code, row->title, wrapped(row->explanation, 90));
  output.json = {{"code", row->code}, {"title", row->title}, {"explanation", row->explanation}};
  return output;
}

Output explain(Context& context, const ExplainJobOptions& options) {
  const std::string& what = options.job;
  if (what.empty()) {
    return list_codes();
  }
  std::string code = what;
  std::transform(code.begin(), code.end(), code.begin(), [](char c) {
    return c == 'e' ? 'E' : c == 'w' ? 'W' : c;
  });
  if (!is_code(code)) {
    return explain_job(context, options);
  }
  return explain_code(code);
}

}  // namespace

Run add_explain(CLI::App& app) {
  const auto options = std::make_shared<ExplainJobOptions>();
  std::string words;
  for (const DiagnosticCode& row : diagnostic_codes()) {
    words += (words.empty() ? "" : "|") + std::string(row.code);
  }
  app.add_option(
         "what", options->job,
         "a job file (- for standard input), or an error code; without it, the list of codes")
      ->type_name(words);
  app.add_option("--set", options->set, "a key of the job: training.local_batch_size=64")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  app.add_option("--only", options->only,
                 fmt::format("only these questions: {}", fmt::join(question_names(), ", ")))
      ->type_name("LIST");
  app.add_option("--time-to-accuracy", options->time_to_accuracy,
                 "steps to the target by batch: a table, or critical:steps=5000,batch=4000")
      ->type_name("FILE|LAW");
  return [options](Context& context) { return explain(context, *options); };
}

}  // namespace twinrun::cli
