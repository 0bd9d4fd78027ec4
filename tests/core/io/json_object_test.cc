#include "core/io/json_object.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A whole complaint on one line: code, pointer@offset (k: of the key), message, help.
std::vector<std::string> all_of(const Diagnostics& diagnostics) {
  std::vector<std::string> lines;
  for (const Diagnostic& d : diagnostics.all()) {
    EXPECT_EQ(d.place.file, "f");
    EXPECT_EQ(d.label, "");
    lines.push_back(fmt::format(
        "{} {} {}@{}{} | {} | {}", d.severity == Severity::kError ? "error" : "warning", d.code,
        d.place.pointer, d.place.offset, d.place.at_key ? "k" : "", d.message, d.help));
  }
  return lines;
}

// Reads the text as an object "a link", asks it the questions, and gives the complaints.
template <class Questions>
std::vector<std::string> complaints(const std::string& text, Questions ask) {
  Diagnostics diagnostics;
  const JsonDocument document = JsonDocument::read(Source::of_text("f", text), diagnostics);
  JsonObject object(document.root(), "link", diagnostics);
  ask(object);
  return all_of(diagnostics);
}

TEST(JsonObject, MissingKey) {
  EXPECT_THAT(complaints("{}", [](JsonObject& link) { link.require("to"); }),
              ElementsAre("error E0201 @0 | a link has no \"to\" | add \"to\": …"));
}

TEST(JsonObject, AnAbsentOptionalKeyIsNoComplaint) {
  EXPECT_THAT(complaints("{}",
                         [](JsonObject& link) {
                           EXPECT_FALSE(link.string("a") || link.integer("b") || link.number("c") ||
                                        link.boolean("d") || link.time("e") || link.array("f") ||
                                        link.object("g"));
                         }),
              IsEmpty());
}

TEST(JsonObject, NotAnObject) {
  EXPECT_THAT(complaints("[1]", [](JsonObject& link) { link.finish(); }),
              ElementsAre("error E0202 @0 | expected a link as an object {…}, found an array | "));
}

TEST(JsonObject, AnAbsentValueHasBeenComplainedAboutAlready) {
  Diagnostics diagnostics;
  JsonObject link(JsonValue(), "link", diagnostics);
  EXPECT_FALSE(link.require("to"));
  EXPECT_EQ(link.place_of("to").file, "");
  link.finish();
  EXPECT_THAT(all_of(diagnostics), IsEmpty());
}

TEST(JsonObject, WrongTypes) {
  const std::string text =
      R"({"a":1,"b":"1","c":null,"d":0,"e":{},"f":[],"g":true,"h":1.5,"i":[]})";
  EXPECT_THAT(
      complaints(text,
                 [](JsonObject& link) {
                   link.string("a");
                   link.integer("b");
                   link.number("c");
                   link.boolean("d");
                   link.array("e");
                   link.object("f");
                   link.bandwidth("g");
                   link.integer("h");
                   link.one_of("i", std::array<std::string_view, 2>{"x", "y"});
                   link.finish();
                 }),
      ElementsAre("error E0202 /a@5 | expected a string, found an integer | ",
                  "error E0202 /b@11 | expected a whole number, found a string | ",
                  "error E0202 /c@19 | expected a number, found null | ",
                  "error E0202 /d@28 | expected true or false, found an integer | ",
                  "error E0202 /e@34 | expected an array, found an object | ",
                  "error E0202 /f@41 | expected an object, found an array | ",
                  "error E0202 /g@48 | expected a quantity such as \"25GB/s\", \"200Gb/s\" or a "
                  "number of GB/s, found a boolean | ",
                  "error E0202 /h@57 | expected a whole number, found a number | ",
                  "error E0202 /i@65 | expected one of x, y, found an array | "));
}

