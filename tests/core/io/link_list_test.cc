#include "core/io/link_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/topology/name_pattern.h"

namespace twinrun {
namespace {

using testing::ElementsAre;

TEST(IndexPattern, RunsAreShortened) {
  EXPECT_EQ(index_pattern("gpu", {3}, 8), "gpu3");
  EXPECT_EQ(index_pattern("gpu", {0, 1, 2, 3}, 8), "gpu[0-3]");
  EXPECT_EQ(index_pattern("gpu", {0, 2, 3, 5}, 8), "gpu[0,2-3,5]");
  EXPECT_EQ(index_pattern("gpu", {0, 1}, 2), "gpu*");
  EXPECT_EQ(index_pattern("gpu", {0}, 1), "gpu0");
}

TEST(IndexPattern, IsReadBackAsTheSameNames) {
  const auto pattern = NamePattern::parse(index_pattern("gpu", {0, 2, 3, 5}, 8));
  ASSERT_TRUE(pattern);
  for (const std::int64_t number : {0, 2, 3, 5}) {
    EXPECT_TRUE(pattern->matches(0, "gpu", number)) << number;
  }
  for (const std::int64_t number : {1, 4, 6, 7}) {
    EXPECT_FALSE(pattern->matches(0, "gpu", number)) << number;
  }
}

TEST(LinkList, LinksToOneEndWithEqualFiguresAreOneEntry) {
  LinkList list;
  LinkSpec fast;
  fast.bandwidth = gigabytes_per_second(24);
  LinkSpec slow;
  slow.bandwidth = gigabytes_per_second(12);
  list.add({"gpu", 1, 4}, {"pcie", 0, 2}, fast);
  list.add({"gpu", 0, 4}, {"pcie", 0, 2}, fast);
  list.add({"gpu", 2, 4}, {"pcie", 0, 2}, slow);
  const std::vector<LinkSpec> links = list.finish();
  ASSERT_EQ(links.size(), 2U);
  EXPECT_THAT(links[0].from, ElementsAre("gpu[0-1]"));
  EXPECT_THAT(links[1].from, ElementsAre("gpu2"));
}

}  // namespace
}  // namespace twinrun
