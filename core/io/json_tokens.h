#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/source.h"

namespace twinrun {

constexpr bool is_json_digit(char c) { return c >= '0' && c <= '9'; }

// The text is not JSON; where, why, and what to do.
class JsonSyntaxError : public std::runtime_error {
 public:
  JsonSyntaxError(std::int64_t offset, const std::string& what, std::string help)
      : std::runtime_error(what), offset_(offset), help_(std::move(help)) {}
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  [[nodiscard]] const std::string& help() const { return help_; }

 private:
  std::int64_t offset_;
  std::string help_;
};

enum class JsonToken : std::uint8_t {
  kBeginObject,
  kEndObject,
  kBeginArray,
  kEndArray,
  kKey,
  kString,
  kInteger,
  kNumber,  // has a fraction or an exponent, or does not fit 64 bits
  kTrue,
  kFalse,
  kNull,
  kEnd,
};

// Pulls JSON apart token by token, in constant memory, with the byte offset of each.
//
// Written by hand because nothing in the distribution does all four things we need: offsets for
// file:line:column (nlohmann/json 3.11 forgets them), streaming (a plan has a million ops), white
// space that costs no memory (nlohmann's lexer keeps it: 1 GB of spaces is 1 GB), and a depth
// limit. nlohmann is the oracle in the tests: both must accept and refuse the same texts.
class JsonTokens {
 public:
  static constexpr std::size_t kDeepest = 200;  // levels of nesting

  explicit JsonTokens(const Source& source);
  explicit JsonTokens(std::unique_ptr<ByteStream> stream);

  // The next token; the grammar is checked on the way, so keys and values alternate as they should.
  JsonToken next();

  [[nodiscard]] std::int64_t offset() const { return token_offset_; }
  // Of a key, string or number; valid until the next call.
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::int64_t integer() const { return integer_; }
  [[nodiscard]] double number() const { return number_; }

 private:
  enum class Expect : std::uint8_t {
    kValue,
    kFirstKeyOrEnd,
    kFirstValueOrEnd,
    kCommaOrEnd,
    kDone,
  };

  [[noreturn]] void fail(std::int64_t at, const std::string& what, std::string help = {}) const;
  [[nodiscard]] std::int64_t here() const {
    return base_ + static_cast<std::int64_t>(at_ - buffer_.data());
  }
  bool refill();
  bool at_end() { return at_ == end_ && !refill(); }
  void skip_blank();
  void skip_byte_order_mark();
  JsonToken value();
  JsonToken after_value();
  JsonToken open(bool is_object);
  JsonToken close();
  JsonToken key();
  void read_string();
  void read_string_slowly();
  void read_escape();
  std::uint32_t read_hex4();
  void read_utf8(unsigned char lead);
  JsonToken read_number();
  JsonToken read_word();
  void expect_colon();

  std::unique_ptr<ByteStream> stream_;
  std::vector<char> buffer_;
  const char* at_;
  const char* end_;
  std::int64_t base_ = 0;  // offset of buffer_[0] in the file
  std::vector<bool> in_object_;
  Expect expect_ = Expect::kValue;
  std::int64_t token_offset_ = 0;
  std::string scratch_;
  std::string_view text_;
  std::int64_t integer_ = 0;
  double number_ = 0;
};

}  // namespace twinrun
