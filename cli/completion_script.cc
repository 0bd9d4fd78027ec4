#include "cli/completion_script.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "core/io/embedded.h"
#include "core/model/catalogue.h"

namespace twinrun::cli {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return parts;
}

// topologies/dgx-a100.json -> dgx-a100
std::vector<std::string> catalogue_topologies() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_topologies()) {
    const std::size_t begin = file.name.rfind('/') + 1;
    names.emplace_back(file.name.substr(begin, file.name.rfind('.') - begin));
  }
  return names;
}

std::vector<std::string> catalogue_model_names() {
  std::vector<std::string> names;
  for (const CatalogueModel& entry : catalogue_models()) {
    names.push_back(entry.name);
  }
  return names;
}

// The type name of an option says what it takes; see cli/verb.h.
CompletionValues values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type == "FILE" || type == "DIR") {
    return {{}, true};
  }
  if (type == "TOPOLOGY") {
    return {catalogue_topologies(), true};
  }
  if (type == "MODEL") {
    return {catalogue_model_names(), true};
  }
  if (type.find('|') != std::string::npos) {
    return {split(type, '|'), false};
  }
  return {};
}

CompletionOption completion_option(const CLI::Option& option) {
  CompletionOption out;
  for (const std::string& name : option.get_lnames()) {
    out.names.push_back(fmt::format("--{}", name));
  }
  for (const std::string& name : option.get_snames()) {
    out.names.push_back(fmt::format("-{}", name));
  }
  out.description = option.get_description();
  out.takes_value = option.get_items_expected_max() > 0;
  out.values = values_of(option);
  return out;
}

bool is_listed(const CompletionNode& node, const CompletionOption& option) {
  return std::any_of(node.options.begin(), node.options.end(),
                     [&](const CompletionOption& one) { return one.names == option.names; });
}

// An option of the verb itself or of a level above it, whose positional arguments are not the
// verb's.
void add_option(CompletionNode& node, const CLI::Option& option, bool is_own) {
  if (option.get_positional()) {
    if (is_own) {
      node.arguments.push_back(values_of(option));
    }
  } else if (CompletionOption made = completion_option(option); !is_listed(node, made)) {
    node.options.push_back(std::move(made));
  }
}

void add_nodes(const CLI::App& app, const std::string& path, std::vector<CompletionNode>& nodes) {
  CompletionNode node;
  node.path = path;
  node.description = app.get_description();
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      add_option(node, *option, level == &app);
    }
  }
  const std::vector<const CLI::App*> commands = app.get_subcommands({});
  for (const CLI::App* command : commands) {
    node.commands.push_back(command->get_name());
  }
  nodes.push_back(std::move(node));
  for (const CLI::App* command : commands) {
    add_nodes(*command, path.empty() ? command->get_name() : path + " " + command->get_name(),
              nodes);
  }
}

