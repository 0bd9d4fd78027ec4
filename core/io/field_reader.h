#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/diagnostics.h"
#include "core/base/units.h"
#include "core/io/json_document.h"
#include "core/io/json_object.h"

namespace twinrun {

// JsonObject for a million objects of the same few keys: looks at each member once, allocates
// nothing while all is well, and hands every value that is not of the plainest form to JsonObject,
// so that both accept the same and complain in the same words. Keys are numbers in the list given.
class FieldReader {
 public:
  static constexpr std::size_t kMostKeys = 32;

  FieldReader(std::span<const std::string_view> keys, Diagnostics& diagnostics)
      : keys_(keys), diagnostics_(diagnostics) {}

  // False, with a complaint, when the value is no object. What it is, for complaints: "copy op".
  bool open(JsonValue value, std::string_view what);
  void rename(std::string_view what) { what_ = what; }  // once more is known

  [[nodiscard]] JsonValue find(std::size_t key) const { return fields_[key]; }
  bool require(std::size_t key);  // complains when absent
  std::optional<std::string_view> text(std::size_t key);
  std::optional<std::int64_t> integer(std::size_t key, std::int64_t least, std::int64_t most);
  std::optional<double> number(std::size_t key);
  std::optional<Bytes> bytes(std::size_t key);
  std::optional<Time> time(std::size_t key);
  std::optional<std::size_t> word(std::size_t key, std::span<const std::string_view> words);
  JsonValue array(std::size_t key);
  void wrong_type(JsonValue value, std::string_view wanted) { slow().wrong_type(value, wanted); }

  // Complains about keys that are not in the list, or whose bit is not set in the mask.
  void finish(std::uint32_t allowed);

 private:
  [[nodiscard]] JsonObject slow() { return {value_, std::string(what_), diagnostics_}; }

  std::span<const std::string_view> keys_;
  Diagnostics& diagnostics_;
  JsonValue value_;
  std::string_view what_;
  std::array<JsonValue, kMostKeys> fields_;
  std::uint32_t present_ = 0;
  bool has_others_ = false;
};

}  // namespace twinrun
