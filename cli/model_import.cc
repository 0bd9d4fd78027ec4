#include <array>
#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/model.h"
#include "cli/model_input.h"
#include "core/io/huggingface.h"
#include "core/io/load_model.h"
#include "core/io/save_model.h"
#include "core/io/source.h"

namespace twinrun::cli {
namespace {

constexpr std::array<std::string_view, 1> kModelFormats = {"hf"};

struct ModelImportOptions {
  std::string file;
  std::string from;
  std::string out = "-";
  std::string name;
  bool force = false;
};

Output import_model(Context& context, const ModelImportOptions& options) {
  check_word("format to import from", options.from, kModelFormats);
  Diagnostics diagnostics;
  const JsonDocument document = JsonDocument::read(context.source(options.file), diagnostics);
  Model model;
  if (document.root()) {
    model = read_huggingface(document.root(), 0, diagnostics);
  }
  diagnostics.throw_if_errors();
  if (!options.name.empty()) {
    model.name = options.name;
  }
  const std::string text = save_model(model);
  // What is written is read again as any user would, so that a file that leaves here is a good one.
  const Source written = Source::of_text(options.out, text);
  context.remember(written);
  const JsonDocument again = JsonDocument::read(written, diagnostics);
  const Model saved = read_model(again.root(), 0, diagnostics);
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  Output output;
  output.json = nlohmann::ordered_json::parse(text);
  if (options.out == "-") {
    output.text = text;
    return output;
  }
  write_file(options.out, text, options.force);
  context.say(fmt::format("wrote {}: {} parameters; look at it with: twinrun model show {}",
                          options.out, totals_of(saved.layers).parameters, options.out));
  return output;
}

}  // namespace

Run add_model_import(CLI::App& app) {
  const auto options = std::make_shared<ModelImportOptions>();
  app.add_option("file", options->file, "the file to read, or - for standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--from", options->from, "its format: hf is a Hugging Face config.json")
      ->required()
      ->type_name("hf");
  app.add_option("-o,--output", options->out, "where to write the JSON; default: standard output")
      ->type_name("FILE");
  app.add_option("--name", options->name, "name of the model; default: the file's")
      ->type_name("NAME");
  app.add_flag("--force", options->force, "replace an existing file");
  return [options](Context& context) { return import_model(context, *options); };
}

}  // namespace twinrun::cli
