#include "core/base/did_you_mean.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kKeys = {"bandwidth", "count", "kind", "latency", "nodes"};

TEST(NearestName, OneWrongMissingOrExtraLetter) {
  EXPECT_EQ(nearest_name("bandwith", kKeys), "bandwidth");
  EXPECT_EQ(nearest_name("latencyy", kKeys), "latency");
  EXPECT_EQ(nearest_name("kimd", kKeys), "kind");
}

TEST(NearestName, TwoSwappedNeighboursCountOnce) {
  EXPECT_EQ(nearest_name("knid", kKeys), "kind");  // four letters forgive one mistake, not two
}

TEST(NearestName, CaseDoesNotCount) { EXPECT_EQ(nearest_name("LATENCY", kKeys), "latency"); }

TEST(NearestName, MoreThanAThirdWrongIsNotMeant) {
  EXPECT_EQ(nearest_name("price", kKeys), "");
  EXPECT_EQ(nearest_name("kxxd", kKeys), "");
}

TEST(NearestName, TheNearestWins) {
  const std::vector<std::string> names = {"dgx-a10", "dgx-a100", "dgx-h100"};
  EXPECT_EQ(nearest_name("dgx-a1000", names), "dgx-a100");
}

TEST(NearestName, OfEquallyNearOnesTheFirst) {
  const std::vector<std::string> names = {"rail-a", "rail-b"};
  EXPECT_EQ(nearest_name("rail-c", names), "rail-a");
}

TEST(NearestName, EmptyAndHugeWordsHaveNone) {
  EXPECT_EQ(nearest_name("", kKeys), "");
  EXPECT_EQ(nearest_name(std::string(1'000'000, 'x'), kKeys), "");
  EXPECT_EQ(nearest_name("kind", {}), "");
}

TEST(DidYouMean, NamesTheNearestAndListsTheKnown) {
  EXPECT_EQ(did_you_mean("bandwith", kKeys),
            "did you mean \"bandwidth\"? (known: bandwidth, count, kind, latency, nodes)");
}

TEST(DidYouMean, WithoutANearOneOnlyLists) {
  EXPECT_EQ(did_you_mean("price", kKeys), "known: bandwidth, count, kind, latency, nodes");
}

TEST(DidYouMean, ALongListIsCutAndSaysSo) {
  std::vector<std::string> names(25);
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = "name" + std::to_string(i);
  }
  EXPECT_THAT(did_you_mean("zzz", names), EndsWith("name23, …"));
  names.pop_back();
  EXPECT_THAT(did_you_mean("zzz", names), Not(HasSubstr("…")));
}

}  // namespace
}  // namespace twinrun
