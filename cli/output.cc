#include "cli/output.h"

#include <fmt/format.h>

#include "cli/build_info.h"

namespace twinrun::cli {
namespace {

using nlohmann::ordered_json;

// Bytes that are not UTF-8 (a file name may hold any) are replaced, never thrown about.
std::string dumped(const ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ordered_json with_type(std::string_view type, const ordered_json& json) {
  ordered_json typed = {{"type", type}};
  if (json.is_object()) {
    typed.update(json);
  } else {
    typed["value"] = json;
  }
  return typed;
}

std::string as_table(const Output& output, bool color) {
  std::string out = output.text;
  for (const Table& table : output.tables) {
    out += out.empty() ? "" : "\n";
    out += to_text(table, color);
  }
  return out;
}

std::string as_json_lines(const Output& output) {
  std::string out = version_line();
  ordered_json rest = output.json;
  if (!output.rows_key.empty() && output.json.contains(output.rows_key)) {
    for (const ordered_json& row : output.json[output.rows_key]) {
      out += dumped(with_type("row", row), -1);
    }
    rest.erase(output.rows_key);
  }
  return rest.empty() ? out : out + dumped(with_type("result", rest), -1);
}

}  // namespace

std::string version_line() {
  return dumped(
      {{"type", "version"}, {"tool", "twinrun"}, {"version", kVersion}, {"schema", "1.0"}}, -1);
}

std::string render(const Output& output, Format format, bool color) {
  switch (format) {
    case Format::kTable:
      return as_table(output, color);
    case Format::kJson:
      return dumped(output.json, 2);
    case Format::kJsonl:
      return as_json_lines(output);
    case Format::kCsv:
      return output.tables.empty() ? output.text : to_csv(output.tables.front());
  }
  return "";
}

}  // namespace twinrun::cli
