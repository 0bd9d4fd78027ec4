#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace twinrun::cli {

// What may stand where a value is expected: words, and paths.
struct CompletionValues {
  std::vector<std::string> words;
  bool files = false;
};

struct CompletionOption {
  std::vector<std::string> names;  // --format, -q
  std::string description;
  bool takes_value = false;
  CompletionValues values;
};

// One command of the program with all that can follow it; options of the commands above included.
struct CompletionNode {
  std::string path;  // "" the program, "topo", "topo show"
  std::string description;
  std::vector<std::string> commands;
  std::vector<CompletionOption> options;
  std::vector<CompletionValues> arguments;  // by position
};

// Reads the whole tree of commands, outermost first.
std::vector<CompletionNode> completion_nodes(const CLI::App& program);

std::string bash_script(const std::vector<CompletionNode>& nodes);
std::string zsh_script(const std::vector<CompletionNode>& nodes);
std::string fish_script(const std::vector<CompletionNode>& nodes);

}  // namespace twinrun::cli
