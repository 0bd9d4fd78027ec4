#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/units.h"
#include "core/io/json_document.h"

namespace twinrun {

// Reads the members of one JSON object and complains about each that is missing (E0201), of the
// wrong type (E0202), out of range (E0203), not one of the allowed words (E0204) or unknown (E0205,
// with "did you mean"). Every question asked names a known key; finish() then knows the unknown
// ones.
//
//   JsonObject link(value, "link", diagnostics);
//   const auto bandwidth = link.bandwidth("bandwidth");   // nothing when absent or already
//   complained link.finish();
//
// "comment" and "source" are allowed everywhere; "$schema" too, for editors.
class JsonObject {
 public:
  JsonObject(JsonValue value, std::string what, Diagnostics& diagnostics);

  [[nodiscard]] JsonValue value() const { return value_; }
  [[nodiscard]] Place place() const { return value_.place(); }
  [[nodiscard]] Place place_of(std::string_view key) const;
  [[nodiscard]] Diagnostics& diagnostics() { return diagnostics_; }

  JsonValue find(std::string_view key);     // any type; false when absent
  JsonValue require(std::string_view key);  // complains when absent
  JsonValue array(std::string_view key);    // false when absent or not an array
  JsonValue object(std::string_view key);   // false when absent or not an object

  std::optional<std::string> string(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key,
                                      std::int64_t least = 0,
                                      std::int64_t most = std::numeric_limits<std::int64_t>::max());
  std::optional<double> number(std::string_view key, double least = 0);
  std::optional<bool> boolean(std::string_view key);
  std::optional<Time> time(std::string_view key);
  std::optional<Bytes> bytes(std::string_view key);
  std::optional<Bandwidth> bandwidth(std::string_view key);
  std::optional<FlopRate> flop_rate(std::string_view key);
  // The position of the word in the list.
  std::optional<std::size_t> one_of(std::string_view key, std::span<const std::string_view> words);

  void wrong_type(JsonValue member, std::string_view wanted);

  // Complains about members nobody asked for.
  void finish();

 private:
  template <class Quantity, class Parse>
  std::optional<Quantity> quantity(std::string_view key,
                                   std::string_view forms,
                                   double unit,
                                   Parse parse);

  JsonValue value_;
  std::string what_;
  Diagnostics& diagnostics_;
  std::vector<std::string> known_;
};

// "object", "string", …
std::string_view json_kind_name(JsonKind kind);

}  // namespace twinrun
