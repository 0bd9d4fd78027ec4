#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace twinrun {

enum class Severity { kError, kWarning };

// Where in an input. A JSON pointer is enough: line, column and source line are found by reading
// the file once more when the complaint is printed, so the happy path stores no positions.
struct Place {
  std::string file;          // as the user wrote it; "" when there is none
  std::string pointer;       // JSON pointer such as /nodes/2/count; "" is the whole document
  std::int64_t offset = -1;  // byte offset when known (syntax errors have no pointer)
  bool at_key = false;       // the complaint is about the key, not its value
};

// One complaint in the form users meet everywhere: what, where, what would be right.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string code;     // E0203, W0205; the table is core/base/diagnostic_codes.cc
  std::string message;  // what is wrong, one line
  Place place;
  std::string label;  // said beside the caret; may be empty
  std::string help;   // a concrete fix; may be empty
};

// Collects every complaint about one input. Keeps the first 20 errors and the first 20 warnings and
// counts the rest, so a file with a million mistakes costs no memory.
class Diagnostics {
 public:
  void add(Diagnostic diagnostic);
  void error(std::string code, Place place, std::string message, std::string help = {});
  void warning(std::string code, Place place, std::string message, std::string help = {});

  [[nodiscard]] bool has_errors() const { return error_count_ > 0; }
  [[nodiscard]] std::size_t error_count() const { return error_count_; }
  [[nodiscard]] std::size_t dropped() const { return dropped_; }
  [[nodiscard]] const std::vector<Diagnostic>& all() const { return kept_; }

  // Throws InputError with everything collected so far when there is at least one error.
  void throw_if_errors() const;

 private:
  std::vector<Diagnostic> kept_;
  std::size_t error_count_ = 0;
  std::size_t dropped_ = 0;
};

// An input file is wrong: exit code 3.
class InputError : public std::runtime_error {
 public:
  explicit InputError(Diagnostics diagnostics);
  [[nodiscard]] const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  Diagnostics diagnostics_;
};

// The command line is wrong: exit code 2.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& what, std::string help = {})
      : std::runtime_error(what), help_(std::move(help)) {}
  [[nodiscard]] const std::string& help() const { return help_; }

 private:
  std::string help_;
};

// The input is valid but cannot be carried out (no route, does not fit): exit code 4.
class CannotRun : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace twinrun
