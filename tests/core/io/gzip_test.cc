#include "core/io/gzip.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/diagnostics.h"
#include "core/io/json_document.h"

namespace twinrun {
namespace {

// printf '{"a": 1}' | gzip -n
constexpr std::array<unsigned char, 28> kPacked = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xab, 0x56, 0x4a, 0x54,
    0xb2, 0x52, 0x30, 0xac, 0x05, 0x00, 0x97, 0x8e, 0xa1, 0xfb, 0x08, 0x00, 0x00, 0x00};

std::string packed() { return {kPacked.begin(), kPacked.end()}; }

std::string code_of_reading(const std::string& bytes) {
  try {
    (void)Source::of_text("trace.json.gz", bytes).text();
  } catch (const InputError& error) {
    return error.diagnostics().all().at(0).code;
  }
  return "none";
}

TEST(Gzip, IsReadUnpackedWhereverTextIs) {
  EXPECT_EQ(Source::of_text("a.gz", packed()).text(), R"({"a": 1})");
  Diagnostics diagnostics;
  const auto document = JsonDocument::read(Source::of_text("a.gz", packed()), diagnostics);
  EXPECT_EQ(document.root().find("a").integer(), 1);
}

TEST(Gzip, MembersOneAfterTheOtherAreOneText) {
  EXPECT_EQ(Source::of_text("a.gz", packed() + packed()).text(), R"({"a": 1}{"a": 1})");
}

TEST(Gzip, AnyPieceOfTheBufferWillDo) {
  const auto stream = Source::of_text("a.gz", packed()).open();
  std::array<char, 3> buffer{};
  std::string text;
  for (std::size_t count = stream->read(buffer); count > 0; count = stream->read(buffer)) {
    text.append(buffer.data(), count);
  }
  EXPECT_EQ(text, R"({"a": 1})");
}

TEST(Gzip, CutOrDamagedIsRefused) {
  for (std::size_t size = 2; size < kPacked.size(); ++size) {
    EXPECT_EQ(code_of_reading(packed().substr(0, size)), "E0103") << size;
  }
  for (const std::size_t at : {std::size_t{2}, std::size_t{11}, std::size_t{22}, std::size_t{25}}) {
    std::string damaged = packed();
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    EXPECT_EQ(code_of_reading(damaged), "E0103") << at;
  }
  EXPECT_EQ(code_of_reading(packed() + "rest"), "E0103");
}

TEST(Gzip, PlainTextIsLeftAlone) {
  EXPECT_EQ(Source::of_text("a", "").text(), "");
  EXPECT_EQ(Source::of_text("a", "\x1f").text(), "\x1f");
  EXPECT_EQ(Source::of_text("a", "{}").text(), "{}");
}

}  // namespace
}  // namespace twinrun
