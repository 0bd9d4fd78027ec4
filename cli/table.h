#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace twinrun::cli {

// How a cell is coloured on a terminal; says nothing elsewhere.
enum class Tone { kPlain, kGood, kWarning, kBad, kFaint };

// One value of a table: what programs read (value) and what people read (shown; made from the value
// when empty). Nothing (std::monostate) and numbers that are not finite are null in JSON, empty in
// CSV and "-" on the terminal.
struct Cell {
  using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

  Cell() = default;
  Cell(bool truth) : value(truth) {}                 // NOLINT: a row is a list
  Cell(int number) : value(std::int64_t{number}) {}  // NOLINT: of plain values,
  Cell(std::int64_t number) : value(number) {}       // NOLINT: so these convert
  Cell(std::size_t number) : value(static_cast<std::int64_t>(number)) {}  // NOLINT: silently
  Cell(double number) : value(number) {}                                  // NOLINT
  Cell(std::string text) : value(std::move(text)) {}                      // NOLINT
  Cell(std::string_view text) : value(std::string(text)) {}               // NOLINT
  Cell(const char* text) : value(std::string(text)) {}                    // NOLINT
  // A number for programs with its own text for people: Cell(25e9, "25 GB/s").
  Cell(Value exact, std::string text, Tone how = Tone::kPlain)
      : value(std::move(exact)), shown(std::move(text)), tone(how) {}

  Value value;
  std::string shown;
  Tone tone = Tone::kPlain;
};

enum class Align { kLeft, kRight };

struct Column {
  std::string name;        // of the CSV column and JSON key: bandwidth_GBps
  std::string title = {};  // over the column on the terminal: "GB/s"; the name when empty
  Align align = Align::kLeft;
  int decimals = -1;               // of a number without its own text; -1: as many as it needs
  bool only_for_programs = false;  // not shown on the terminal
};

struct Table {
  std::string title;  // a line above; may be empty
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::string note;        // a line below; may be empty
  bool has_header = true;  // false: a list of facts
  bool has_rule = false;   // a line between header and rows
};

// Columns two blanks apart, numbers where the column says, no blanks at line ends.
std::string to_text(const Table& table, bool color);
// RFC 4180: header and rows, CRLF left out as every tool of the field does.
std::string to_csv(const Table& table);
// [{name: value, …}, …]
nlohmann::ordered_json to_json(const Table& table);

// Characters a terminal shows for UTF-8 text (µ and · are one each).
std::size_t shown_width(std::string_view text);

// Wraps text in the escape codes of a tone, or leaves it when color is off.
std::string painted(std::string_view text, Tone tone, bool color);

}  // namespace twinrun::cli
