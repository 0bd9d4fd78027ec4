#include "core/topology/name_pattern.h"

#include <gtest/gtest.h>

namespace twinrun {
namespace {

bool matches(const char* pattern, const char* name) {
  const auto parsed = NamePattern::parse(pattern);
  EXPECT_TRUE(parsed) << pattern;
  return parsed && parsed->matches(name);
}

TEST(NamePattern, ExactNameMatchesItselfOnly) {
  EXPECT_TRUE(matches("gpu3", "gpu3"));
  EXPECT_FALSE(matches("gpu3", "gpu30"));
  EXPECT_FALSE(matches("gpu3", "gpu"));
  EXPECT_FALSE(matches("gpu3", "nic3"));
  EXPECT_FALSE(matches("gpu3", "node0/gpu3"));
}

TEST(NamePattern, StarMatchesEveryNumberOfItsWord) {
  EXPECT_TRUE(matches("gpu*", "gpu0"));
  EXPECT_TRUE(matches("gpu*", "gpu123456"));
  EXPECT_FALSE(matches("gpu*", "gpux0"));
  EXPECT_FALSE(matches("gpu*", "gpu"));
}

TEST(NamePattern, ListOfNumbersAndRangesIncludesBothEnds) {
  for (int i = 0; i < 12; ++i) {
    const bool wanted = i == 0 || i == 2 || (i >= 5 && i <= 7) || i == 10;
    EXPECT_EQ(matches("gpu[0,2,5-7,10]", ("gpu" + std::to_string(i)).c_str()), wanted) << i;
  }
}

TEST(NamePattern, SegmentsMatchOneByOne) {
  EXPECT_TRUE(matches("node*/gpu[0-1]", "node12/gpu1"));
  EXPECT_FALSE(matches("node*/gpu[0-1]", "node12/gpu2"));
  EXPECT_FALSE(matches("node*/gpu[0-1]", "gpu1"));
  EXPECT_TRUE(matches("rail0-leaf*", "rail0-leaf3"));
  EXPECT_FALSE(matches("rail0-leaf*", "rail1-leaf3"));
}

TEST(NamePattern, TailLeavesOutTheMachine) {
  const auto pattern = NamePattern::parse("node1/board*/gpu3");
  ASSERT_TRUE(pattern);
  EXPECT_EQ(pattern->segments(), 3U);
  EXPECT_TRUE(pattern->tail().matches("board7/gpu3"));
  EXPECT_FALSE(pattern->tail().matches("gpu3"));
}

TEST(NamePattern, OneNumberIsExactHoweverWritten) {
  EXPECT_TRUE(NamePattern::parse("node1/gpu3")->is_exact());
  EXPECT_TRUE(NamePattern::parse("gpu[3]")->is_exact());
  EXPECT_FALSE(NamePattern::parse("gpu[3-4]")->is_exact());
  EXPECT_FALSE(NamePattern::parse("node*/gpu3")->is_exact());
}

class MalformedPattern : public testing::TestWithParam<const char*> {};

TEST_P(MalformedPattern, IsNotParsed) { EXPECT_FALSE(NamePattern::parse(GetParam())); }

INSTANTIATE_TEST_SUITE_P(All,
                         MalformedPattern,
                         testing::Values("",
                                         "gpu",
                                         "*",
                                         "3",
                                         "/gpu0",
                                         "gpu0/",
                                         "node0//gpu0",
                                         "gpu[]",
                                         "gpu[0",
                                         "gpu0]",
                                         "[0-3]",
                                         "gpu[0-]",
                                         "gpu[-3]",
                                         "gpu[3-1]",
                                         "gpu[0,]",
                                         "gpu[a]",
                                         "gpu[0[1]]",
                                         "gpu[0-3]x",
                                         "gpu**",
                                         "g*u0",
                                         "gpu[0]*",
                                         "gpu99999999999999999999",
                                         "gpu[0-99999999999999999999]"));

TEST(SplitName, TakesTheNumberAtTheEnd) {
  const auto split = split_name("rail0-leaf12");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->first, "rail0-leaf");
  EXPECT_EQ(split->second, 12);
  EXPECT_FALSE(split_name("gpu"));
  EXPECT_FALSE(split_name("12"));
  EXPECT_FALSE(split_name(""));
}

}  // namespace
}  // namespace twinrun
