#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/io/json_tokens.h"
#include "core/io/source.h"

namespace twinrun {

// Passes over a value, of which the first token is given.
void skip_value(JsonTokens& tokens, JsonToken first);

// A file whose whole is one large object, read member by member: nothing of it is held but what the
// reader of a member keeps. Complains about text that is not JSON (E0102), keys that come twice
// (E0105) or are unknown (E0205, with "did you mean"), and values of the wrong type (E0202).
class StreamedObject {
 public:
  // What the file is, for complaints: "a plan". The known keys; "$schema" is always passed over.
  StreamedObject(const Source& source,
                 std::string what,
                 std::span<const std::string_view> keys,
                 Diagnostics& diagnostics);

  // Calls for each member with a known key; the reader takes all tokens of the value, of which it
  // is given the first. False when the text is no JSON.
  using ReadMember = std::function<void(std::string_view key, JsonToken first)>;
  bool read(const ReadMember& read_member);

  [[nodiscard]] bool is_object() const { return is_object_; }
  [[nodiscard]] bool has(std::string_view key) const;  // met so far

  // For readers of members.
  [[nodiscard]] JsonTokens& tokens() { return tokens_; }
  [[nodiscard]] Place here(std::string pointer) const {
    return {file_, std::move(pointer), tokens_.offset(), false};
  }
  void skip(JsonToken first) { skip_value(tokens_, first); }
  void wrong_type(JsonToken first, std::string pointer, std::string_view wanted);
  // Of "schema": complains (E0207) unless it is the one given.
  void read_schema(JsonToken first, std::string_view schema);
  // Of a string at the top: complains when it is none.
  void read_text(JsonToken first, std::string_view key, std::string& out);
  // Complains about each of the keys that never came (E0201); help is what to add.
  void require(std::string_view key, std::string help);

 private:
  void read_members(const ReadMember& read_member);
  bool is_refused(const std::string& key, std::int64_t key_offset);

  std::string file_;
  std::string what_;
  std::span<const std::string_view> keys_;
  Diagnostics& diagnostics_;
  JsonTokens tokens_;
  std::vector<std::string> seen_;
  bool is_object_ = false;
};

}  // namespace twinrun
