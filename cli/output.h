#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/context.h"
#include "cli/table.h"

namespace twinrun::cli {

// What a verb answers, in every form at once; main prints the form that --format names.
//
//   table   text, then each table, a blank line between
//   csv     the first table (the main one); text when there is none
//   json    json
//   jsonl   a version line; then, when rows_key names an array of json, one object for each of its
//           elements ({"type":"row", …}) and the other keys as {"type":"result", …}
struct Output {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  std::string rows_key;
  std::string text;
  std::vector<Table> tables;
  int exit_code = 0;  // not 0 when the answer is "no": a requested check failed (5), partial (7)
};

std::string render(const Output& output, Format format, bool color);

// The first line of every stream of JSON lines.
std::string version_line();

}  // namespace twinrun::cli
