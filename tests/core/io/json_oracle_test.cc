#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/io/json_document.h"

// nlohmann/json is the oracle: both readers accept the same texts and read the same values. Where
// we differ on purpose, nlohmann accepts and we refuse:
//   - nesting deeper than 200 levels, numbers longer than 400 characters, strings over 16 MiB:
//   limits;
//   - a zero byte after the value: nlohmann takes it for the end of the text;
//   - a doubled key: legal JSON, and always a mistake in ours (a complaint, not a syntax error).
namespace twinrun {
namespace {

bool differs_on_purpose(const std::string& text) { return text.find('\0') != std::string::npos; }

bool we_accept(const std::string& text) {
  Diagnostics diagnostics;
  return static_cast<bool>(JsonDocument::read(Source::of_text("x", text), diagnostics).root());
}

nlohmann::json as_nlohmann(JsonValue value) {
  switch (value.kind()) {
    case JsonKind::kObject: {
      nlohmann::json object = nlohmann::json::object();
      for (JsonValue member = value.first(); member; member = member.next()) {
        object[std::string(member.key())] = as_nlohmann(member);
      }
      return object;
    }
    case JsonKind::kArray: {
      nlohmann::json array = nlohmann::json::array();
      for (JsonValue element = value.first(); element; element = element.next()) {
        array.push_back(as_nlohmann(element));
      }
      return array;
    }
    case JsonKind::kString:
      return std::string(value.text());
    case JsonKind::kInteger:
      return value.integer();
    case JsonKind::kNumber:
      return value.number();
    case JsonKind::kBoolean:
      return value.boolean();
    case JsonKind::kNull:
      break;
  }
  return nullptr;
}

void expect_agreement(const std::string& text) {
  if (differs_on_purpose(text)) {
    return;
  }
  const nlohmann::json theirs = nlohmann::json::parse(text, nullptr, false);
  Diagnostics diagnostics;
  const JsonDocument ours = JsonDocument::read(Source::of_text("x", text), diagnostics);
  ASSERT_EQ(static_cast<bool>(ours.root()), !theirs.is_discarded()) << text;
  if (ours.root()) {
    // == compares integers and doubles by value, which is what 64-bit unsigned ones need.
    ASSERT_EQ(as_nlohmann(ours.root()), theirs) << text;
  }
}

const std::vector<std::string> kGood = {"null",
                                        "true",
                                        " false ",
                                        "0",
                                        "-0",
                                        "-0.0",
                                        "1E+2",
                                        "1e-2",
                                        "123456789012345678",
                                        "1.7976931348623157e308",
                                        "18446744073709551615",
                                        "\"\"",
                                        "\"\\u0000\"",
                                        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
                                        "\"\\uD83D\\uDE00\"",
                                        "[]",
                                        "{}",
                                        "[[],{}]",
                                        "{\"\":{}}",
                                        "[1,[2,[3]],{\"a\":[4]}]",
                                        "{\"a\":1,\"b\":{\"c\":null}}",
                                        "\xEF\xBB\xBF{\"mark\":true}",
                                        "\"\x7F\"",
                                        "\"\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF\"",
                                        "\r\n\t [ 1 ] \n"};

const std::vector<std::string> kBad = {"",
                                       " ",
                                       "nul",
                                       "nulll",
                                       "TRUE",
                                       "+1",
                                       "01",
                                       "-",
                                       "-a",
                                       "1.",
                                       ".5",
                                       "1e",
                                       "1e+",
                                       "1.5.5",
                                       "0x10",
                                       "1_000",
                                       "\"",
                                       "\"\\\"",
                                       "\"\\x\"",
                                       "\"\\u12\"",
                                       "\"\\uD800\"",
                                       "\"\\uDC00\"",
                                       "\"\\uD800\\u0041\"",
                                       "\"\n\"",
                                       "\"\t\"",
                                       "\"\xC0\x80\"",
                                       "\"\xE0\x80\x80\"",
                                       "\"\xED\xA0\x80\"",
                                       "\"\xF4\x90\x80\x80\"",
                                       "\"\x80\"",
                                       "\"\xF5\"",
                                       "[",
                                       "]",
                                       "{",
                                       "}",
                                       "[1",
                                       "[1,",
                                       "[1,]",
                                       "[,1]",
                                       "[1 2]",
                                       "[1;2]",
                                       "{\"a\"}",
                                       "{\"a\":}",
                                       "{\"a\":1,}",
                                       "{,}",
                                       "{a:1}",
                                       "{'a':1}",
                                       "{1:2}",
                                       "{\"a\":1 \"b\":2}",
                                       "{\"a\" \"b\"}",
                                       "{\"a\":1]",
                                       "[1}",
                                       "1 2",
                                       "{}{}",
                                       "[]]",
                                       "// c\n1",
                                       "/*c*/1",
                                       "1 // c",
                                       "NaN",
                                       "-NaN",
                                       "Infinity",
                                       "-Infinity",
                                       "1e999",
                                       "-1e999",
                                       "\xEF\xBB",
                                       "\xEF\xBB\xBF",
                                       "\xFE\xFF",
                                       "\xC2\xA0[]",
                                       "'a'",
                                       "undefined"};

TEST(JsonOracle, TheOracleAcceptsTheGoodAndRefusesTheBad) {
  for (const std::string& text : kGood) {
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
    EXPECT_TRUE(we_accept(text)) << text;
    expect_agreement(text);
  }
  for (const std::string& text : kBad) {
    EXPECT_FALSE(nlohmann::json::accept(text)) << text;
    EXPECT_FALSE(we_accept(text)) << text;
  }
}

// One random change: a byte replaced, removed, doubled, or a stretch moved.
void mutate(std::string& text, std::mt19937& random) {
  constexpr std::string_view kAlphabet = "{}[],:\"\\ \n019-+.eEtrufalsn/x\xC3\xA9\xF0\x80u";
  const auto below = [&](std::size_t limit) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(1, limit));
  };
  if (text.empty()) {
    text = "[]";
  }
  const std::size_t at = below(text.size());
  switch (below(5)) {
    case 0:
      text[at] = kAlphabet[below(kAlphabet.size())];
      break;
    case 1:
      text.erase(at, 1 + below(3));
      break;
    case 2:
      text.insert(at, 1, kAlphabet[below(kAlphabet.size())]);
      break;
    case 3:
      text.insert(below(text.size()), text.substr(at, below(12)));
      break;
    default:
      text[at] = static_cast<char>(1 + below(255));
      break;
  }
}

