#include "core/io/read_dataset.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::IsEmpty;

Dataset csv(const std::string& text, std::int64_t answer_width, Diagnostics& diagnostics) {
  return read_csv_dataset(Source::of_text("samples.csv", text), answer_width, diagnostics);
}

TEST(CsvDataset, HasSamplesAndTheirClasses) {
  Diagnostics diagnostics;
  const Dataset read = csv("x,y,class\n# a comment\n\n0.5, -1e2 ,3\r\n\"2\",4,0\n", 1, diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(read.rows, 2);
  EXPECT_EQ(read.width, 2);
  EXPECT_THAT(read.inputs, ElementsAre(0.5F, -100, 2, 4));
  EXPECT_THAT(read.answers, ElementsAre(3, 0));
}

TEST(CsvDataset, HasWhatTheModelShouldSay) {
  Diagnostics diagnostics;
  const Dataset read = csv("1,2,3\n4,5,6\n", 2, diagnostics);
  EXPECT_EQ(read.width, 1);
  EXPECT_THAT(read.inputs, ElementsAre(1, 4));
  EXPECT_THAT(read.answers, ElementsAre(2, 3, 5, 6));
}

// Every line that is wrong is told, with its place.
TEST(CsvDataset, ComplainsAboutEveryLine) {
  Diagnostics diagnostics;
  csv("1,2,0\n1,0\n1,nan,0\n1,two,0\n", 1, diagnostics);
  ASSERT_EQ(diagnostics.error_count(), 3U);
  EXPECT_EQ(diagnostics.all()[0].place.offset, 6);
  EXPECT_EQ(diagnostics.all()[1].message, "\"nan\" is no number");
  EXPECT_EQ(diagnostics.all()[2].place.offset, 20);
}

TEST(CsvDataset, MustHaveSamples) {
  Diagnostics diagnostics;
  csv("x,y,class\n", 1, diagnostics);
  EXPECT_EQ(diagnostics.error_count(), 1U);
}

// As the page of the MNIST files describes it: magic, sizes, numbers, high bytes first.
std::string idx(char type, const std::vector<std::uint32_t>& sizes, const std::string& numbers) {
  std::string out{0, 0, type, static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes) {
    for (const int shift : {24, 16, 8, 0}) {
      out += static_cast<char>(size >> shift & 0xFF);
    }
  }
  return out + numbers;
}

Dataset read_idx(const std::string& images, const std::string& labels, Diagnostics& diagnostics) {
  return read_idx_dataset(Source::of_text("images", images), Source::of_text("labels", labels),
                          diagnostics);
}

TEST(IdxDataset, TakesBytesAsZeroToOne) {
  Diagnostics diagnostics;
  const Dataset read = read_idx(idx(0x08, {2, 1, 2}, std::string("\x00\xFF\x33\x66", 4)),
                                idx(0x08, {2}, "\x07\x01"), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(read.rows, 2);
  EXPECT_EQ(read.width, 2);
  EXPECT_THAT(read.inputs, ElementsAre(0, 1, FloatEq(0.2F), FloatEq(0.4F)));
  EXPECT_THAT(read.answers, ElementsAre(7, 1));
}

TEST(IdxDataset, ReadsEveryTypeWithTheHighestByteFirst) {
  Diagnostics diagnostics;
  const std::string label = idx(0x0C, {1}, std::string("\x00\x00\x01\x00", 4));
  const auto only = [&](char type, const std::string& number) {
    return read_idx(idx(type, {1, 1}, number), label, diagnostics).inputs;
  };
  EXPECT_THAT(only(0x09, "\xFF"), ElementsAre(-1));
  EXPECT_THAT(only(0x0B, std::string("\xFF\x00", 2)), ElementsAre(-256));
  EXPECT_THAT(only(0x0C, std::string("\x00\x01\x00\x00", 4)), ElementsAre(65536));
  EXPECT_THAT(only(0x0D, std::string("\x3F\xC0\x00\x00", 4)), ElementsAre(1.5F));
  EXPECT_THAT(only(0x0E, std::string("\x40\x04\x00\x00\x00\x00\x00\x00", 8)), ElementsAre(2.5F));
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_THAT(read_idx(label, label, diagnostics).answers, ElementsAre(256));
}

TEST(IdxDataset, RefusesWhatIsNone) {
  const std::string labels = idx(0x08, {2}, "\x01\x02");
  for (const std::string& images :
       {std::string("PK\x03\x04", 4), std::string(), idx(0x08, {2, 3}, "cut"),
        idx(0x08, {2, 1}, "long"), idx(0x08, {3, 1}, "abc"), idx(0x08, {0, 1}, ""),
        idx(0x07, {2, 1}, "ab"), idx(0x08, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "")}) {
    Diagnostics diagnostics;
    EXPECT_THAT(read_idx(images, labels, diagnostics).inputs, IsEmpty());
    EXPECT_EQ(diagnostics.error_count(), 1U);
  }
}

}  // namespace
}  // namespace twinrun
