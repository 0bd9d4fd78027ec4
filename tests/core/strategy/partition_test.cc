#include "core/strategy/partition.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/strategy/synthetic.h"

namespace twinrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::int64_t slowest(const std::vector<std::vector<Time>>& times,
                     const std::vector<ChunkRange>& parts) {
  std::int64_t most = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    std::int64_t sum = 0;
    for (std::size_t block = parts[part].first; block < parts[part].end; ++block) {
      sum += times[part][block].ps;
    }
    most = std::max(most, sum);
  }
  return most;
}

// Tries every cut.
std::int64_t best_by_force(const std::vector<std::vector<Time>>& times) {
  const std::size_t blocks = times.front().size();
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  std::vector<ChunkRange> parts;
  const std::function<void(std::size_t)> extend = [&](std::size_t first) {
    if (parts.size() + 1 == times.size()) {
      parts.push_back({first, blocks});
      best = std::min(best, slowest(times, parts));
      parts.pop_back();
      return;
    }
    const std::size_t left = times.size() - parts.size() - 1;
    for (std::size_t end = first + 1; end + left <= blocks; ++end) {
      parts.push_back({first, end});
      extend(end);
      parts.pop_back();
    }
  };
  extend(0);
  return best;
}

void expect_cover(const std::vector<ChunkRange>& parts, std::size_t blocks) {
  std::size_t next = 0;
  for (const ChunkRange& part : parts) {
    EXPECT_EQ(part.first, next);
    EXPECT_GT(part.end, part.first);
    next = part.end;
  }
  EXPECT_EQ(next, blocks);
}

TEST(Partition, SlowestPartIsAsFastAsAnyCutMakesIt) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t blocks = 1 + random() % 9;
    const std::size_t parts = 1 + random() % blocks;
    std::vector<std::vector<Time>> times(parts);
    for (std::vector<Time>& row : times) {
      for (std::size_t block = 0; block < blocks; ++block) {
        row.push_back({static_cast<std::int64_t>(random() % 20)});
      }
    }
    const std::vector<ChunkRange> cut = cut_evenly(times);
    expect_cover(cut, blocks);
    EXPECT_EQ(slowest(times, cut), best_by_force(times)) << round;
  }
}

TEST(Partition, AmongTheBestCutsTheMostEvenIsTaken) {
  const std::vector<std::vector<Time>> equal(4, std::vector<Time>(9, Time{1}));
  EXPECT_THAT(cut_evenly(equal),
              ElementsAre(ChunkRange{0, 2}, ChunkRange{2, 4}, ChunkRange{4, 6}, ChunkRange{6, 9}));
  const std::vector<std::vector<Time>> one_large(3, std::vector<Time>{{1}, {1}, {1}, {1}, {9}});
  EXPECT_THAT(cut_evenly(one_large),
              ElementsAre(ChunkRange{0, 2}, ChunkRange{2, 4}, ChunkRange{4, 5}));
}

TEST(Partition, BlocksAreWeighedOnTheDeviceOfTheirStage) {
  // The second device is half as fast: of six equal blocks it gets two.
  const Topology topology =
      plain_devices(2, R"(, "overrides": [{"vertices": "gpu1", "compute_scale": 0.5}])");
  const Example example = compile_on(pipeline_job("gpipe", 2, 4), equal_blocks(6), topology);
  Diagnostics diagnostics;
  const auto work = layer_work(example.model, {});
  EXPECT_THAT(partition(example.job, example.model, topology, example.compiled.layout, work, false),
              ElementsAre(ChunkRange{0, 4}, ChunkRange{4, 6}));
}

TEST(Partition, BalanceIsObeyed) {
  Job job = pipeline_job("gpipe", 3, 4);
  job.parallelism.balance = {1, 4, 1};
  const Example example = compile_on(job, equal_blocks(6), plain_devices(3));
  EXPECT_TRUE(example.plan().find("step0/forward/fc4/mb0@rank1"));
  EXPECT_TRUE(example.plan().find("step0/forward/fc5/mb0@rank2"));
}

TEST(Partition, MegatronGivesEqualLayersAndTheEndsToTheEnds) {
  const Model model = *catalogue_model("gpt2");  // 12 layers
  EXPECT_THAT(cut_equal_layers(model, 4), ElementsAre(ChunkRange{0, 4}, ChunkRange{4, 7},
                                                      ChunkRange{7, 10}, ChunkRange{10, 14}));
  EXPECT_TRUE(cut_equal_layers(model, 5).empty());
  EXPECT_TRUE(cut_equal_layers(*catalogue_model("resnet50"), 2).empty());
}

TEST(Partition, MoreStagesThanBlocksNamesTheMost) {
  Diagnostics diagnostics;
  compile(pipeline_job("gpipe", 8, 8), equal_blocks(3), plain_devices(8), {}, diagnostics);
  EXPECT_THAT(all_messages(diagnostics), HasSubstr("E0905 /parallelism/pipeline_parallel_degree"));
  EXPECT_THAT(all_messages(diagnostics), HasSubstr("3 stages at most"));
}

TEST(Partition, BalanceThatDoesNotFitSaysWhatWould) {
  const auto complaint = [](std::vector<std::int64_t> balance) {
    Job job = pipeline_job("1f1b", 2, 4);
    job.parallelism.balance = std::move(balance);
    Diagnostics diagnostics;
    compile(job, equal_blocks(5), plain_devices(2), {}, diagnostics);
    return all_messages(diagnostics);
  };
  EXPECT_THAT(complaint({2, 2, 1}), HasSubstr("3 numbers for 2 stages (2 numbers)"));
  EXPECT_THAT(complaint({2, 2}), HasSubstr("adds up to 4, blocks has 5 blocks"));
  EXPECT_THAT(complaint({5, 0}), HasSubstr("gives a stage 0 blocks"));
  EXPECT_EQ(complaint({2, 3}), "");
}

}  // namespace
}  // namespace twinrun
