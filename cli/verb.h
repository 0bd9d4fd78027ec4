#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cli/context.h"
#include "cli/output.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace twinrun::cli {

// What a verb does once its arguments are parsed.
using Run = std::function<Output(Context&)>;

// A row of the table of verbs. To add a verb: a file cli/NAME.cc with its add function, a
// declaration below, a row in cli/verbs.cc.
//
// Options say with their type name what completion offers: "a|b|c" these words, "FILE" and "DIR"
// paths, "TOPOLOGY" and "MODEL" catalogue names and paths (see cli/completion_script.cc).
struct Verb {
  std::string_view name;
  std::string_view summary;   // one line
  std::string_view examples;  // lines, shown under --help
  Run (*add)(CLI::App& app);  // adds options or subverbs, returns what to run
};

std::span<const Verb> all_verbs();

// Adds a subcommand for each row; exactly one must be given. The verbs of the program are added
// this way, and so are the subverbs of a verb (topo list | show | …).
Run add_verbs(CLI::App& app, std::span<const Verb> verbs);

// The position of a word in the list; refuses one that is not there, with "did you mean":
// UsageError.
std::size_t check_word(std::string_view what,
                       const std::string& typed,
                       std::span<const std::string_view> words);

Run add_collective(CLI::App& app);
Run add_compare(CLI::App& app);
Run add_completion(CLI::App& app);
Run add_doctor(CLI::App& app);
Run add_execute(CLI::App& app);
Run add_explain(CLI::App& app);
Run add_flows(CLI::App& app);
Run add_model(CLI::App& app);
Run add_plan(CLI::App& app);
Run add_report(CLI::App& app);
Run add_schema(CLI::App& app);
Run add_serve(CLI::App& app);
Run add_simulate(CLI::App& app);
Run add_sweep(CLI::App& app);
Run add_topo(CLI::App& app);
Run add_validate(CLI::App& app);
Run add_version(CLI::App& app);

}  // namespace twinrun::cli