std::vector<std::string> option_names(const CompletionNode& node) {
  std::vector<std::string> names;
  for (const CompletionOption& option : node.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) {
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

// Every option value and positional argument, as rows of a shell `case`.
std::string value_cases(const CompletionNode& node) {
  std::string out;
  for (const CompletionOption& option : node.options) {
    if (option.takes_value) {
      out += fmt::format("        {}) offered={} files={} ;;\n", fmt::join(option.names, "|"),
                         quoted(fmt::format("{}", fmt::join(option.values.words, " "))),
                         option.values.files ? 1 : 0);
    }
  }
  return out;
}

std::string argument_words(const CompletionNode& node) {
  std::vector<std::string> words = node.commands;
  for (const CompletionValues& argument : node.arguments) {
    words.insert(words.end(), argument.words.begin(), argument.words.end());
  }
  return fmt::format("{}", fmt::join(words, " "));
}

bool takes_files(const CompletionNode& node) {
  return std::any_of(node.arguments.begin(), node.arguments.end(),
                     [](const CompletionValues& argument) { return argument.files; });
}

// The body that bash and zsh share: finds the command in the words before the cursor, then sets
// `offered` (candidates) and `files` (1 when paths fit) for the word under the cursor.
std::string shared_body(const std::vector<CompletionNode>& nodes) {
  std::string steps;
  std::string cases;
  for (const CompletionNode& node : nodes) {
    if (!node.path.empty()) {
      steps += fmt::format(
          "      {}) place={} ;;\n",
          quoted(node.path.find(' ') == std::string::npos ? fmt::format(" {}", node.path)
                                                          : node.path),
          quoted(node.path));
    }
    cases += fmt::format(
        "    {})\n      case \"$previous\" in\n{}        *)\n          case \"$current\" in\n"
        "            -*) offered={} ;;\n            *) offered={} files={} ;;\n          esac ;;\n"
        "      esac ;;\n",
        quoted(node.path), value_cases(node),
        quoted(fmt::format("{}", fmt::join(option_names(node), " "))), quoted(argument_words(node)),
        takes_files(node) ? 1 : 0);
  }
  return fmt::format(
      "  for word in \"${{before[@]}}\"; do\n    case \"$place $word\" in\n{}    esac\n  done\n"
      "  case \"$place\" in\n{}  esac\n",
      steps, cases);
}

}  // namespace

std::vector<CompletionNode> completion_nodes(const CLI::App& program) {
  std::vector<CompletionNode> nodes;
  add_nodes(program, "", nodes);
  return nodes;
}

std::string bash_script(const std::vector<CompletionNode>& nodes) {
  return fmt::format(
      "# bash completion of twinrun; load with: source <(twinrun completion bash)\n"
      "_twinrun() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  local before=(\"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\") word place= offered= files=0\n"
      "{}"
      "  COMPREPLY=($(compgen -W \"$offered\" -- \"$current\"))\n"
      "  if [ \"$files\" = 1 ]; then\n"
      "    local IFS=$'\\n'\n"
      "    COMPREPLY+=($(compgen -f -- \"$current\"))\n"
      "    compopt -o filenames 2>/dev/null\n"
      "  fi\n"
      "}}\n"
      "complete -F _twinrun twinrun\n",
      shared_body(nodes));
}

std::string zsh_script(const std::vector<CompletionNode>& nodes) {
  return fmt::format(
      "#compdef twinrun\n"
      "# zsh completion of twinrun; put it as _twinrun into a folder of $fpath\n"
      "_twinrun() {{\n"
      "  local current=\"${{words[CURRENT]}}\" previous=\"${{words[CURRENT-1]}}\"\n"
      "  local -a before candidates\n"
      "  before=(\"${{(@)words[2,CURRENT-1]}}\")\n"
      "  local word place= offered= files=0\n"
      "{}"
      "  candidates=(${{=offered}})\n"
      "  (( ${{#candidates}} )) && compadd -- \"${{candidates[@]}}\"\n"
      "  [ \"$files\" = 1 ] && _files\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = _twinrun ]; then _twinrun \"$@\"; else compdef _twinrun twinrun; "
      "fi\n",
      shared_body(nodes));
}

namespace {

std::string fish_values(const CompletionValues& values) {
  std::string out;
  if (!values.words.empty()) {
    out += fmt::format(" -a {}", quoted(fmt::format("{}", fmt::join(values.words, " "))));
  }
  return out + (values.files ? " -F" : "");
}

std::string fish_option(const std::string& condition, const CompletionOption& option) {
  std::string line = fmt::format("complete -c twinrun -n {}", quoted(condition));
  for (const std::string& name : option.names) {
    line += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                   : fmt::format(" -s {}", name.substr(1));
  }
  line += option.takes_value ? fmt::format(" -r{}", fish_values(option.values)) : "";
  return fmt::format("{} -d {}\n", line, quoted(option.description));
}

std::string fish_node(const CompletionNode& node, const std::vector<CompletionNode>& nodes) {
  const std::string condition = fmt::format("__twinrun_at {}", quoted(node.path));
  std::string out;
  for (const CompletionNode& other : nodes) {
    const std::size_t cut = other.path.rfind(' ');
    const std::string parent = cut == std::string::npos ? "" : other.path.substr(0, cut);
    if (!other.path.empty() && parent == node.path) {
      out += fmt::format("complete -c twinrun -n {} -a {} -d {}\n", quoted(condition),
                         quoted(other.path.substr(cut == std::string::npos ? 0 : cut + 1)),
                         quoted(other.description));
    }
  }
  for (const CompletionValues& argument : node.arguments) {
    if (!argument.words.empty() || argument.files) {
      out += fmt::format("complete -c twinrun -n {}{}\n", quoted(condition), fish_values(argument));
    }
  }
  for (const CompletionOption& option : node.options) {
    out += fish_option(condition, option);
  }
  return out;
}

}  // namespace

std::string fish_script(const std::vector<CompletionNode>& nodes) {
  std::string steps;
  std::string lines;
  for (const CompletionNode& node : nodes) {
    if (!node.path.empty()) {
      steps += fmt::format(
          "            case {}\n                set path {}\n",
          quoted(node.path.find(' ') == std::string::npos ? fmt::format(" {}", node.path)
                                                          : node.path),
          quoted(node.path));
    }
    lines += fish_node(node, nodes);
  }
  return fmt::format(
      "# fish completion of twinrun; save as ~/.config/fish/completions/twinrun.fish\n"
      "function __twinrun_at --description 'true when the words so far name this command'\n"
      "    set -l path ''\n"
      "    for word in (commandline -opc)[2..-1]\n"
      "        switch \"$path $word\"\n{}        end\n    end\n"
      "    test \"$path\" = \"$argv[1]\"\n"
      "end\n"
      "complete -c twinrun -f\n{}",
      steps, lines);
}

}  // namespace twinrun::cli
