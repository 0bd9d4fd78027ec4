#include "core/io/json_document.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

using testing::ElementsAre;

std::vector<std::string> children(JsonValue value) {
  std::vector<std::string> seen;
  for (JsonValue child = value.first(); child; child = child.next()) {
    seen.push_back(fmt::format("{} at {}", child.key(), child.pointer()));
  }
  return seen;
}

TEST(JsonDocument, KeepsKeysInFileOrder) {
  Diagnostics diagnostics;
  const auto document =
      JsonDocument::read(Source::of_text("x", R"({"z":1,"a":{"b":[]},"m":3})"), diagnostics);
  EXPECT_THAT(children(document.root()), ElementsAre("z at /z", "a at /a", "m at /m"));
  EXPECT_EQ(document.root().size(), 3U);
}

TEST(JsonDocument, EscapesSlashAndTildeInPointers) {
  Diagnostics diagnostics;
  const auto document =
      JsonDocument::read(Source::of_text("x", R"({"a/b":[5,{"~":1,"":2}]})"), diagnostics);
  const JsonValue inner = document.root().first().first().next();
  EXPECT_THAT(children(inner), ElementsAre("~ at /a~1b/1/~0", " at /a~1b/1/"));
}

TEST(JsonDocument, PlacesPointAtValueAndKey) {
  Diagnostics diagnostics;
  const auto document = JsonDocument::read(Source::of_text("f", R"({"a": [10, 20]})"), diagnostics);
  const JsonValue list = document.root().find("a");
  const Place key = list.key_place();
  const Place value = list.first().next().place();
  EXPECT_EQ(fmt::format("{} {} {} {}", key.file, key.pointer, key.offset, key.at_key),
            "f /a 1 true");
  EXPECT_EQ(fmt::format("{} {} {} {}", value.file, value.pointer, value.offset, value.at_key),
            "f /a/1 11 false");
}

TEST(JsonDocument, ComplainsAboutEachDoubledKeyAtItsSecondPlace) {
  Diagnostics diagnostics;
  const auto document =
      JsonDocument::read(Source::of_text("f", R"({"a":1,"b":{"c":1,"c":2},"a":3})"), diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 2U);
  const Diagnostic& inner = diagnostics.all()[0];
  EXPECT_EQ(inner.code, "E0105");
  EXPECT_EQ(inner.message, "the key \"c\" is given twice");
  EXPECT_EQ(inner.place.pointer, "/b/c");
  EXPECT_EQ(inner.place.offset, 18);
  EXPECT_TRUE(inner.place.at_key);
  EXPECT_EQ(diagnostics.all()[1].place.offset, 25);
  EXPECT_EQ(document.root().find("a").integer(), 3);  // the last one counts
}

TEST(JsonDocument, ASyntaxErrorLeavesAnAbsentRootThatIsSafeToAsk) {
  Diagnostics diagnostics;
  const auto document = JsonDocument::read(Source::of_text("f", "[1,"), diagnostics);
  const JsonValue root = document.root();
  EXPECT_FALSE(root);
  EXPECT_EQ(root.size(), 0U);
  EXPECT_FALSE(root.first());
  EXPECT_FALSE(root.find("a"));
  EXPECT_EQ(root.pointer(), "");
  EXPECT_EQ(root.place().file, "");
  EXPECT_EQ(diagnostics.error_count(), 1U);
}

TEST(JsonDocument, RefusesMoreValuesThanAnyInputNeeds) {
  std::string text = "[";
  for (std::size_t i = 0; i < JsonDocument::kMostValues; ++i) {
    text += "0,";
  }
  text += "0]";
  Diagnostics diagnostics;
  EXPECT_FALSE(JsonDocument::read(Source::of_text("f", text), diagnostics).root());
  EXPECT_EQ(diagnostics.all().at(0).code, "E0102");
  EXPECT_EQ(diagnostics.all().at(0).message, "more than 2000000 values");
}

TEST(JsonDocument, RefusesMoreTextThanAnyInputNeeds) {
  const std::string megabytes = "\"" + std::string(std::size_t{13} << 20, 'x') + "\"";
  std::string text = "[";
  for (int i = 0; i < 5; ++i) {
    text += (i == 0 ? "" : ",") + megabytes;
  }
  Diagnostics diagnostics;
  EXPECT_FALSE(JsonDocument::read(Source::of_text("f", text + "]"), diagnostics).root());
  EXPECT_EQ(diagnostics.all().at(0).message, "more than 64 MiB of strings");
}

TEST(JsonDocument, IsFilledAgainForEachElementOfAStream) {
  Diagnostics diagnostics;
  JsonTokens tokens(Source::of_text("f", R"([{"a":"long text"},7])"));
  JsonDocument document("f");
  ASSERT_EQ(tokens.next(), JsonToken::kBeginArray);
  document.fill(tokens, tokens.next(), "/0", diagnostics);
  EXPECT_EQ(document.root().find("a").pointer(), "/0/a");
  document.fill(tokens, tokens.next(), "/1", diagnostics);
  EXPECT_EQ(document.root().integer(), 7);
  EXPECT_EQ(document.root().pointer(), "/1");
  EXPECT_EQ(tokens.next(), JsonToken::kEndArray);
}

TEST(QuotedForPeople, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(quoted_for_people("a\"b\n"), R"("a\"b\n")");
  EXPECT_EQ(quoted_for_people(std::string(59, 'x') + "éy"), "\"" + std::string(59, 'x') + "…\"");
}

}  // namespace
}  // namespace twinrun
