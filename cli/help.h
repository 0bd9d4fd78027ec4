#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace twinrun::cli {

// What `--help` prints for the program, a verb or a subverb: usage, arguments, options, the options
// that every verb takes, examples.
std::string help_text(const CLI::App& app);

// "twinrun topo show": the words that lead to this command.
std::string called_name(const CLI::App& app);

}  // namespace twinrun::cli
