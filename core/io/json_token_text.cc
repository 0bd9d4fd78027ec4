// The tokens that carry text: strings, numbers and words. The grammar around them is in
// json_tokens.cc.
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "core/io/json_tokens.h"

namespace twinrun {
namespace {

constexpr std::size_t kLongestNumber = 400;

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}
bool is_word(char c) {
  return is_json_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '.' || c == '+' || c == '-';
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// JSON's number grammar: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
struct NumberShape {
  bool valid = false;
  bool whole = false;
};

NumberShape shape_of_number(std::string_view s) {
  std::size_t i = s.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < s.size() && is_json_digit(s[i])) {
      ++i;
    }
    return i - start;
  };
  const bool leading_zero = i < s.size() && s[i] == '0';
  const std::size_t whole_digits = digits();
  if (whole_digits == 0 || (leading_zero && whole_digits > 1)) {
    return {};
  }
  bool whole = true;
  if (i < s.size() && s[i] == '.') {
    whole = false;
    ++i;
    if (digits() == 0) {
      return {};
    }
  }
  if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
    whole = false;
    ++i;
    if (i < s.size() && (s[i] == '+' || s[i] == '-')) {
      ++i;
    }
    if (digits() == 0) {
      return {};
    }
  }
  return {i == s.size(), whole};
}

}  // namespace

void JsonTokens::read_string() {
  ++at_;
  const char* scan = at_;
  while (scan != end_ && is_plain(*scan)) {
    ++scan;
  }
  if (scan != end_ && *scan == '"') {  // the usual case: no escapes, all of it in the buffer
    text_ = {at_, static_cast<std::size_t>(scan - at_)};
    at_ = scan + 1;
    return;
  }
  scratch_.assign(at_, scan);
  at_ = scan;
  read_string_slowly();
  text_ = scratch_;
}

void JsonTokens::read_string_slowly() {
  constexpr std::size_t kLongestString = std::size_t{1} << 24;
  while (true) {
    if (at_end()) {
      fail(token_offset_, "a string is not closed", "end it with a double quote");
    }
    if (scratch_.size() > kLongestString) {
      fail(token_offset_, "a string is longer than 16 MiB");
    }
    const char c = *at_;
    if (c == '"') {
      ++at_;
      return;
    }
    if (c == '\\') {
      ++at_;
      read_escape();
    } else if (is_plain(c)) {
      scratch_.push_back(c);
      ++at_;
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      read_utf8(static_cast<unsigned char>(c));
    } else {
      fail(here(), fmt::format("control character 0x{:02X} inside a string", static_cast<int>(c)),
           "write it as an escape such as \\n or \\t; or is the closing quote missing?");
    }
  }
}

void JsonTokens::read_escape() {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  if (at_end()) {
    fail(here(), "a string is not closed");
  }
  const std::size_t known = kNames.find(*at_);
  if (known != std::string_view::npos) {
    scratch_.push_back(kMeant[known]);
    ++at_;
    return;
  }
  if (*at_ != 'u') {
    fail(here() - 1, "unknown escape in a string", "write a backslash as \\\\");
  }
  const std::int64_t start = here() - 1;
  ++at_;
  std::uint32_t code = read_hex4();
  if (code >= 0xD800 && code < 0xDC00) {  // first half of a surrogate pair
    const bool followed = !at_end() && *at_ == '\\' && (++at_, !at_end()) && *at_ == 'u';
    if (!followed) {
      fail(start, "half of a surrogate pair in a string");
    }
    ++at_;
    const std::uint32_t low = read_hex4();
    if (low < 0xDC00 || low > 0xDFFF) {
      fail(start, "half of a surrogate pair in a string");
    }
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xDC00 && code <= 0xDFFF) {
    fail(start, "half of a surrogate pair in a string");
  }
  append_utf8(scratch_, code);
}

std::uint32_t JsonTokens::read_hex4() {
  std::uint32_t code = 0;
  for (int i = 0; i < 4; ++i) {
    if (at_end()) {
      fail(here(), "a string is not closed");
    }
    const char c = *at_;
    const int digit = is_json_digit(c)       ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) {
      fail(here(), "\\u needs four hexadecimal digits");
    }
    code = code * 16 + static_cast<std::uint32_t>(digit);
    ++at_;
  }
  return code;
}

// Accepts exactly well-formed UTF-8 (no overlong forms, no surrogates, at most U+10FFFF).
void JsonTokens::read_utf8(unsigned char lead) {
  const int more = lead >= 0xC2 && lead <= 0xDF   ? 1
                   : lead >= 0xE0 && lead <= 0xEF ? 2
                   : lead >= 0xF0 && lead <= 0xF4 ? 3
                                                  : 0;
  const std::int64_t start = here();
  const auto refuse = [&] {
    fail(start, fmt::format("invalid UTF-8 (byte 0x{:02X})", lead), "save the file as UTF-8");
  };
  if (more == 0) {
    refuse();
  }
  scratch_.push_back(*at_++);
  for (int i = 0; i < more; ++i) {
    if (at_end()) {
      refuse();
    }
    const auto byte = static_cast<unsigned char>(*at_);
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    if (i == 0) {
      low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
      high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    }
    if (byte < low || byte > high) {
      refuse();
    }
    scratch_.push_back(*at_++);
  }
}

JsonToken JsonTokens::read_number() {
  scratch_.clear();
  while (!at_end() && is_word(*at_) && scratch_.size() <= kLongestNumber) {
    scratch_.push_back(*at_++);
  }
  text_ = scratch_;
  const NumberShape shape = shape_of_number(text_);
  if (!shape.valid) {
    fail(token_offset_, fmt::format("\"{}\" is not a JSON number", text_.substr(0, 40)),
         "write numbers like 12, -3, 2.5 or 1e9; quantities with units are strings: \"25GB/s\"");
  }
  const char* first = text_.data();
  const char* last = first + text_.size();
  if (shape.whole && std::from_chars(first, last, integer_).ec == std::errc()) {
    number_ = static_cast<double>(integer_);
    return JsonToken::kInteger;
  }
  const auto parsed = std::from_chars(first, last, number_);
  if (parsed.ec == std::errc::result_out_of_range) {
    number_ = std::strtod(scratch_.c_str(), nullptr);  // 0 when too small, infinite when too large
  }
  if (!std::isfinite(number_)) {
    fail(token_offset_, fmt::format("the number {} is too large", text_.substr(0, 40)));
  }
  return JsonToken::kNumber;
}

JsonToken JsonTokens::read_word() {
  scratch_.clear();
  while (!at_end() && is_word(*at_) && scratch_.size() < 40) {
    scratch_.push_back(*at_++);
  }
  if (scratch_ == "true") {
    return JsonToken::kTrue;
  }
  if (scratch_ == "false") {
    return JsonToken::kFalse;
  }
  if (scratch_ == "null") {
    return JsonToken::kNull;
  }
  if (scratch_.empty()) {
    const char c = *at_;
    const std::string shown = is_plain(c) || c == '"'
                                  ? fmt::format("'{}'", c)
                                  : fmt::format("byte 0x{:02X}", static_cast<unsigned char>(c));
    fail(token_offset_, fmt::format("unexpected {} where a value should be", shown),
         c == '/' || c == '#' ? "JSON has no comments; use a \"comment\" key" : "");
  }
  fail(token_offset_, fmt::format("unexpected word {} where a value should be", scratch_),
       scratch_ == "NaN" || scratch_ == "Infinity" || scratch_ == "inf" || scratch_ == "nan"
           ? "JSON has no NaN or Infinity; leave the key out instead"
           : "strings are written in double quotes");
}

}  // namespace twinrun
