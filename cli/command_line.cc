#include "cli/command_line.h"

#include <algorithm>
#include <array>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/build_info.h"
#include "cli/help.h"
#include "core/base/did_you_mean.h"

namespace twinrun::cli {
namespace {

constexpr std::array<std::string_view, 4> kFormats = {"table", "json", "jsonl", "csv"};
constexpr std::array<std::string_view, 3> kColors = {"auto", "always", "never"};

constexpr std::string_view kExamples =
    "twinrun topo show dgx-a100              a machine: tree, matrix, bisection\n"
    "twinrun topo paths pcie-8gpu gpu0 gpu7  the way between two GPUs and its bottleneck\n"
    "twinrun plan validate step.json         everything wrong with a plan, before it runs\n"
    "twinrun schema topology                 how a topology file is written\n"
    "twinrun doctor --format json            any answer for a program";

// The verb and subverb that were parsed, outermost first.
std::vector<const CLI::App*> parsed_way(const CLI::App& app) {
  std::vector<const CLI::App*> way = {&app};
  while (!way.back()->get_subcommands().empty()) {
    way.push_back(way.back()->get_subcommands().front());
  }
  return way;
}

void add_once(std::vector<std::string>& names, std::string name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    names.push_back(std::move(name));
  }
}

std::vector<std::string> option_names(const std::vector<const CLI::App*>& way) {
  std::vector<std::string> names;
  for (auto app = way.rbegin(); app != way.rend(); ++app) {
    for (const CLI::Option* option : (*app)->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        add_once(names, fmt::format("--{}", name));
      }
    }
  }
  return names;
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) {
    names.push_back(verb->get_name());
  }
  return names;
}

[[noreturn]] void refuse_argument(const std::vector<const CLI::App*>& way,
                                  const std::vector<std::string>& extras) {
  const auto option = std::find_if(extras.begin(), extras.end(),
                                   [](const std::string& extra) { return extra.starts_with("-"); });
  if (option != extras.end()) {
    const std::string name = option->substr(0, option->find('='));
    throw UsageError(fmt::format("unknown option {}", name), did_you_mean(name, option_names(way)));
  }
  const CLI::App& last = *way.back();
  if (!last.get_subcommands({}).empty()) {
    throw UsageError(fmt::format("unknown command {}", extras.front()),
                     did_you_mean(extras.front(), verb_names(last)));
  }
  throw UsageError(fmt::format("one argument too many: {}", extras.front()),
                   fmt::format("see {} --help", called_name(last)));
}

[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<const CLI::App*> way = parsed_way(app);
  const std::vector<std::string> extras = app.remaining(true);
  if (!extras.empty()) {
    refuse_argument(way, extras);
  }
  const CLI::App& last = *way.back();
  if (!last.get_subcommands({}).empty()) {
    const std::vector<std::string> verbs = verb_names(last);
    throw UsageError(
        fmt::format("{} needs a command", called_name(last)),
        fmt::format("one of {}; see {} --help", fmt::join(verbs, ", "), called_name(last)));
  }
  throw UsageError(error.what(), fmt::format("see {} --help", called_name(last)));
}

}  // namespace

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>(
          "One plan, two runs: simulate and execute distributed training, and compare.",
          "twinrun")) {
  app_->fallthrough();  // verbs inherit it: --format may stand before or after the verb
  app_->set_help_flag("-h,--help", "this text; after a verb, the verb's");
  app_->set_version_flag("--version", fmt::format("twinrun {}", kVersion), "the version");
  app_->add_option("--format", options_.format, "form of the result")
      ->type_name("table|json|jsonl|csv");
  app_->add_option("--color", options_.color,
                   "colours; auto: on a terminal, unless NO_COLOR is set")
      ->type_name("auto|always|never");
  app_->add_flag("-q,--quiet", options_.quiet, "say nothing on standard error except errors");
  app_->add_flag("--strict", options_.strict, "warnings make the exit code 3");
  app_->footer(std::string(kExamples));
  run_ = add_verbs(*app_, all_verbs());
}

CommandLine::~CommandLine() = default;

std::optional<std::string> CommandLine::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return help_text(*parsed_way(*app_).back());
  } catch (const CLI::CallForVersion& version) {
    return fmt::format("{}\n", version.what());
  } catch (const CLI::ParseError& error) {
    refuse(*app_, error);
  }
  check_word("--format", options_.format, kFormats);
  check_word("--color", options_.color, kColors);
  return std::nullopt;
}

}  // namespace twinrun::cli
