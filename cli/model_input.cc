#include "cli/model_input.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/io/load_model.h"

namespace twinrun::cli {

Model load_model(Context& context, const std::string& argument, std::int64_t sequence) {
  Diagnostics diagnostics;
  Model model;
  if (argument == "-") {
    const JsonDocument document = JsonDocument::read(context.source(argument), diagnostics);
    model = read_model(document.root(), sequence, diagnostics);
  } else {
    model = read_model_argument(argument, sequence, diagnostics);
  }
  if (sequence > 0 && !diagnostics.has_errors() && !model.transformer) {
    diagnostics.warning("W0701", {},
                        fmt::format("--seq has no effect: {} is no transformer", argument),
                        "leave it out");
  }
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  return model;
}

std::string short_count(double count) {
  constexpr std::array<std::string_view, 7> kSuffixes = {"", " k", " M", " G", " T", " P", " E"};
  std::size_t suffix = 0;
  while (count >= 999.5 && suffix + 1 < kSuffixes.size()) {
    count /= 1000;
    ++suffix;
  }
  const int decimals = suffix == 0 || count >= 99.95 ? 0 : count >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", count, decimals, kSuffixes[suffix]);
}

}  // namespace twinrun::cli
