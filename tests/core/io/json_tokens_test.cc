#include "core/io/json_tokens.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/io/pieces.h"

namespace twinrun {
namespace {

using testing::ElementsAre;

// Every token as "offset name text", up to and including the end or the complaint.
std::vector<std::string> tokens_of(const std::string& text, std::size_t piece) {
  std::vector<std::string> seen;
  try {
    JsonTokens tokens(std::make_unique<Pieces>(text, piece));
    while (true) {
      const JsonToken token = tokens.next();
      const std::int64_t at = tokens.offset();
      switch (token) {
        case JsonToken::kBeginObject:
          seen.push_back(fmt::format("{} {{", at));
          break;
        case JsonToken::kEndObject:
          seen.push_back(fmt::format("{} }}", at));
          break;
        case JsonToken::kBeginArray:
          seen.push_back(fmt::format("{} [", at));
          break;
        case JsonToken::kEndArray:
          seen.push_back(fmt::format("{} ]", at));
          break;
        case JsonToken::kKey:
          seen.push_back(fmt::format("{} key {}", at, tokens.text()));
          break;
        case JsonToken::kString:
          seen.push_back(fmt::format("{} string {}", at, tokens.text()));
          break;
        case JsonToken::kInteger:
          seen.push_back(fmt::format("{} integer {}", at, tokens.integer()));
          break;
        case JsonToken::kNumber:
          seen.push_back(fmt::format("{} number {}", at, tokens.number()));
          break;
        case JsonToken::kTrue:
          seen.push_back(fmt::format("{} true", at));
          break;
        case JsonToken::kFalse:
          seen.push_back(fmt::format("{} false", at));
          break;
        case JsonToken::kNull:
          seen.push_back(fmt::format("{} null", at));
          break;
        case JsonToken::kEnd:
          seen.push_back(fmt::format("{} end", at));
          return seen;
      }
    }
  } catch (const JsonSyntaxError& error) {
    seen.push_back(fmt::format("{} error: {}", error.offset(), error.what()));
  }
  return seen;
}

std::vector<std::string> tokens_of(const std::string& text) { return tokens_of(text, 1 << 20); }

std::string complaint_about(const std::string& text) { return tokens_of(text).back(); }

TEST(JsonTokens, EveryTokenHasItsByteOffset) {
  EXPECT_THAT(
      tokens_of("{\"a\": [1, -2.5, true],\n \"µ\" : {\"b\\n\":null , \"c\":false}, \"s\":\"x\"} "),
      ElementsAre("0 {", "1 key a", "6 [", "7 integer 1", "10 number -2.5", "16 true", "20 ]",
                  "24 key µ", "31 {", "32 key b\n", "38 null", "45 key c", "49 false", "54 }",
                  "57 key s", "61 string x", "64 }", "66 end"));
}

TEST(JsonTokens, PiecesOfAnySizeGiveTheSameTokens) {
  const std::string text =
      "\xEF\xBB\xBF { \"key\" \t:\r\n [ 12345 , 1.5e-3,\"a\\u00e9\\ud83d\\ude00é😀\" , true,false "
      ",null ] , "
      "\"\" : \"\", \"k\":{}}   ";
  const std::vector<std::string> whole = tokens_of(text);
  ASSERT_EQ(whole.back(), fmt::format("{} end", text.size()));
  for (std::size_t piece = 1; piece < text.size(); ++piece) {
    EXPECT_EQ(tokens_of(text, piece), whole) << "pieces of " << piece;
  }
}

TEST(JsonTokens, ComplaintsAreTheSameInPieces) {
  for (const std::string text :
       {"[1, 2", "{\"a\" 1}", "[tru]", "[1,]", "[\"a\\x\"]", "[\"\xC3(\"]", "[\"ab"}) {
    EXPECT_EQ(tokens_of(text, 1), tokens_of(text)) << text;
  }
}

TEST(JsonTokens, SyntaxErrorsSayWhereAndWhy) {
  EXPECT_EQ(complaint_about(""), "0 error: the file is empty");
  EXPECT_EQ(complaint_about("  \n "), "4 error: the file is empty");
  EXPECT_EQ(complaint_about("[1, 2"), "5 error: the file ends inside an array");
  EXPECT_EQ(complaint_about("{\"a\": 1"), "7 error: the file ends inside an object");
  EXPECT_EQ(complaint_about("{\"a\": "), "6 error: the file ends where a value should be");
  EXPECT_EQ(complaint_about("[1,]"), "2 error: a comma before the closing bracket");
  EXPECT_EQ(complaint_about("[1 2]"), "3 error: expected ',' or ']' here");
  EXPECT_EQ(complaint_about("{\"a\":1]"), "6 error: expected ',' or '}' here");
  EXPECT_EQ(complaint_about("{a: 1}"), "1 error: expected a key in double quotes");
  EXPECT_EQ(complaint_about("{\"a\" 1}"), "5 error: expected ':' after the key \"a\"");
  EXPECT_EQ(complaint_about("[NaN]"), "1 error: unexpected word NaN where a value should be");
  EXPECT_EQ(complaint_about("[-Infinity]"), "1 error: \"-Infinity\" is not a JSON number");
  EXPECT_EQ(complaint_about("[01]"), "1 error: \"01\" is not a JSON number");
  EXPECT_EQ(complaint_about("[1e999]"), "1 error: the number 1e999 is too large");
  EXPECT_EQ(complaint_about("[// no"), "1 error: unexpected '/' where a value should be");
  EXPECT_EQ(complaint_about("{} {}"), "3 error: text after the end of the JSON value");
  EXPECT_EQ(complaint_about("[\"ab"), "1 error: a string is not closed");
  EXPECT_EQ(complaint_about("[\"a\nb\"]"), "3 error: control character 0x0A inside a string");
  EXPECT_EQ(complaint_about("[\"a\\qb\"]"), "3 error: unknown escape in a string");
  EXPECT_EQ(complaint_about("[\"\\u12g4\"]"), "6 error: \\u needs four hexadecimal digits");
  EXPECT_EQ(complaint_about("[\"\\ud800x\"]"), "2 error: half of a surrogate pair in a string");
  EXPECT_EQ(complaint_about("[\"a\xFFz\"]"), "3 error: invalid UTF-8 (byte 0xFF)");
  EXPECT_EQ(complaint_about("[\"\xC0\xAF\"]"), "2 error: invalid UTF-8 (byte 0xC0)");
  EXPECT_EQ(complaint_about("[\xFF]"), "1 error: unexpected byte 0xFF where a value should be");
}

TEST(JsonTokens, NestingIsAllowedTo200LevelsAndNoFurther) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(complaint_about(nested(200)), "400 end");
  EXPECT_EQ(complaint_about(nested(201)), "200 error: nested deeper than 200 levels");
  EXPECT_EQ(complaint_about(std::string(100000, '[')), "200 error: nested deeper than 200 levels");
}

TEST(JsonTokens, StringsEndAt16MiB) {
  const std::string longest(std::size_t{16} << 20, 'x');
  EXPECT_EQ(complaint_about("\"" + longest + "\""), fmt::format("{} end", longest.size() + 2));
  EXPECT_EQ(complaint_about("\"" + longest + "xx\""), "0 error: a string is longer than 16 MiB");
}

TEST(JsonTokens, IntegersAreExactTo63BitsAndNumbersBeyond) {
  EXPECT_THAT(tokens_of("[9223372036854775807,-9223372036854775808,9223372036854775808,-0,1e2]"),
              ElementsAre("0 [", "1 integer 9223372036854775807", "21 integer -9223372036854775808",
                          "42 number 9.223372036854776e+18", "62 integer 0", "65 number 100",
                          "68 ]", "69 end"));
}

TEST(JsonTokens, TooSmallNumbersBecomeZeroOrDenormal) {
  EXPECT_EQ(tokens_of("1e-999").front(), "0 number 0");
  EXPECT_EQ(tokens_of("5e-324").front(), "0 number 5e-324");
}

}  // namespace
}  // namespace twinrun
