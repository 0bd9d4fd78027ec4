#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/context.h"
#include "cli/verb.h"

namespace twinrun::cli {

// The command line as a whole: the options that every verb takes, before or after its name, and the
// verbs of the table.
class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;  // the parser points at our members
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  // A text that was asked for instead of a run (--help, --version), or nothing. Throws UsageError
  // with "did you mean" for a name that does not exist.
  std::optional<std::string> parse(int argc, const char* const* argv);

  [[nodiscard]] const GlobalOptions& options() const { return options_; }
  Output run(Context& context) const { return run_(context); }

 private:
  GlobalOptions options_;
  std::unique_ptr<CLI::App> app_;
  Run run_;
};

}  // namespace twinrun::cli
