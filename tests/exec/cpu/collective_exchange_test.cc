#include "exec/cpu/collective_exchange.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/collective/algorithms.h"

// Every algorithm of the table on real memory and threads, for the kinds it does; what each rank
// should hold follows from the definition of the collective.

namespace twinrun::exec {
namespace {

constexpr std::int64_t kElements = 37;  // not divisible by any number of ranks

float contribution(std::uint32_t rank, std::size_t element) {
  return static_cast<float>(rank * 100 + element % 7);
}

CollectiveSpec spec_of(const CollectiveAlgorithm& algorithm,
                       CollectiveKind kind,
                       std::uint32_t ranks) {
  CollectiveSpec spec;
  spec.kind = kind;
  spec.ranks = ranks;
  spec.bytes = kElements * 4;
  spec.root = ranks - 1;
  spec.ranks_per_node = ranks % 2 == 0 ? 2 : 1;
  spec.servers = algorithm.name == "ps"                ? 1
                 : algorithm.name == "ps-hierarchical" ? ranks / spec.ranks_per_node
                                                       : ranks;
  return spec;
}

std::vector<std::vector<float>> run(const CollectiveAlgorithm& algorithm,
                                    const CollectiveSpec& spec) {
  CollectiveExchange exchange(CollectiveSchedule(algorithm, spec));
  std::vector<std::vector<float>> arrays(spec.ranks, std::vector<float>(kElements));
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < spec.ranks; ++rank) {
    for (std::size_t i = 0; i < arrays[rank].size(); ++i) {
      arrays[rank][i] = contribution(rank, i);
    }
    threads.emplace_back([&, rank] { exchange.run(rank, arrays[rank]); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return arrays;
}

float sum_over_ranks(std::uint32_t ranks, std::size_t element) {
  float sum = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    sum += contribution(rank, element);
  }
  return sum;
}

// What a rank ends with, or nothing where the collective leaves it open.
std::optional<float> expected(const CollectiveSpec& spec, std::uint32_t rank, std::size_t element) {
  std::uint32_t owner = 0;
  while (chunk_of(spec, spec.ranks, owner).end <= static_cast<std::int64_t>(element) * 4) {
    ++owner;
  }
  switch (spec.kind) {
    case CollectiveKind::kAllReduce:
      return sum_over_ranks(spec.ranks, element);
    case CollectiveKind::kReduceScatter:
      return owner == rank ? std::optional(sum_over_ranks(spec.ranks, element)) : std::nullopt;
    case CollectiveKind::kReduce:
      return spec.root == rank ? std::optional(sum_over_ranks(spec.ranks, element)) : std::nullopt;
    case CollectiveKind::kAllGather:
      return contribution(owner, element);
    case CollectiveKind::kBroadcast:
      return contribution(spec.root, element);
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kBarrier:
      return std::nullopt;
  }
  return std::nullopt;
}

TEST(CollectiveExchange, LeavesEveryRankWithItsResult) {
  int runs = 0;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    for (const CollectiveKind kind : algorithm.kinds) {
      for (std::uint32_t ranks = 1; ranks <= 9; ++ranks) {
        const CollectiveSpec spec = spec_of(algorithm, kind, ranks);
        const bool moves_in_place =
            kind != CollectiveKind::kAllToAll && kind != CollectiveKind::kBarrier;
        if (why_not(algorithm, spec) || !moves_in_place) {
          continue;
        }
        const auto arrays = run(algorithm, spec);
        ++runs;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          for (std::size_t i = 0; i < arrays[rank].size(); ++i) {
            ASSERT_EQ(arrays[rank][i], expected(spec, rank, i).value_or(arrays[rank][i]))
                << algorithm.name << " " << name_of(kind) << " over " << ranks << ": rank " << rank
                << ", element " << i;
          }
        }
      }
    }
  }
  EXPECT_GT(runs, 100);
}

TEST(CollectiveExchange, GivesUpWhenStopped) {
  const CollectiveAlgorithm& ring = *find_collective_algorithm("ring");
  CollectiveExchange exchange(
      CollectiveSchedule(ring, spec_of(ring, CollectiveKind::kAllReduce, 2)));
  std::vector<float> array(kElements);
  bool has_stopped = false;
  std::thread lonely([&] {
    try {
      exchange.run(0, array);  // rank 1 never comes
    } catch (const Stopped&) {
      has_stopped = true;
    }
  });
  exchange.stop();
  lonely.join();
  EXPECT_TRUE(has_stopped);
}

}  // namespace
}  // namespace twinrun::exec
