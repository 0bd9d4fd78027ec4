#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// valijson's headers are not clean under our warnings.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>
#pragma GCC diagnostic pop

#include "core/io/embedded.h"

namespace twinrun {

// A file that the program carries inside itself, parsed.
inline nlohmann::json embedded_json(std::span<const EmbeddedFile> files, std::string_view name) {
  for (const EmbeddedFile& file : files) {
    if (file.name == name) {
      return nlohmann::json::parse(file.text);
    }
  }
  ADD_FAILURE() << "not embedded: " << name;
  return nlohmann::json::object();
}

// One of core/io/schemas, by its name: "plan". A foreign reader of JSON Schema, to hold the schema
// and our loader against each other.
class SchemaChecker {
 public:
  explicit SchemaChecker(std::string_view name)
      : text_(embedded_json(embedded_schemas(), "core/io/schemas/" + std::string(name) + ".json")) {
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(valijson::adapters::NlohmannJsonAdapter(text_), schema_);
  }

  [[nodiscard]] const nlohmann::json& text() const { return text_; }

  // The complaints, one a line; empty when there are none.
  [[nodiscard]] std::string complaints(const nlohmann::json& value) const {
    valijson::ValidationResults results;
    valijson::Validator().validate(schema_, valijson::adapters::NlohmannJsonAdapter(value),
                                   &results);
    std::string out;
    valijson::ValidationResults::Error error;
    while (results.popError(error)) {
      for (const std::string& step : error.context) {
        out += step;
      }
      out += ": " + error.description + "\n";
    }
    return out;
  }

  [[nodiscard]] bool accepts(const nlohmann::json& value) const {
    return complaints(value).empty();
  }

 private:
  nlohmann::json text_;
  valijson::Schema schema_;
};

}  // namespace twinrun
