#include "core/io/json_document.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/check.h"
#include "core/base/json_pointer.h"

namespace twinrun {
namespace {

JsonKind kind_of(JsonToken token) {
  switch (token) {
    case JsonToken::kBeginObject:
      return JsonKind::kObject;
    case JsonToken::kBeginArray:
      return JsonKind::kArray;
    case JsonToken::kString:
      return JsonKind::kString;
    case JsonToken::kInteger:
      return JsonKind::kInteger;
    case JsonToken::kNumber:
      return JsonKind::kNumber;
    case JsonToken::kTrue:
    case JsonToken::kFalse:
      return JsonKind::kBoolean;
    case JsonToken::kNull:
    case JsonToken::kKey:
    case JsonToken::kEndObject:
    case JsonToken::kEndArray:
    case JsonToken::kEnd:
      break;
  }
  return JsonKind::kNull;
}

}  // namespace

JsonKind JsonValue::kind() const { return document_->nodes_[index_].kind; }

bool JsonValue::is(JsonKind kind) const {
  return document_ != nullptr && document_->nodes_[index_].kind == kind;
}

std::string_view JsonValue::text() const {
  TWINRUN_CHECK(is_string());
  const auto& node = document_->nodes_[index_];
  return std::string_view(document_->pool_).substr(node.text_begin, node.text_size);
}

std::int64_t JsonValue::integer() const {
  TWINRUN_CHECK(is_integer());
  return document_->nodes_[index_].integer;
}

double JsonValue::number() const {
  TWINRUN_CHECK(is_number());
  return document_->nodes_[index_].number;
}

bool JsonValue::boolean() const {
  TWINRUN_CHECK(is_boolean());
  return document_->nodes_[index_].truth;
}

std::string_view JsonValue::key() const { return document_->key_of(document_->nodes_[index_]); }

std::size_t JsonValue::size() const { return document_->nodes_[index_].children; }

JsonValue JsonValue::first() const {
  const std::uint32_t child = document_->nodes_[index_].first_child;
  return child == JsonDocument::kNone ? JsonValue() : JsonValue(document_, child);
}

JsonValue JsonValue::next() const {
  const std::uint32_t sibling = document_->nodes_[index_].next_sibling;
  return sibling == JsonDocument::kNone ? JsonValue() : JsonValue(document_, sibling);
}

JsonValue JsonValue::find(std::string_view key) const {
  if (!is_object()) {
    return {};
  }
  JsonValue found;
  for (JsonValue member = first(); member; member = member.next()) {
    if (member.key() == key) {
      found = member;  // of a doubled key the last, as every other reader does
    }
  }
  return found;
}

std::string JsonValue::pointer() const {
  std::vector<std::uint32_t> way;
  for (std::uint32_t at = index_; at != JsonDocument::kNone; at = document_->nodes_[at].parent) {
    way.push_back(at);
  }
  std::string pointer = document_->pointer_;
  for (auto step = way.rbegin() + 1; step < way.rend(); ++step) {
    const auto& node = document_->nodes_[*step];
    const bool in_object = document_->nodes_[node.parent].kind == JsonKind::kObject;
    pointer += '/';
    pointer += in_object ? escaped_for_pointer(document_->key_of(node)) : std::to_string(node.rank);
  }
  return pointer;
}

Place JsonValue::place() const {
  return {document_->file_, pointer(), document_->nodes_[index_].offset, false};
}

Place JsonValue::key_place() const {
  return {document_->file_, pointer(), document_->nodes_[index_].key_offset, true};
}

JsonDocument JsonDocument::read(const Source& source, Diagnostics& diagnostics) {
  JsonDocument document(source.name());
  try {
    JsonTokens tokens(source);
    const JsonToken first = tokens.next();
    document.fill(tokens, first, "", diagnostics);
    tokens.next();  // complains about anything after the value
  } catch (const JsonSyntaxError& error) {
    diagnostics.error("E0102", {source.name(), "", error.offset(), false}, error.what(),
                      error.help());
    document.nodes_.clear();
  }
  return document;
}

void JsonDocument::fill(JsonTokens& tokens,
                        JsonToken first,
                        std::string pointer,
                        Diagnostics& diagnostics) {
  nodes_.clear();
  pool_.clear();
  pointer_ = std::move(pointer);
  std::uint32_t open = append(tokens, first, kNone, {});
  PendingKey key;
  if (first != JsonToken::kBeginObject && first != JsonToken::kBeginArray) {
    return;
  }
  while (true) {
    const JsonToken token = tokens.next();
    if (token == JsonToken::kKey) {
      key = {store(tokens.text()), static_cast<std::uint32_t>(tokens.text().size()),
             tokens.offset()};
    } else if (token == JsonToken::kEndObject || token == JsonToken::kEndArray) {
      complain_about_doubled_keys(open, diagnostics);
      if (open == 0) {
        return;
      }
      open = nodes_[open].parent;
    } else {
      const std::uint32_t added = append(tokens, token, open, key);
      key = {};
      if (token == JsonToken::kBeginObject || token == JsonToken::kBeginArray) {
        open = added;
      }
    }
  }
}

std::uint32_t JsonDocument::store(std::string_view text) {
  const auto begin = static_cast<std::uint32_t>(pool_.size());
  pool_ += text;
  return begin;
}

std::uint32_t JsonDocument::append(JsonTokens& tokens,
                                   JsonToken token,
                                   std::uint32_t parent,
                                   PendingKey key) {
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  Node node;
  node.kind = kind_of(token);
  node.parent = parent;
  node.key_begin = key.begin;
  node.key_size = key.size;
  node.key_offset = key.offset;
  node.offset = tokens.offset();
  node.truth = token == JsonToken::kTrue;
  if (token == JsonToken::kString) {
    node.text_size = static_cast<std::uint32_t>(tokens.text().size());
    node.text_begin = store(tokens.text());
  } else if (token == JsonToken::kInteger || token == JsonToken::kNumber) {
    node.integer = tokens.integer();
    node.number = tokens.number();
  }
  if (parent != kNone) {
    Node& above = nodes_[parent];
    node.rank = above.children++;
    if (above.first_child == kNone) {
      above.first_child = index;
    } else {
      nodes_[above.last_child].next_sibling = index;
    }
    above.last_child = index;
  }
  nodes_.push_back(node);
  return index;
}

void JsonDocument::complain_about_doubled_keys(std::uint32_t object, Diagnostics& diagnostics) {
  const Node& node = nodes_[object];
  if (node.kind != JsonKind::kObject || node.children < 2) {
    return;
  }
  doubled_.clear();
  for (std::uint32_t child = node.first_child; child != kNone; child = nodes_[child].next_sibling) {
    doubled_.emplace_back(key_of(nodes_[child]), child);
  }
  std::sort(doubled_.begin(), doubled_.end());
  for (std::size_t i = 1; i < doubled_.size(); ++i) {
    if (doubled_[i].first == doubled_[i - 1].first) {
      diagnostics.error("E0105", JsonValue(this, doubled_[i].second).key_place(),
                        fmt::format("the key \"{}\" is given twice", doubled_[i].first),
                        "keep one of them");
    }
  }
}

std::string json_quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace twinrun