TEST(JsonObject, OutOfRange) {
  const std::string text = R"({"a":-4,"b":9,"c":-0.5,"d":-1,"e":1e12,"f":1e19,"g":-1e30})";
  EXPECT_THAT(complaints(text,
                         [](JsonObject& link) {
                           link.integer("a", 1);
                           link.integer("b", 1, 8);
                           link.number("c");
                           link.bytes("d");
                           link.bandwidth("e");
                           link.integer("f");
                           link.integer("g");
                         }),
              ElementsAre("error E0203 /a@5 | \"a\" must be at least 1, is -4 | ",
                          "error E0203 /b@12 | \"b\" must lie in 1 … 8, is 9 | ",
                          "error E0203 /c@18 | \"c\" must be at least 0, is -0.5 | ",
                          "error E0203 /d@27 | \"d\" must be at least 0, is -1 | ",
                          "error E0203 /e@34 | \"e\" must be smaller, is 1000000000000 | ",
                          "error E0203 /f@43 | \"f\" is too large: 1e+19 | ",
                          "error E0203 /g@52 | \"g\" is too small: -1e+30 | "));
}

TEST(JsonObject, WholeNumbersMayBeWrittenWithAnExponent) {
  EXPECT_THAT(complaints(R"({"a":1e9})",
                         [](JsonObject& link) { EXPECT_EQ(link.integer("a"), 1000000000); }),
              IsEmpty());
}

TEST(JsonObject, UnknownWord) {
  EXPECT_THAT(complaints(R"({"kind":"rnig"})",
                         [](JsonObject& link) {
                           link.one_of("kind", std::array<std::string_view, 2>{"ring", "torus"});
                         }),
              ElementsAre("error E0204 /kind@8 | \"rnig\" is not a known \"kind\" | did you mean "
                          "\"ring\"? (known: ring, torus)"));
}

TEST(JsonObject, UnknownKeyIsPointedAtByItsKey) {
  EXPECT_THAT(
      complaints(R"({"comment":"x","source":"y","$schema":"z","bandwith":"25GB/s"})",
                 [](JsonObject& link) {
                   link.bandwidth("bandwidth");
                   link.finish();
                 }),
      ElementsAre("error E0205 /bandwith@42k | unknown key \"bandwith\" in a link | did you "
                  "mean \"bandwidth\"? (known: bandwidth)"));
}

TEST(JsonObject, QuantityWithoutMeaning) {
  EXPECT_THAT(
      complaints(R"({"latency":"5 parsec"})", [](JsonObject& link) { link.time("latency"); }),
      ElementsAre("error E0206 /latency@11 | \"5 parsec\" is not a quantity for \"latency\" | "
                  "write \"1.5us\", \"200ns\", \"3ms\", \"2s\" or a number of microseconds"));
}

TEST(JsonObject, QuantitiesAreReadFromTextAndPlainNumbers) {
  EXPECT_THAT(complaints(R"({"a":"200Gb/s","b":25,"c":1.5,"d":"80GiB","e":312})",
                         [](JsonObject& link) {
                           EXPECT_EQ(link.bandwidth("a")->bytes_per_s, 25e9);
                           EXPECT_EQ(link.bandwidth("b")->bytes_per_s, 25e9);
                           EXPECT_EQ(link.time("c")->ps, 1500000);
                           EXPECT_EQ(link.bytes("d")->count, 85899345920);
                           EXPECT_EQ(link.flop_rate("e")->flop_per_s, 312e12);
                           link.finish();
                         }),
              IsEmpty());
}

TEST(JsonObject, AHundredUnknownKeysCostTwentyMessages) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i) {
    text += fmt::format("{}\"k{}\":{}", i == 0 ? "" : ",", i, i);
  }
  Diagnostics diagnostics;
  const JsonDocument document = JsonDocument::read(Source::of_text("f", text + "}"), diagnostics);
  JsonObject(document.root(), "link", diagnostics).finish();
  EXPECT_EQ(diagnostics.error_count(), 100U);
  EXPECT_EQ(diagnostics.all().size(), 20U);
  EXPECT_EQ(diagnostics.dropped(), 80U);
}

}  // namespace
}  // namespace twinrun
