#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/completion_script.h"
#include "cli/verb.h"

namespace twinrun::cli {
namespace {

constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};

Output completion(const CLI::App& program, const std::string& shell) {
  check_word("shell we know", shell, kShells);
  const std::vector<CompletionNode> nodes = completion_nodes(program);
  Output output;
  output.text = shell == "bash"  ? bash_script(nodes)
                : shell == "zsh" ? zsh_script(nodes)
                                 : fish_script(nodes);
  output.json = {{"shell", shell}, {"script", output.text}};
  return output;
}

}  // namespace

Run add_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();  // shared: the parser writes, the run reads
  app.add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("bash|zsh|fish");
  const CLI::App* program = app.get_parent();  // complete by the time it runs
  return [program, shell](Context& /*context*/) { return completion(*program, *shell); };
}

}  // namespace twinrun::cli
