#include "report/byte_text.h"

#include <gtest/gtest.h>

namespace twinrun::report {
namespace {

std::string varint(std::uint64_t value) {
  std::string bytes;
  append_varint(bytes, value);
  return bytes;
}

std::string zigzag(std::int64_t value) {
  std::string bytes;
  append_signed(bytes, value);
  return bytes;
}

TEST(Varint, HasSevenBitsAByteLowestFirst) {
  EXPECT_EQ(varint(0), std::string(1, '\0'));
  EXPECT_EQ(varint(127), "\x7f");
  EXPECT_EQ(varint(128), "\x80\x01");
  EXPECT_EQ(varint(300), "\xac\x02");  // the example of protocol buffers' manual
  EXPECT_EQ(varint(~std::uint64_t{0}), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(Varint, SignedOnesAlternate) {
  EXPECT_EQ(zigzag(0), varint(0));
  EXPECT_EQ(zigzag(-1), varint(1));
  EXPECT_EQ(zigzag(1), varint(2));
  EXPECT_EQ(zigzag(-64), varint(127));
  EXPECT_EQ(zigzag(std::numeric_limits<std::int64_t>::min()), varint(~std::uint64_t{0}));
}

// RFC 4648, section 10.
TEST(Base64, IsThatOfTheRfc) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace twinrun::report
