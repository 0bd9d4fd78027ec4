#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/verb.h"
#include "core/base/did_you_mean.h"
#include "core/io/embedded.h"

namespace twinrun::cli {
namespace {

// core/io/schemas/plan.json -> plan
std::string schema_name(const EmbeddedFile& file) {
  const std::string_view path = file.name;
  const std::size_t begin = path.rfind('/') + 1;
  return std::string(path.substr(begin, path.rfind('.') - begin));
}

Output list_schemas() {
  Output output;
  output.rows_key = "schemas";
  Table table;
  table.columns = {{"name"}, {"about"}};
  for (const EmbeddedFile& file : embedded_schemas()) {
    const auto schema = nlohmann::json::parse(file.text, nullptr, false);
    const bool described = schema.is_object() && schema.contains("title");
    table.rows.push_back(
        {schema_name(file), described ? Cell(schema["title"].get<std::string>()) : Cell({}, "")});
  }
  table.note = "\nprint one with: twinrun schema NAME";
  output.json["schemas"] = to_json(table);
  output.tables.push_back(std::move(table));
  return output;
}

Output schema(const std::string& name) {
  if (name.empty()) {
    return list_schemas();
  }
  std::vector<std::string> known;
  for (const EmbeddedFile& file : embedded_schemas()) {
    known.push_back(schema_name(file));
    if (known.back() == name) {
      Output output;
      output.text = file.text;
      output.json = nlohmann::ordered_json::parse(file.text);
      return output;
    }
  }
  throw UsageError(fmt::format("there is no schema \"{}\"", name), did_you_mean(name, known));
}

}  // namespace

Run add_schema(CLI::App& app) {
  const auto name = std::make_shared<std::string>();  // shared: the parser writes it, the run reads
  std::string words;
  for (const EmbeddedFile& file : embedded_schemas()) {
    words += (words.empty() ? "" : "|") + schema_name(file);
  }
  app.add_option("NAME", *name, "which schema; without it, the list")->type_name(words);
  return [name](Context& /*context*/) { return schema(*name); };
}

}  // namespace twinrun::cli
