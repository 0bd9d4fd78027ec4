#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/io/source.h"

namespace twinrun::cli {

enum class Format { kTable, kJson, kJsonl, kCsv };

// What the options that every verb takes say. Words as typed; main turns them into a Context.
struct GlobalOptions {
  std::string format = "table";
  std::string color = "auto";
  bool quiet = false;
  bool strict = false;
};

// Exit codes that people script against; the whole list is in `twinrun --help`.
enum ExitCode : int {
  kSuccess = 0,
  kFailure = 1,
  kWrongUsage = 2,
  kInvalidInput = 3,
  kCannotRun = 4,
  kCheckFailed = 5,
  kMissing = 6,
  kPartial = 7,
  kTimedOut = 124,
  kInterrupted = 130,
  kTerminated = 143,
};

// What a verb may know of the world around it: how to speak, where inputs come from. Results are
// returned (cli/output.h), never printed; talk goes to standard error through this.
class Context {
 public:
  Context() = default;
  explicit Context(const GlobalOptions& options);

  [[nodiscard]] Format format() const { return format_; }
  [[nodiscard]] bool is_quiet() const { return quiet_; }
  [[nodiscard]] bool colors_output() const { return colors_output_; }
  [[nodiscard]] bool speaks_json() const {
    return format_ == Format::kJson || format_ == Format::kJsonl;
  }

  // An input named on the command line ("-" is standard input), remembered so that a complaint can
  // show its lines.
  Source source(const std::string& argument);
  // The same for an input that has no file: a catalogue entry, an expression.
  void remember(const Source& source) { inputs_.push_back(source); }

  // Prints every complaint. Warnings are not printed with --quiet, but --strict counts them.
  void report(const Diagnostics& diagnostics);
  // error: <message> and its help, for errors that have no place in a file.
  void report_error(const std::string& message, const std::string& help = {}) const;
  // A line of talk; nothing with --quiet.
  void say(std::string_view line) const;

  // The exit code after --strict has had its say about warnings.
  [[nodiscard]] int settle(int exit_code) const;

 private:
  Format format_ = Format::kTable;
  bool quiet_ = false;
  bool strict_ = false;
  bool colors_output_ = false;
  bool colors_talk_ = false;
  bool warned_ = false;
  std::vector<Source> inputs_;
};

}  // namespace twinrun::cli
