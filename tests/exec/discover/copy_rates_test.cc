#include "exec/discover/copy_rates.h"

#include <gtest/gtest.h>

namespace twinrun::exec {
namespace {

// How fast is the machine's affair; that somebody copied is ours.
TEST(CopyRates, EveryNodeHasBothFigures) {
  Machine machine;
  machine.nodes = {{0, {0}, {1 << 26}, {}, {}}, {1, {0, 1 << 20}, {1 << 26}, {}, {}}};
  measure_copies(machine);
  EXPECT_GT(machine.nodes[0].copy.bytes_per_s, 1e7);
  EXPECT_EQ(machine.nodes[0].copies, machine.nodes[0].copy);  // one core is all cores
  EXPECT_GT(machine.nodes[1].copies.bytes_per_s, 1e7);
}

// Eight cores over 1152 MiB of cache: four times that, an eighth each. Without a word on caches it
// is 512 MiB; a small memory gives an eighth of it; and a thread has 32 MiB whatever happens.
TEST(CopyRates, BlocksTogetherAreFourTimesTheCachesWhereMemoryAllows) {
  constexpr std::int64_t kMebi = 1 << 20;
  NumaNode node{0, {0}, {std::int64_t{64 * 1024} * kMebi}, {}, {}, {1152 * kMebi}};
  EXPECT_EQ(block_bytes(node, 8), 576U * kMebi);
  EXPECT_EQ(block_bytes(node, 1), 4608U * kMebi);
  node.cache = {};
  EXPECT_EQ(block_bytes(node, 8), 64U * kMebi);
  node.cache = {32 * kMebi};
  EXPECT_EQ(block_bytes(node, 8), 64U * kMebi);
  node.cache = {1152 * kMebi};
  node.memory = {8 * 1024 * kMebi};
  EXPECT_EQ(block_bytes(node, 8), 128U * kMebi);
  EXPECT_EQ(block_bytes(node, 128), 32U * kMebi);
}

}  // namespace
}  // namespace twinrun::exec
