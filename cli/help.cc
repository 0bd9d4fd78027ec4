#include "cli/help.h"

#include <sstream>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/table.h"

namespace twinrun::cli {
namespace {

constexpr const char* kExitCodes =
    "Exit codes:\n"
    "  0 success · 1 failure · 2 wrong command line · 3 invalid input file · 4 valid but cannot "
    "run\n"
    "  5 a requested check failed · 6 hardware or library missing · 7 partial result · 124 "
    "timeout\n";

std::string option_left_side(const CLI::Option& option) {
  if (option.get_positional()) {
    return option.get_name(true);
  }
  std::string left;
  for (const std::string& name : option.get_snames()) {
    left += fmt::format("-{}, ", name);
  }
  for (const std::string& name : option.get_lnames()) {
    left += fmt::format("--{}, ", name);
  }
  left.resize(left.size() - 2);
  const bool is_flag = option.get_items_expected_max() == 0;
  return is_flag ? left : fmt::format("{} {}", left, option.get_type_name());
}

// Two columns under a heading, or nothing when there are no rows.
std::string section(const std::string& heading, std::vector<std::vector<Cell>> rows) {
  if (rows.empty()) {
    return "";
  }
  for (std::vector<Cell>& row : rows) {
    row.front() = fmt::format("  {}", std::get<std::string>(row.front().value));
  }
  Table table;
  table.title = fmt::format("\n{}:", heading);
  table.columns = {{"name"}, {"meaning"}};
  table.rows = std::move(rows);
  table.has_header = false;
  return to_text(table, false);
}

std::vector<std::vector<Cell>> option_rows(const CLI::App& app, bool positional) {
  std::vector<std::vector<Cell>> rows;
  for (const CLI::Option* option : app.get_options()) {
    const bool is_help = option == app.get_help_ptr() && app.get_parent() != nullptr;
    if (option->get_positional() == positional && !is_help) {
      rows.push_back({option_left_side(*option), option->get_description()});
    }
  }
  return rows;
}

std::string usage(const CLI::App& app) {
  std::string line = called_name(app);
  if (!app.get_subcommands({}).empty()) {
    line += " COMMAND …";
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      const bool many = option->get_items_expected_max() > 1;
      const std::string name = option->get_name(true) + (many ? "…" : "");
      line += option->get_required() ? fmt::format(" {}", name) : fmt::format(" [{}]", name);
    }
  }
  return line + " [options]";
}

std::string indented(const std::string& lines) {
  std::istringstream in(lines);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    out += fmt::format("  {}\n", line);
  }
  return out;
}

}  // namespace

std::string called_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : called_name(*parent) + " " + app.get_name();
}

std::string help_text(const CLI::App& app) {
  const CLI::App* root = &app;
  while (root->get_parent() != nullptr) {
    root = root->get_parent();
  }
  std::vector<std::vector<Cell>> commands;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands.push_back({command->get_name(), command->get_description()});
  }
  std::string out = fmt::format("{}\n\nUsage: {}\n", app.get_description(), usage(app));
  out += section("Commands", std::move(commands));
  out += section("Arguments", option_rows(app, true));
  if (root != &app) {
    out += section("Options", option_rows(app, false));
  }
  out += section("Options of every command", option_rows(*root, false));
  const std::string examples = app.get_footer();
  const bool one = examples.find('\n') == std::string::npos;
  out += fmt::format("\n{}:\n{}", one ? "Example" : "Examples", indented(examples));
  return root == &app ? fmt::format("{}\n{}", out, kExitCodes) : out;
}

}  // namespace twinrun::cli
