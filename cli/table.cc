#include "cli/table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twinrun::cli {
namespace {

using Value = Cell::Value;

bool is_absent(const Value& value) {
  const double* number = std::get_if<double>(&value);
  return std::holds_alternative<std::monostate>(value) ||
         (number != nullptr && !std::isfinite(*number));
}

// Numbers in full precision: what programs read.
std::string exact_text(const Value& value) {
  if (is_absent(value)) {
    return "";
  }
  if (const bool* truth = std::get_if<bool>(&value)) {
    return *truth ? "true" : "false";
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*integer);
  }
  if (const double* number = std::get_if<double>(&value)) {
    return fmt::format("{}", *number);
  }
  return std::get<std::string>(value);
}

std::string text_for_people(const Cell& cell, const Column& column) {
  if (!cell.shown.empty()) {
    return cell.shown;
  }
  if (is_absent(cell.value)) {
    return "-";
  }
  if (const bool* truth = std::get_if<bool>(&cell.value)) {
    return *truth ? "yes" : "no";
  }
  const double* number = std::get_if<double>(&cell.value);
  if (number != nullptr) {
    return column.decimals >= 0 ? fmt::format("{:.{}f}", *number, column.decimals)
                                : fmt::format("{:.6g}", *number);
  }
  return exact_text(cell.value);
}

nlohmann::ordered_json value_as_json(const Value& value) {
  if (is_absent(value)) {
    return nullptr;
  }
  return std::visit(
      [](const auto& held) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (char c : text) {
    quoted += c;
    if (c == '"') {
      quoted += '"';
    }
  }
  return quoted + '"';
}

struct Field {
  std::string text;
  Tone tone = Tone::kPlain;
  Align align = Align::kLeft;
};
using Line = std::vector<Field>;

void print_line(std::string& out,
                const Line& line,
                const std::vector<std::size_t>& widths,
                bool color) {
  std::string pending;  // blanks wait until something follows them
  for (std::size_t c = 0; c < line.size(); ++c) {
    const Field& field = line[c];
    const std::string blanks(widths[c] - shown_width(field.text), ' ');
    const bool right = field.align == Align::kRight;
    if (right) {
      pending += blanks;
    }
    if (!field.text.empty()) {
      out += pending + painted(field.text, field.tone, color);
      pending.clear();
    }
    pending += (right ? "" : blanks) + "  ";
  }
  out += '\n';
}

std::vector<Line> lines_of(const Table& table) {
  std::vector<Line> lines(table.rows.size() + (table.has_header ? 1 : 0));
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    if (column.only_for_programs) {
      continue;
    }
    auto line = lines.begin();
    if (table.has_header) {
      const std::string& title = column.title.empty() ? column.name : column.title;
      (line++)->push_back({title, Tone::kFaint, column.align});
    }
    for (const std::vector<Cell>& row : table.rows) {
      const Cell cell = c < row.size() ? row[c] : Cell({}, " ");
      (line++)->push_back({text_for_people(cell, column), cell.tone, column.align});
    }
  }
  return lines;
}

}  // namespace

std::size_t shown_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not the rest of a character
  }));
}

std::string painted(std::string_view text, Tone tone, bool color) {
  if (!color || tone == Tone::kPlain) {
    return std::string(text);
  }
  const std::string_view code = tone == Tone::kGood      ? "32"
                                : tone == Tone::kWarning ? "1;33"
                                : tone == Tone::kBad     ? "1;31"
                                                         : "2";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string to_text(const Table& table, bool color) {
  const std::vector<Line> lines = lines_of(table);
  std::vector<std::size_t> widths;
  for (const Line& line : lines) {
    widths.resize(line.size(), 0);
    for (std::size_t c = 0; c < line.size(); ++c) {
      widths[c] = std::max(widths[c], shown_width(line[c].text));
    }
  }
  std::string out = table.title.empty() ? "" : table.title + "\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    print_line(out, lines[i], widths, color);
    if (i == 0 && table.has_header && table.has_rule) {
      std::size_t total = widths.empty() ? 0 : 2 * (widths.size() - 1);
      for (std::size_t width : widths) {
        total += width;
      }
      out += std::string(total, '-') + "\n";
    }
  }
  return table.note.empty() ? out : out + table.note + "\n";
}

std::string to_csv(const Table& table) {
  std::string out;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    out += c == 0 ? "" : ",";
    out += csv_field(table.columns[c].name);
  }
  out += '\n';
  for (const std::vector<Cell>& row : table.rows) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      out += c == 0 ? "" : ",";
      out += c < row.size() ? csv_field(exact_text(row[c].value)) : "";
    }
    out += '\n';
  }
  return out;
}

nlohmann::ordered_json to_json(const Table& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const std::vector<Cell>& row : table.rows) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t c = 0; c < row.size() && c < table.columns.size(); ++c) {
      object[table.columns[c].name] = value_as_json(row[c].value);
    }
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace twinrun::cli
