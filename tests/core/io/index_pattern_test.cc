#include "core/io/index_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(IndexPattern, RunsAreShortened) {
  EXPECT_EQ(index_pattern("gpu", {3}, 8), "gpu3");
  EXPECT_EQ(index_pattern("gpu", {0, 1, 2, 3}, 8), "gpu[0-3]");
  EXPECT_EQ(index_pattern("gpu", {0, 2, 3, 5}, 8), "gpu[0,2-3,5]");
  EXPECT_EQ(index_pattern("gpu", {0, 1}, 2), "gpu*");
  EXPECT_EQ(index_pattern("gpu", {0}, 1), "gpu0");
}

TEST(IndexPattern, ReadsItsOwnWriting) {
  const std::vector<std::pair<std::string, std::size_t>> totals = {{"gpu", 3}, {"nic", 2}};
  EXPECT_EQ(expand_index_pattern("gpu3", totals).first, "gpu");
  EXPECT_THAT(expand_index_pattern("gpu3", totals).second, ElementsAre(3U));
  EXPECT_THAT(expand_index_pattern("gpu*", totals).second, ElementsAre(0U, 1U, 2U));
  EXPECT_THAT(expand_index_pattern("nic[0,2-4]", totals).second, ElementsAre(0U, 2U, 3U, 4U));
  for (const char* wrong : {"gpu", "gpu[", "gpu[0", "gpu[a]", "gpu0-3", "gpu[0;3]", "gpu[1-]"}) {
    EXPECT_THAT(expand_index_pattern(wrong, totals).second, IsEmpty()) << wrong;
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
