#include "core/io/json_object.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/did_you_mean.h"

namespace twinrun {
namespace {

constexpr std::array<std::string_view, 3> kAllowedEverywhere = {"comment", "source", "$schema"};

std::string with_article(std::string_view noun) {
  const bool vowel = std::string_view("aeiou").find(noun.front()) != std::string_view::npos;
  return fmt::format("{} {}", vowel ? "an" : "a", noun);
}

// 2^63 picoseconds or bytes are the end of our integers; nothing real comes near. Rates are
// doubles, but 9.2e18 bytes or FLOP a second is as far from any machine.
constexpr double kLargestQuantity = 9.2e18;

Time from_scaled(double ps, Time /*kind*/) { return {std::llround(ps)}; }
Bytes from_scaled(double count, Bytes /*kind*/) { return {std::llround(count)}; }
Bandwidth from_scaled(double rate, Bandwidth /*kind*/) { return {rate}; }
FlopRate from_scaled(double rate, FlopRate /*kind*/) { return {rate}; }

}  // namespace

std::string_view json_kind_name(JsonKind kind) {
  switch (kind) {
    case JsonKind::kObject:
      return "object";
    case JsonKind::kArray:
      return "array";
    case JsonKind::kString:
      return "string";
    case JsonKind::kInteger:
      return "integer";
    case JsonKind::kNumber:
      return "number";
    case JsonKind::kBoolean:
      return "boolean";
    case JsonKind::kNull:
      return "null";
  }
  return "value";
}

JsonObject::JsonObject(JsonValue value, std::string what, Diagnostics& diagnostics)
    : value_(value), what_(std::move(what)), diagnostics_(diagnostics) {
  if (value_ && !value_.is_object()) {  // an absent one has been complained about
    wrong_type(value_, with_article(what_) + " as an object {…}");
  }
}

Place JsonObject::place_of(std::string_view key) const {
  const JsonValue member = value_.find(key);
  return member ? member.place() : value_.place();
}

void JsonObject::wrong_type(JsonValue member, std::string_view wanted) {
  const std::string_view found = json_kind_name(member.kind());
  diagnostics_.error(
      "E0202", member.place(),
      fmt::format("expected {}, found {}", wanted, found == "null" ? "null" : with_article(found)));
}

JsonValue JsonObject::find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
    known_.emplace_back(key);
  }
  return value_.find(key);
}

JsonValue JsonObject::require(std::string_view key) {
  const JsonValue member = find(key);
  if (!member && value_.is_object()) {
    diagnostics_.error("E0201", value_.place(),
                       fmt::format("{} has no \"{}\"", with_article(what_), key),
                       fmt::format("add \"{}\": …", key));
  }
  return member;
}

JsonValue JsonObject::array(std::string_view key) {
  const JsonValue member = find(key);
  if (member && !member.is_array()) {
    wrong_type(member, "an array");
    return {};
  }
  return member;
}

JsonValue JsonObject::object(std::string_view key) {
  const JsonValue member = find(key);
  if (member && !member.is_object()) {
    wrong_type(member, "an object");
    return {};
  }
  return member;
}

std::optional<std::string> JsonObject::string(std::string_view key) {
  const JsonValue member = find(key);
  if (!member) {
    return std::nullopt;
  }
  if (!member.is_string()) {
    wrong_type(member, "a string");
    return std::nullopt;
  }
  return std::string(member.text());
}

std::optional<std::int64_t> JsonObject::integer(std::string_view key,
                                                std::int64_t least,
                                                std::int64_t most) {
  const JsonValue member = find(key);
  if (!member) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  if (member.is_integer()) {
    value = member.integer();
  } else if (member.is_number() && member.number() == std::floor(member.number()) &&
             std::abs(member.number()) < 9e18) {
    value = static_cast<std::int64_t>(member.number());  // 1e9 is a whole number too
  } else if (member.is_number() && member.number() == std::floor(member.number())) {
    diagnostics_.error("E0203", member.place(),
                       fmt::format("\"{}\" is too {}: {}", key,
                                   member.number() > 0 ? "large" : "small", member.number()));
    return std::nullopt;
  } else {
    wrong_type(member, "a whole number");
    return std::nullopt;
  }
  if (value < least || value > most) {
    const bool bounded = most != std::numeric_limits<std::int64_t>::max();
    diagnostics_.error(
        "E0203", member.place(),
        bounded ? fmt::format("\"{}\" must lie in {} … {}, is {}", key, least, most, value)
                : fmt::format("\"{}\" must be at least {}, is {}", key, least, value));
    return std::nullopt;
  }
  return value;
}

