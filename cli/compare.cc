#include "core/trace/compare.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/comma_list.h"
#include "cli/compare_input.h"
#include "cli/comparison_checks.h"
#include "cli/comparison_json.h"
#include "cli/comparison_page.h"
#include "cli/comparison_text.h"
#include "cli/verb.h"
#include "core/io/source.h"

namespace twinrun::cli {
namespace {

struct CompareArguments {
  std::string a;
  std::string b;
  std::vector<std::string> fail_above;
  std::string by;
  std::string html;
  bool force = false;
  std::int64_t warmup_steps = -1;
};

std::string run_line(std::string_view letter, const std::string& input, const RunSummary& run) {
  return fmt::format("{}  {} · {} · {}\n", letter, input, run.source,
                     run.name.empty() ? "no name" : run.name);
}

void add_checks(const std::vector<CompareCheck>& checks, Output& output) {
  output.json["checks"] = nlohmann::ordered_json::array();
  for (const CompareCheck& check : checks) {
    output.json["checks"].push_back(
        {{"metric", check.metric},
         {"limit_pct", check.limit_pct},
         {"difference_pct",
          check.difference_pct ? nlohmann::ordered_json(*check.difference_pct) : nullptr},
         {"rule", check.rule},
         {"passed", check.has_passed}});
    output.exit_code = check.has_passed ? output.exit_code : static_cast<int>(kCheckFailed);
  }
}

std::vector<std::string> parts_of(const std::string& by) {
  std::vector<std::string> parts;
  if (!by.empty()) {
    parts = comma_separated(by);
  }
  for (const std::string& part : parts) {
    check_word("part of a comparison", part, comparison_parts());
  }
  return parts;
}

Output run_compare(Context& context, const CompareArguments& arguments) {
  const std::vector<std::string> parts = parts_of(arguments.by);
  const std::vector<CompareLimit> limits = parse_limits(arguments.fail_above);
  const auto warmup_steps =
      arguments.warmup_steps >= 0 ? std::optional(arguments.warmup_steps) : std::nullopt;
  const CompareInput a = read_compare_input(context, arguments.a, warmup_steps);
  const CompareInput b = read_compare_input(context, arguments.b, warmup_steps);
  const Comparison comparison = compare(a.compared(), b.compared());
  const CompareNames names = names_of(comparison, arguments.a, arguments.b);
  const std::vector<std::string> sentences = comparison_sentences(comparison, names);
  const std::vector<CompareCheck> checks = check_comparison(comparison, limits);
  const std::string advice = comparison_advice(comparison, names);

  Output output;
  output.json = comparison_json(comparison);
  output.json["a"]["input"] = arguments.a;
  output.json["b"]["input"] = arguments.b;
  output.json["sentences"] = sentences;
  output.json["advice"] = nullptr;
  if (!advice.empty()) {
    output.json["advice"] = advice;
  }
  add_checks(checks, output);
  output.tables = comparison_tables(comparison, names, parts);
  output.text = run_line("A", arguments.a, comparison.a) + run_line("B", arguments.b, comparison.b);
  for (const std::string& sentence : sentences) {
    output.text += sentence + "\n";
  }
  std::string end = checks_text(checks);
  end = advice.empty() ? end : advice + "\n" + end;
  if (!end.empty() && !output.tables.empty()) {
    end.pop_back();
    std::string& note = output.tables.back().note;
    note += (note.empty() ? "\n" : "\n\n") + end;
  }
  if (!arguments.html.empty()) {
    write_file(arguments.html, comparison_page(comparison, names, sentences), arguments.force);
    context.say(fmt::format("page: {}", arguments.html));
  }
  return output;
}

}  // namespace

Run add_compare(CLI::App& app) {
  const auto arguments = std::make_shared<CompareArguments>();
  app.add_option("a", arguments->a, kCompareInputForms)->required()->type_name("RUN");
  app.add_option("b", arguments->b, "the same; differences are b - a")
      ->required()
      ->type_name("RUN");
  app.add_option("--fail-above", arguments->fail_above,
                 "exit 5 when a metric differs by more: 10%, or step_s=5% for one; repeatable")
      ->allow_extra_args(false)
      ->type_name("PERCENT");
  app.add_option(
         "--by", arguments->by,
         "only these tables, and whole: " + fmt::format("{}", fmt::join(comparison_parts(), ", ")))
      ->type_name("LIST");
  app.add_option("--html", arguments->html, "a page with all of it")->type_name("FILE");
  app.add_flag("--force", arguments->force, "replace the page if it is there");
  app.add_option("--warmup-steps", arguments->warmup_steps,
                 "steps before those that are counted, instead of what the runs say")
      ->check(CLI::Range(0, 1'000'000))
      ->type_name("N");
  return [arguments](Context& context) { return run_compare(context, *arguments); };
}

}  // namespace twinrun::cli
