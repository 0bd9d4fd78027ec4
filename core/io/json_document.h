#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/place_map.h"
#include "core/io/json_tokens.h"
#include "core/io/source.h"

namespace twinrun {

class JsonDocument;

enum class JsonKind : std::uint8_t { kObject, kArray, kString, kInteger, kNumber, kBoolean, kNull };

// A value inside a document: a cheap handle that knows its own place. An absent value has no
// children, no text and an empty place, so that reading can go on after a complaint.
class JsonValue {
 public:
  JsonValue() = default;

  explicit operator bool() const { return document_ != nullptr; }  // false: absent
  [[nodiscard]] JsonKind kind() const;
  [[nodiscard]] bool is_object() const { return is(JsonKind::kObject); }
  [[nodiscard]] bool is_array() const { return is(JsonKind::kArray); }
  [[nodiscard]] bool is_string() const { return is(JsonKind::kString); }
  [[nodiscard]] bool is_integer() const { return is(JsonKind::kInteger); }
  [[nodiscard]] bool is_number() const { return is_integer() || is(JsonKind::kNumber); }
  [[nodiscard]] bool is_boolean() const { return is(JsonKind::kBoolean); }

  [[nodiscard]] std::string_view text() const;  // of a string
  [[nodiscard]] std::int64_t integer() const;   // of an integer
  [[nodiscard]] double number() const;          // of an integer or number
  [[nodiscard]] bool boolean() const;

  [[nodiscard]] std::string_view key() const;  // of a member of an object
  [[nodiscard]] std::size_t size() const;      // members or elements
  [[nodiscard]] JsonValue first() const;       // children in file order; false at the end
  [[nodiscard]] JsonValue next() const;
  [[nodiscard]] JsonValue find(std::string_view key) const;

  [[nodiscard]] Place place() const;      // of the value
  [[nodiscard]] Place key_place() const;  // of its key
  [[nodiscard]] std::string pointer() const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, std::uint32_t index)
      : document_(document), index_(index) {}
  [[nodiscard]] bool is(JsonKind kind) const;

  const JsonDocument* document_ = nullptr;
  std::uint32_t index_ = 0;
};

// A parsed JSON value in flat arrays (at most kMostValues values and kMostText bytes of strings: a
// larger one is refused like a syntax error rather than eating the machine's memory), with the
// offset of every key and value, keys in file order, and doubled keys complained about (E0105).
// Reused for each op of a streamed plan: clearing keeps memory.
class JsonDocument {
 public:
  static constexpr std::size_t kMostValues = 2'000'000;
  static constexpr std::size_t kMostText = std::size_t{64} << 20;

  // Reads a whole input. Syntax errors (E0102) are added to the diagnostics and give an absent
  // root.
  static JsonDocument read(const Source& source, Diagnostics& diagnostics);

  explicit JsonDocument(std::string file) : file_(std::move(file)) {}

  // Replaces the contents by the value that starts with this token of the stream. The pointer is
  // that of the value in its file, for places.
  void fill(JsonTokens& tokens, JsonToken first, std::string pointer, Diagnostics& diagnostics);

  [[nodiscard]] JsonValue root() const { return nodes_.empty() ? JsonValue() : JsonValue(this, 0); }
  [[nodiscard]] const std::string& file() const { return file_; }
  // From now on values say that they were written where the map says, not where this text has them.
  void set_places(PlaceMap places) { places_ = std::move(places); }

 private:
  friend class JsonValue;
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  struct Node {
    JsonKind kind = JsonKind::kNull;
    bool truth = false;
    std::uint32_t parent = kNone;
    std::uint32_t rank = 0;  // which child of the parent
    std::uint32_t first_child = kNone;
    std::uint32_t last_child = kNone;
    std::uint32_t next_sibling = kNone;
    std::uint32_t children = 0;
    std::uint32_t key_begin = 0;
    std::uint32_t key_size = 0;
    std::uint32_t text_begin = 0;
    std::uint32_t text_size = 0;
    std::int64_t offset = 0;
    std::int64_t key_offset = -1;
    std::int64_t integer = 0;  // of a kNumber the bits of the double
  };
  struct PendingKey {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    std::int64_t offset = -1;
  };

  std::uint32_t append(JsonTokens& tokens, JsonToken token, std::uint32_t parent, PendingKey key);
  std::uint32_t store(std::string_view text, std::int64_t offset);
  void complain_about_doubled_keys(std::uint32_t object, Diagnostics& diagnostics);
  [[nodiscard]] std::string_view key_of(const Node& node) const {
    return std::string_view(pool_).substr(node.key_begin, node.key_size);
  }

  std::string file_;
  std::string pointer_;
  std::optional<PlaceMap> places_;
  std::vector<Node> nodes_;
  std::string pool_;  // all keys and strings
  std::vector<std::pair<std::string_view, std::uint32_t>>
      doubled_;  // scratch of the doubled-key check
};

// A JSON string in quotes, for our own writers.
std::string json_quoted(std::string_view text);

// The same for messages: cut after 60 bytes or so, because an input may hold megabytes there.
std::string quoted_for_people(std::string_view text);

}  // namespace twinrun
