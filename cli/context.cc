#include "cli/context.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/table.h"
#include "core/io/catalogue.h"
#include "core/io/render_diagnostics.h"

namespace twinrun::cli {
namespace {

Format format_named(const std::string& word) {
  return word == "json"    ? Format::kJson
         : word == "jsonl" ? Format::kJsonl
         : word == "csv"   ? Format::kCsv
                           : Format::kTable;
}

// https://no-color.org: any value but the empty one switches colour off.
bool is_colored(const std::string& word, int descriptor) {
  if (word != "auto") {
    return word == "always";
  }
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(descriptor) != 0 && (no_color == nullptr || *no_color == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

void print_talk(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

Context::Context(const GlobalOptions& options)
    : format_(format_named(options.format)),
      quiet_(options.quiet),
      strict_(options.strict),
      colors_output_(is_colored(options.color, STDOUT_FILENO)),
      colors_talk_(is_colored(options.color, STDERR_FILENO)) {}

Source Context::source(const std::string& argument) {
  Source source = Source::of_argument(argument);
  remember(source);
  return source;
}

void Context::report(const Diagnostics& diagnostics) {
  Diagnostics shown;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    const bool is_warning = diagnostic.severity == Severity::kWarning;
    warned_ = warned_ || is_warning;
    if (!is_warning || !quiet_) {
      shown.add(diagnostic);
    }
  }
  const auto find_source = [this](const std::string& file) -> std::optional<Source> {
    const auto found = std::find_if(inputs_.begin(), inputs_.end(),
                                    [&](const Source& input) { return input.name() == file; });
    if (found != inputs_.end()) {
      return *found;
    }
    return find_source_again(file);
  };
  const std::vector<LocatedDiagnostic> located = locate(shown, find_source);
  print_talk(speaks_json() ? render_jsonl(located) : render_text(located, colors_talk_));
  if (diagnostics.dropped() > 0 && !speaks_json()) {
    print_talk(fmt::format("{} more not shown\n", diagnostics.dropped()));
  }
}

void Context::report_error(const std::string& message, const std::string& help) const {
  if (speaks_json()) {
    const nlohmann::ordered_json line = {
        {"severity", "error"}, {"code", nullptr}, {"message", message}, {"help", help}};
    print_talk(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return;
  }
  print_talk(fmt::format("{}: {}\n", painted("error", Tone::kBad, colors_talk_), message));
  if (!help.empty()) {
    print_talk(fmt::format("  help: {}\n", help));
  }
}

void Context::say(std::string_view line) const {
  if (!quiet_) {
    print_talk(fmt::format("{}\n", line));
  }
}

int Context::settle(int exit_code) const {
  return exit_code == kSuccess && strict_ && warned_ ? kInvalidInput : exit_code;
}

}  // namespace twinrun::cli
