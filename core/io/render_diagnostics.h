#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/io/source.h"

namespace twinrun {

// A complaint with its place looked up in the text.
struct LocatedDiagnostic {
  Diagnostic diagnostic;
  std::size_t line = 0;             // from 1; 0 when there is no text to point at
  std::size_t column = 0;           // from 1, in characters, not bytes
  std::size_t width = 1;            // how many characters the carets cover
  std::string source_line;          // of a long line only the part around the column
  std::size_t byte = 0;             // where in source_line the column is
  bool line_begins_before = false;  // the front of the line is left out
};

// Finds a named input again, to show a line of it. Nothing when it cannot be had.
using FindSource = std::function<std::optional<Source>(const std::string& file)>;

// Reads each file named by the complaints once more and fills in line, column and pointer.
std::vector<LocatedDiagnostic> locate(const Diagnostics& diagnostics,
                                      const FindSource& find_source);

// For people:
//   error[E0203]: "count" must be at least 1, is -4
//     --> cluster.json:7:31  (/nodes/dgx-a100)
//      7 |   "nodes": { "dgx-a100": -4 }
//        |                          ^^
//     help: …
//     see: twinrun explain E0203
std::string render_text(const std::vector<LocatedDiagnostic>& located, bool color);

// For programs: one JSON object {severity, code, message, file, line, column, pointer, help} a
// line.
std::string render_jsonl(const std::vector<LocatedDiagnostic>& located);

}  // namespace twinrun
