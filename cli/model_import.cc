#include <array>
#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/import_file.h"
#include "cli/model.h"
#include "core/io/huggingface.h"
#include "core/io/load_model.h"
#include "core/io/save_model.h"

namespace twinrun::cli {
namespace {

constexpr std::array<std::string_view, 1> kModelFormats = {"hf"};

struct ModelImportOptions {
  ImportFile file;
  std::string name;
};

Output import_model(Context& context, const ModelImportOptions& options) {
  check_word("format to import from", options.file.from, kModelFormats);
  Diagnostics diagnostics;
  const JsonDocument document = JsonDocument::read(context.source(options.file.file), diagnostics);
  Model model;
  if (document.root()) {
    model = read_huggingface(document.root(), 0, diagnostics);
  }
  diagnostics.throw_if_errors();
  if (!options.name.empty()) {
    model.name = options.name;
  }
  const auto read_again = [](JsonValue root, Diagnostics& complaints) -> ImportSummary {
    const Model saved = read_model(root, 0, complaints);
    return {fmt::format("{} parameters", totals_of(saved.layers).parameters), "model show"};
  };
  return write_import(context, options.file, save_model(model), diagnostics, read_again);
}

}  // namespace

Run add_model_import(CLI::App& app) {
  const auto options = std::make_shared<ModelImportOptions>();
  add_import_options(app, options->file, "hf", "its format: hf is a Hugging Face config.json");
  app.add_option("--name", options->name, "name of the model; default: the file's")
      ->type_name("NAME");
  app.add_flag("--force", options->file.force, "replace an existing file");
  return [options](Context& context) { return import_model(context, *options); };
}

}  // namespace twinrun::cli
