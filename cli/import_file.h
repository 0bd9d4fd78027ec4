#pragma once

#include <functional>
#include <string>

#include "cli/context.h"
#include "cli/output.h"
#include "core/base/diagnostics.h"
#include "core/io/json_document.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace twinrun::cli {

// What every import is told: what to read, where to write our JSON.
struct ImportFile {
  std::string file;
  std::string from;  // its format
  std::string out = "-";
  bool force = false;
};

void add_import_options(CLI::App& app,
                        ImportFile& file,
                        const std::string& formats,
                        const std::string& about_formats);

// Reads what is about to be written and says in words what it holds, and which command shows it.
struct ImportSummary {
  std::string holds;     // "25557032 parameters"
  std::string shown_by;  // "model show"
};
using ReadAgain = std::function<ImportSummary(JsonValue root, Diagnostics& diagnostics)>;

// The end of an import. The text is read again as any user would, so that a file that leaves here
// is a good one; complaints of both readings are thrown or reported; then it is written, or is the
// output when that is where it goes.
Output write_import(Context& context,
                    const ImportFile& file,
                    const std::string& text,
                    Diagnostics& diagnostics,
                    const ReadAgain& read_again);

}  // namespace twinrun::cli
