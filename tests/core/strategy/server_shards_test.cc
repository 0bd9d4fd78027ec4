#include "core/strategy/server_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

using ::testing::ElementsAre;

std::vector<std::int64_t> elements_by_server(
    const std::vector<std::vector<ShardTransfer>>& families, std::size_t servers) {
  std::vector<std::int64_t> sums(servers);
  for (const std::vector<ShardTransfer>& transfers : families) {
    for (const ShardTransfer& transfer : transfers) {
      sums[transfer.server] += transfer.elements;
    }
  }
  return sums;
}

TEST(ServerShards, ATensorGoesToTheServerThatHasLeast) {
  const auto families =
      shard_over_servers({{{0, {500, 20}}, {1, {300}}, {2, {100}}}}, {.servers = 2});
  EXPECT_THAT(elements_by_server(families, 2), ElementsAre(500, 20 + 300 + 100));
}

TEST(ServerShards, AVeryLargeTensorIsCutEvenly) {
  const auto families = shard_over_servers({{{0, {3'000'002}}}}, {.servers = 3});
  EXPECT_THAT(elements_by_server(families, 3), ElementsAre(1'000'001, 1'000'001, 1'000'000));
}

TEST(ServerShards, OneServerHasEveryTensorWhole) {
  const auto families = shard_over_servers({{{0, {3'000'002}}}}, {.servers = 1});
  ASSERT_EQ(families.front().size(), 1U);
  EXPECT_EQ(families.front().front().elements, 3'000'002);
}

TEST(ServerShards, FamiliesShareTheServersLoad) {
  const auto families = shard_over_servers({{{0, {700}}}, {{1, {600}}}}, {.servers = 2});
  EXPECT_THAT(elements_by_server(families, 2), ElementsAre(700, 600));
}

// 1 MiB is 262,144 elements of 4 bytes.
TEST(ServerShards, TransfersCloseAtTheLayerThatReachesOneMebibyte) {
  const std::vector<TrainedLayer> layers = {
      {0, {100}}, {1, {262'144}}, {2, {200'000}}, {3, {100'000}}, {4, {1000}}};
  const auto families = shard_over_servers({layers}, {.servers = 1});
  const std::vector<ShardTransfer>& transfers = families.front();
  ASSERT_EQ(transfers.size(), 3U);
  EXPECT_THAT(transfers[0].layers, ElementsAre(4, 3, 2));  // backward: the last layer first
  EXPECT_EQ(transfers[0].elements, 301'000);
  EXPECT_THAT(transfers[1].layers, ElementsAre(1));
  EXPECT_THAT(transfers[2].layers, ElementsAre(0));
  EXPECT_EQ(transfers[2].number, 2U);
}

TEST(ServerShards, WhatIsLeftOverIsInTheOrderOfBackward) {
  const auto families = shard_over_servers({{{0, {7}}, {1, {9}}}}, {.servers = 2});
  const std::vector<ShardTransfer>& transfers = families.front();
  ASSERT_EQ(transfers.size(), 2U);
  EXPECT_THAT(transfers[0].layers, ElementsAre(1));
  EXPECT_THAT(transfers[1].layers, ElementsAre(0));
}

}  // namespace
}  // namespace twinrun
