#include "core/io/field_reader.h"

#include <algorithm>
#include <charconv>

namespace twinrun {
namespace {

// Whole picoseconds in full: the general way goes through a double and loses digits above 2^53.
std::optional<Time> parse_whole_ps(std::string_view text) {
  std::int64_t ps = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, ps);
  const bool is_whole = error == std::errc() && std::string_view(end, last) == "ps" && ps >= 0;
  return is_whole ? std::optional(Time{ps}) : std::nullopt;
}

}  // namespace

bool FieldReader::open(JsonValue value, std::string_view what) {
  value_ = value;
  what_ = what;
  present_ = 0;
  has_others_ = false;
  std::fill_n(fields_.begin(), keys_.size(), JsonValue());
  if (!value.is_object()) {
    static_cast<void>(slow());  // complains
    return false;
  }
  for (JsonValue member = value.first(); member; member = member.next()) {
    const auto found = std::find(keys_.begin(), keys_.end(), member.key());
    if (found == keys_.end()) {
      has_others_ = true;
      continue;
    }
    const auto key = static_cast<std::size_t>(found - keys_.begin());
    fields_[key] = member;
    present_ |= std::uint32_t{1} << key;
  }
  return true;
}

bool FieldReader::require(std::size_t key) {
  if (!fields_[key]) {
    slow().require(keys_[key]);
  }
  return static_cast<bool>(fields_[key]);
}

std::optional<std::string_view> FieldReader::text(std::size_t key) {
  const JsonValue field = fields_[key];
  if (field && !field.is_string()) {
    slow().string(keys_[key]);
    return std::nullopt;
  }
  return field ? std::optional(field.text()) : std::nullopt;
}

std::optional<std::int64_t> FieldReader::integer(std::size_t key,
                                                 std::int64_t least,
                                                 std::int64_t most) {
  const JsonValue field = fields_[key];
  if (!field) {
    return std::nullopt;
  }
  if (field.is_integer() && field.integer() >= least && field.integer() <= most) {
    return field.integer();
  }
  return slow().integer(keys_[key], least, most);
}

std::optional<double> FieldReader::number(std::size_t key) {
  const JsonValue field = fields_[key];
  if (!field) {
    return std::nullopt;
  }
  if (field.is_number() && field.number() >= 0) {
    return field.number();
  }
  return slow().number(keys_[key]);
}

std::optional<Bytes> FieldReader::bytes(std::size_t key) {
  const JsonValue field = fields_[key];
  if (!field) {
    return std::nullopt;
  }
  if (field.is_integer() && field.integer() >= 0) {
    return Bytes{field.integer()};
  }
  return slow().bytes(keys_[key]);
}

std::optional<Time> FieldReader::time(std::size_t key) {
  constexpr std::int64_t kPsPerUs = 1'000'000;
  constexpr std::int64_t kMostUs = 9'000'000'000'000;
  const JsonValue field = fields_[key];
  if (!field) {
    return std::nullopt;
  }
  if (field.is_integer() && field.integer() >= 0 && field.integer() <= kMostUs) {
    return Time{field.integer() * kPsPerUs};
  }
  const auto exact = field.is_string() ? parse_whole_ps(field.text()) : std::nullopt;
  return exact ? exact : slow().time(keys_[key]);
}

std::optional<std::size_t> FieldReader::word(std::size_t key,
                                             std::span<const std::string_view> words) {
  const JsonValue field = fields_[key];
  if (!field) {
    return std::nullopt;
  }
  if (field.is_string()) {
    const auto found = std::find(words.begin(), words.end(), field.text());
    if (found != words.end()) {
      return static_cast<std::size_t>(found - words.begin());
    }
  }
  return slow().one_of(keys_[key], words);
}

JsonValue FieldReader::array(std::size_t key) {
  const JsonValue field = fields_[key];
  return !field || field.is_array() ? field : slow().array(keys_[key]);
}

void FieldReader::finish(std::uint32_t allowed) {
  if (!has_others_ && (present_ & ~allowed) == 0) {
    return;
  }
  JsonObject object = slow();
  for (std::size_t key = 0; key < keys_.size(); ++key) {
    if ((allowed >> key & 1U) != 0) {
      object.find(keys_[key]);
    }
  }
  object.finish();
}

}  // namespace twinrun
