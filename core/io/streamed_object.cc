#include "core/io/streamed_object.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/base/json_pointer.h"
#include "core/io/json_document.h"

namespace twinrun {
namespace {

std::string_view found_text(JsonToken token) {
  switch (token) {
    case JsonToken::kBeginObject:
      return "an object";
    case JsonToken::kBeginArray:
      return "an array";
    case JsonToken::kString:
      return "a string";
    case JsonToken::kInteger:
    case JsonToken::kNumber:
      return "a number";
    case JsonToken::kTrue:
    case JsonToken::kFalse:
      return "a boolean";
    case JsonToken::kNull:
    case JsonToken::kKey:
    case JsonToken::kEndObject:
    case JsonToken::kEndArray:
    case JsonToken::kEnd:
      break;
  }
  return "null";
}

}  // namespace

void skip_value(JsonTokens& tokens, JsonToken first) {
  JsonToken token = first;
  std::size_t depth = 0;
  while (true) {
    if (token == JsonToken::kBeginObject || token == JsonToken::kBeginArray) {
      ++depth;
    } else if (token == JsonToken::kEndObject || token == JsonToken::kEndArray) {
      --depth;
    }
    if (depth == 0) {
      return;
    }
    token = tokens.next();
  }
}

StreamedObject::StreamedObject(const Source& source,
                               std::string what,
                               std::span<const std::string_view> keys,
                               Diagnostics& diagnostics)
    : file_(source.name()),
      what_(std::move(what)),
      keys_(keys),
      diagnostics_(diagnostics),
      tokens_(source) {}

bool StreamedObject::has(std::string_view key) const {
  return std::find(seen_.begin(), seen_.end(), key) != seen_.end();
}

void StreamedObject::wrong_type(JsonToken first, std::string pointer, std::string_view wanted) {
  diagnostics_.error("E0202", here(std::move(pointer)),
                     fmt::format("expected {}, found {}", wanted, found_text(first)));
  skip(first);
}

bool StreamedObject::is_refused(const std::string& key, std::int64_t key_offset) {
  constexpr std::size_t kMostSeen = 64;  // a file of unknown keys is not remembered whole
  const Place place{file_, fmt::format("/{}", escaped_for_pointer(key)), key_offset, true};
  if (has(key)) {
    diagnostics_.error("E0105", place, fmt::format("the key \"{}\" is given twice", key),
                       "keep one of them");
    return true;
  }
  if (seen_.size() < kMostSeen) {
    seen_.push_back(key);
  }
  if (key == "$schema" || std::find(keys_.begin(), keys_.end(), key) != keys_.end()) {
    return false;
  }
  const std::vector<std::string> known(keys_.begin(), keys_.end());
  diagnostics_.error("E0205", place, fmt::format("unknown key {} in {}", json_quoted(key), what_),
                     did_you_mean(key, known));
  return true;
}

void StreamedObject::read_members(const ReadMember& read_member) {
  const JsonToken first = tokens_.next();
  if (first != JsonToken::kBeginObject) {
    wrong_type(first, "", fmt::format("{} as an object {{…}}", what_));
    return;
  }
  is_object_ = true;
  while (tokens_.next() != JsonToken::kEndObject) {
    const std::string key(tokens_.text());
    const bool refused = is_refused(key, tokens_.offset());
    const JsonToken token = tokens_.next();
    if (refused || key == "$schema") {
      skip(token);
    } else {
      read_member(key, token);
    }
  }
  tokens_.next();  // complains about anything after the value
}

bool StreamedObject::read(const ReadMember& read_member) {
  try {
    read_members(read_member);
    return true;
  } catch (const JsonSyntaxError& error) {
    diagnostics_.error("E0102", {file_, "", error.offset(), false}, error.what(), error.help());
    return false;
  }
}

void StreamedObject::read_schema(JsonToken first, std::string_view schema) {
  if (first != JsonToken::kString) {
    wrong_type(first, "/schema", "a string");
  } else if (tokens_.text() != schema) {
    diagnostics_.error(
        "E0207", here("/schema"),
        fmt::format("this file declares the schema {}", json_quoted(tokens_.text().substr(0, 80))),
        fmt::format("{} declares \"schema\": \"{}\"", what_, schema));
  }
}

void StreamedObject::read_text(JsonToken first, std::string_view key, std::string& out) {
  if (first == JsonToken::kString) {
    out = tokens_.text();
  } else {
    wrong_type(first, fmt::format("/{}", key), "a string");
  }
}

void StreamedObject::require(std::string_view key, std::string help) {
  if (!has(key)) {
    diagnostics_.error("E0201", {file_, "", 0, false}, fmt::format("{} has no \"{}\"", what_, key),
                       std::move(help));
  }
}

}  // namespace twinrun
