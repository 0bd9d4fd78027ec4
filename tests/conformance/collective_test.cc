#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/collective/algorithms.h"
#include "core/collective/prove.h"

// Laws of every collective algorithm, because it is registered in collective_algorithms().

namespace twinrun {
namespace {

constexpr std::uint32_t kMostRanks = 33;

// 0, 1, N - 1, N, N + 1 elements and sizes that no small number divides; elements of 2 and 4 bytes.
std::vector<CollectiveSpec> of_sizes(const CollectiveSpec& base) {
  std::vector<CollectiveSpec> specs;
  const std::int64_t ranks = base.ranks;
  for (std::int64_t elements : {std::int64_t{0}, std::int64_t{1}, ranks - 1, ranks, ranks + 1,
                                2 * ranks - 1, std::int64_t{1'000'003}}) {
    specs.push_back(base);
    specs.back().element_bytes = elements % 2 == 0 ? 2 : 4;
    specs.back().bytes = elements * specs.back().element_bytes;
  }
  return specs;
}

std::vector<CollectiveSpec> with_each_root(const CollectiveSpec& base) {
  std::vector<CollectiveSpec> specs;
  const std::uint32_t step = base.ranks <= 8 ? 1 : base.ranks - 1;  // all roots, or first and last
  for (std::uint32_t root = 0; root < (has_root(base.kind) ? base.ranks : 1); root += step) {
    specs.push_back(base);
    specs.back().root = root;
  }
  return specs;
}

bool reads(const CollectiveAlgorithm& algorithm, std::string_view key) {
  return std::find(algorithm.keys.begin(), algorithm.keys.end(), key) != algorithm.keys.end();
}

// Every combination of the keys the row reads.
std::vector<CollectiveSpec> with_each_key(const CollectiveAlgorithm& algorithm,
                                          const CollectiveSpec& base) {
  std::vector<CollectiveSpec> specs;
  for (std::uint32_t inside = 1; inside <= (reads(algorithm, "ranks_per_node") ? 8 : 1); ++inside) {
    for (std::uint32_t servers = 1; servers <= (reads(algorithm, "servers") ? 5 : 1); ++servers) {
      for (auto placement : {ServerPlacement::kColocated, ServerPlacement::kAppended}) {
        if (placement == ServerPlacement::kColocated || reads(algorithm, "placement")) {
          specs.push_back(base);
          specs.back().ranks_per_node = inside;
          specs.back().servers = servers;
          specs.back().placement = placement;
        }
      }
    }
  }
  return specs;
}

std::string text_of(const CollectiveSpec& spec) {
  return std::string(name_of(spec.kind)) + " ranks " + std::to_string(spec.ranks) + " bytes " +
         std::to_string(spec.bytes) + " root " + std::to_string(spec.root) + " per node " +
         std::to_string(spec.ranks_per_node) + " servers " + std::to_string(spec.servers) +
         (spec.placement == ServerPlacement::kAppended ? " appended" : "");
}

struct Case {
  const CollectiveAlgorithm* algorithm;
  CollectiveKind kind;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    for (CollectiveKind kind : algorithm.kinds) {
      all.push_back({&algorithm, kind});
    }
  }
  return all;
}

void PrintTo(const Case& of, std::ostream* out) {
  *out << of.algorithm->name << " " << name_of(of.kind);
}

class EveryCollective : public testing::TestWithParam<Case> {
 protected:
  template <class Law>
  void for_every_spec(const Law& law) const {
    for (std::uint32_t ranks = 1; ranks <= kMostRanks && !HasFailure(); ++ranks) {
      CollectiveSpec base;
      base.kind = GetParam().kind;
      base.ranks = ranks;
      for (const CollectiveSpec& keyed : with_each_key(*GetParam().algorithm, base)) {
        for (const CollectiveSpec& rooted : with_each_root(keyed)) {
          for (const CollectiveSpec& spec : of_sizes(rooted)) {
            law(spec);
          }
        }
      }
    }
  }
};

// Every step of a large array has a message: the number of steps is not too large. It is not too
// small either, or the promise would not be kept.
void hold_proof(const CollectiveSchedule& schedule) {
  const Proof proof = prove(schedule);
  ASSERT_EQ(proof.flaw, "");
  EXPECT_EQ(*std::max_element(proof.sent.begin(), proof.sent.end()), schedule.bytes_sent());
  if (schedule.spec().bytes >= 1'000'003) {
    EXPECT_THAT(proof.in_step, testing::Each(testing::Gt(0U)));
  }
}

TEST_P(EveryCollective, KeepsItsPromiseAtTheDeclaredCost) {
  std::size_t proven = 0;
  for_every_spec([&](const CollectiveSpec& spec) {
    if (!why_not(*GetParam().algorithm, spec)) {
      SCOPED_TRACE(text_of(spec));
      hold_proof(CollectiveSchedule(*GetParam().algorithm, spec));
      ++proven;
    }
  });
  EXPECT_GE(proven, kMostRanks * 7);  // every number of ranks in every size, at least
}

TEST_P(EveryCollective, RefusesOnlyForAReasonTheKeysGive) {
  for_every_spec([&](const CollectiveSpec& spec) {
    const auto reason = why_not(*GetParam().algorithm, spec);
    if (reason) {
      SCOPED_TRACE(text_of(spec));
      EXPECT_THAT(*reason, testing::EndsWith("."));
      EXPECT_TRUE(spec.ranks_per_node > 1 || spec.servers > 1) << *reason;
    }
  });
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name =
      std::string(info.param.algorithm->name) + "_" + std::string(name_of(info.param.kind));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryCollective, testing::ValuesIn(cases()), case_name);

TEST(CollectiveTable, NamesAreDistinctAndFound) {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    EXPECT_EQ(find_collective_algorithm(algorithm.name), &algorithm);
    EXPECT_FALSE(algorithm.description.empty());
  }
  EXPECT_EQ(find_collective_algorithm("rings"), nullptr);
}

TEST(CollectiveTable, EveryKindIsDoneBySomeAlgorithm) {
  for (std::size_t kind = 0; kind < kCollectiveKindNames.size(); ++kind) {
    const auto& rows = collective_algorithms();
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const CollectiveAlgorithm& row) {
      return std::count(row.kinds.begin(), row.kinds.end(), static_cast<CollectiveKind>(kind)) > 0;
    })) << kCollectiveKindNames[kind];
  }
}

}  // namespace
}  // namespace twinrun