TEST(JsonOracle, TwentyThousandMutationsAreJudgedAlike) {
  const std::vector<std::string> seeds = {
      R"({"schema":"twinrun/topology/1","nodes":{"dgx":16},"links":[{"from":"gpu0","to":"gpu1","bandwidth":"25GB/s","latency":1.5e-6}]})",
      R"([{"id":"step0/backward/layer3/mb2@rank5","deps":[1,2,3],"flops":1.25e12,"ok":true},null,false,-17,0.5])",
      "{\"text\":\"a\\\"b\\\\c\\u00e9\\ud83d\\ude00\xC3\xA9\",\"deep\":[[[[{\"a\":{\"b\":[]}}]]]],"
      "\"\":\"\"}",
      "[0,-1,10,1e5,1E-5,12.25,9223372036854775807,-9223372036854775808,18446744073709551616]"};
  std::mt19937 random(20240817);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = seeds[static_cast<std::size_t>(i) % seeds.size()];
    for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
      mutate(text, random);
    }
    expect_agreement(text);
    if (HasFatalFailure()) {
      return;
    }
    accepted += we_accept(text) ? 1 : 0;
  }
  EXPECT_GT(accepted, 1000);  // the mutations must not all be trivially broken
  EXPECT_LT(accepted, 19000);
}

}  // namespace
}  // namespace twinrun