std::optional<double> JsonObject::number(std::string_view key, double least) {
  const JsonValue member = find(key);
  if (!member) {
    return std::nullopt;
  }
  if (!member.is_number()) {
    wrong_type(member, "a number");
    return std::nullopt;
  }
  if (member.number() < least) {
    diagnostics_.error(
        "E0203", member.place(),
        fmt::format("\"{}\" must be at least {}, is {}", key, least, member.number()));
    return std::nullopt;
  }
  return member.number();
}

std::optional<bool> JsonObject::boolean(std::string_view key) {
  const JsonValue member = find(key);
  if (!member) {
    return std::nullopt;
  }
  if (!member.is_boolean()) {
    wrong_type(member, "true or false");
    return std::nullopt;
  }
  return member.boolean();
}

template <class Quantity, class Parse>
std::optional<Quantity> JsonObject::quantity(std::string_view key,
                                             std::string_view forms,
                                             double unit,
                                             Parse parse) {
  const JsonValue member = find(key);
  if (!member) {
    return std::nullopt;
  }
  if (member.is_string()) {
    const std::optional<Quantity> parsed = parse(member.text());
    if (!parsed) {
      diagnostics_.error(
          "E0206", member.place(),
          fmt::format("{} is not a quantity for \"{}\"", quoted_for_people(member.text()), key),
          fmt::format("write {}", forms));
    }
    return parsed;
  }
  if (!member.is_number()) {
    wrong_type(member, fmt::format("a quantity such as {}", forms));
    return std::nullopt;
  }
  const double scaled = member.number() * unit;
  if (scaled < 0 || scaled > kLargestQuantity) {
    diagnostics_.error("E0203", member.place(),
                       fmt::format("\"{}\" must be {}, is {}", key,
                                   scaled < 0 ? "at least 0" : "smaller", member.number()));
    return std::nullopt;
  }
  return from_scaled(scaled, Quantity{});
}

std::optional<Time> JsonObject::time(std::string_view key) {
  return quantity<Time>(key, kTimeForms, 1e6, parse_time);
}

std::optional<Bytes> JsonObject::bytes(std::string_view key) {
  return quantity<Bytes>(key, kBytesForms, 1, parse_bytes);
}

std::optional<Bandwidth> JsonObject::bandwidth(std::string_view key) {
  return quantity<Bandwidth>(key, kBandwidthForms, 1e9, parse_bandwidth);
}

std::optional<FlopRate> JsonObject::flop_rate(std::string_view key) {
  return quantity<FlopRate>(key, kFlopRateForms, 1e12, parse_flop_rate);
}

std::optional<std::size_t> JsonObject::one_of(std::string_view key,
                                              std::span<const std::string_view> words) {
  const JsonValue member = find(key);
  if (!member) {
    return std::nullopt;
  }
  if (!member.is_string()) {
    wrong_type(member, fmt::format("one of {}", fmt::join(words, ", ")));
    return std::nullopt;
  }
  const auto found = std::find(words.begin(), words.end(), member.text());
  if (found != words.end()) {
    return static_cast<std::size_t>(found - words.begin());
  }
  const std::vector<std::string> known(words.begin(), words.end());
  diagnostics_.error("E0204", member.place(),
                     fmt::format("{} is not a known \"{}\"", quoted_for_people(member.text()), key),
                     did_you_mean(member.text(), known));
  return std::nullopt;
}

void JsonObject::finish() {
  if (!value_.is_object()) {
    return;
  }
  for (JsonValue member = value_.first(); member; member = member.next()) {
    const auto is_key = [&](const auto& known) { return known == member.key(); };
    if (std::none_of(known_.begin(), known_.end(), is_key) &&
        std::none_of(kAllowedEverywhere.begin(), kAllowedEverywhere.end(), is_key)) {
      // What is past the limit is only counted, and a guess costs time.
      const bool is_kept = diagnostics_.dropped() == 0;
      diagnostics_.error(
          "E0205", member.key_place(),
          fmt::format("unknown key {} in {}", quoted_for_people(member.key()), with_article(what_)),
          is_kept ? did_you_mean(member.key(), known_) : "");
    }
  }
}

}  // namespace twinrun
