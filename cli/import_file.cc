#include "cli/import_file.h"

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "core/io/source.h"

namespace twinrun::cli {

void add_import_options(CLI::App& app,
                        ImportFile& file,
                        const std::string& formats,
                        const std::string& about_formats) {
  app.add_option("file", file.file, "the file to read, or - for standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--from", file.from, about_formats)->required()->type_name(formats);
  app.add_option("-o,--output", file.out, "where to write the JSON; default: standard output")
      ->type_name("FILE");
}

Output write_import(Context& context,
                    const ImportFile& file,
                    const std::string& text,
                    Diagnostics& diagnostics,
                    const ReadAgain& read_again) {
  const Source written = Source::of_text(file.out, text);
  context.remember(written);
  const JsonDocument document = JsonDocument::read(written, diagnostics);
  const ImportSummary summary = read_again(document.root(), diagnostics);
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  Output output;
  output.json = nlohmann::ordered_json::parse(text);
  if (file.out == "-") {
    output.text = text;
    return output;
  }
  write_file(file.out, text, file.force);
  context.say(fmt::format("wrote {}: {}; look at it with: twinrun {} {}", file.out, summary.holds,
                          summary.shown_by, file.out));
  return output;
}

}  // namespace twinrun::cli
