#include <algorithm>
#include <cmath>
#include <ostream>
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

// Each of `specs` with a field set to each value, when the row reads that key.
template <class Field, class Value>
std::vector<CollectiveSpec> varied(const std::vector<CollectiveSpec>& specs,
                                   bool reads_it,
                                   Field CollectiveSpec::*field,
                                   const std::vector<Value>& values) {
  std::vector<CollectiveSpec> all;
  for (const CollectiveSpec& spec : specs) {
    for (const Value& value : values) {
      all.push_back(spec);
      all.back().*field = value;
    }
  }
  return reads_it ? all : specs;
}

// Every combination of the keys the row reads.
std::vector<CollectiveSpec> with_each_key(const CollectiveAlgorithm& algorithm,
                                          const CollectiveSpec& base) {
  const std::vector<std::uint32_t> sizes = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::uint32_t> servers = {1, 2, 3, 4, 5};
  const std::vector places = {ServerPlacement::kColocated, ServerPlacement::kAppended};
  auto specs =
      varied({base}, reads(algorithm, "ranks_per_node"), &CollectiveSpec::ranks_per_node, sizes);
  specs = varied(specs, reads(algorithm, "servers"), &CollectiveSpec::servers, servers);
  return varied(specs, reads(algorithm, "placement"), &CollectiveSpec::placement, places);
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

std::ostream& operator<<(std::ostream& out, const Case& of) {
  return out << of.algorithm->name << " " << name_of(of.kind);
}

// Every key, root and size for a number of ranks, whether the row can do it or not.
std::vector<CollectiveSpec> specs_of(const Case& of, std::uint32_t ranks) {
  CollectiveSpec base;
  base.kind = of.kind;
  base.ranks = ranks;
  std::vector<CollectiveSpec> all;
  for (const CollectiveSpec& keyed : with_each_key(*of.algorithm, base)) {
    for (const CollectiveSpec& rooted : with_each_root(keyed)) {
      const auto sized = of_sizes(rooted);
      all.insert(all.end(), sized.begin(), sized.end());
    }
  }
  return all;
}

class EveryCollective : public testing::TestWithParam<Case> {
 protected:
  template <class Law>
  void for_every_spec(const Law& law) const {
    for (std::uint32_t ranks = 1; ranks <= kMostRanks && !HasFailure(); ++ranks) {
      for (const CollectiveSpec& spec : specs_of(GetParam(), ranks)) {
        law(spec);
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

// Spoils one message of a schedule at a time and sees the prover notice: a receive that is left
// out, and, on both sides, a reduction in place of a copy or the other way round.
struct Spoiler {
  const CollectiveSchedule& schedule;

  template <class Spoil>
  [[nodiscard]] std::string flaw(const Spoil& spoil) const {
    return prove(schedule.spec(), schedule.participants(), schedule.steps(),
                 [&](std::uint32_t rank, std::uint32_t step, StepTransfers& out) {
                   schedule.transfers(rank, step, out);
                   spoil(rank, step, out);
                 })
        .flaw;
  }

  [[nodiscard]] std::string without(std::uint32_t to, std::uint32_t at, std::size_t index) const {
    return flaw([&](std::uint32_t rank, std::uint32_t step, StepTransfers& out) {
      if (rank == to && step == at) {
        out.receives.erase(out.receives.begin() + static_cast<std::ptrdiff_t>(index));
      }
    });
  }

  [[nodiscard]] std::string with_other_action(std::uint32_t to,
                                              std::uint32_t at,
                                              const Transfer& spoilt) const {
    const auto swap = [&](std::vector<Transfer>& list, std::uint32_t peer) {
      for (Transfer& transfer : list) {
        if (transfer.peer == peer && transfer.from == spoilt.from) {
          transfer.action = spoilt.action == Action::kCopy ? Action::kReduce : Action::kCopy;
        }
      }
    };
    return flaw([&](std::uint32_t rank, std::uint32_t step, StepTransfers& out) {
      if (rank == to && step == at) {
        swap(out.receives, spoilt.peer);
      }
      if (rank == spoilt.peer && step == at) {
        swap(out.sends, to);
      }
    });
  }
};

TEST_P(EveryCollective, EverySpoiltMessageIsNoticed) {
  CollectiveSpec spec;
  spec.kind = GetParam().kind;
  spec.ranks = 6;
  spec.bytes = 100;
  spec.ranks_per_node = 2;
  const CollectiveSchedule schedule(*GetParam().algorithm, spec);
  const Spoiler spoiler{schedule};
  std::size_t spoilt = 0;
  StepTransfers transfers;
  for (std::uint32_t rank = 0; rank < schedule.participants(); ++rank) {
    for (std::uint32_t step = 0; step < schedule.steps(); ++step) {
      schedule.transfers(rank, step, transfers);
      for (std::size_t i = 0; i < transfers.receives.size(); ++i, ++spoilt) {
        EXPECT_NE(spoiler.without(rank, step, i), "") << rank << " " << step;
        EXPECT_NE(spoiler.with_other_action(rank, step, transfers.receives[i]), "")
            << rank << " " << step;
      }
    }
  }
  EXPECT_GE(spoilt, 5U);
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name =
      std::string(info.param.algorithm->name) + "_" + std::string(name_of(info.param.kind));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryCollective, testing::ValuesIn(cases()), case_name);

// What the literature says an algorithm costs, written down a second time and by another hand:
// steps, and bytes sent by the busiest rank when N divides the array K.
struct Cost {
  std::string_view algorithm;
  CollectiveKind kind;
  double (*steps)(double n);
  double (*arrays)(double n);  // bytes / K
};

double ceil_log2(double n) { return std::ceil(std::log2(n)); }
double once_less(double n) { return (n - 1) / n; }

TEST(CollectiveCost, EqualsThePublishedFormulas) {
  using Kind = CollectiveKind;
  const Cost costs[] = {
      {"ring", Kind::kAllReduce, [](double n) { return 2 * (n - 1); },
       [](double n) { return 2 * (n - 1) / n; }},
      {"ring", Kind::kReduceScatter, [](double n) { return n - 1; }, once_less},
      {"ring", Kind::kAllGather, [](double n) { return n - 1; }, once_less},
      {"tree", Kind::kAllReduce, [](double n) { return 2 * ceil_log2(n); },
       [](double n) { return n >= 4 ? 2.0 : n / 2; }},
      {"tree", Kind::kBroadcast, [](double n) { return 1 + ceil_log2(n - 1); },
       [](double) { return 1.0; }},
      {"recursive-doubling", Kind::kBroadcast, ceil_log2, ceil_log2},
      {"recursive-doubling", Kind::kReduce, ceil_log2, [](double) { return 1.0; }},
      {"direct", Kind::kAllReduce, [](double) { return 2.0; },
       [](double n) { return 2 * (n - 1) / n; }},
      {"direct", Kind::kAllToAll, [](double) { return 1.0; }, once_less},
      {"direct", Kind::kBroadcast, [](double) { return 1.0; }, [](double n) { return n - 1; }},
      {"ps", Kind::kAllReduce, [](double) { return 2.0; }, [](double n) { return n - 1; }},
  };
  for (const Cost& cost : costs) {
    for (std::uint32_t ranks = 2; ranks <= kMostRanks; ++ranks) {
      SCOPED_TRACE(std::string(cost.algorithm) + " " + std::to_string(ranks));
      CollectiveSpec spec;
      spec.kind = cost.kind;
      spec.ranks = ranks;
      spec.bytes = std::int64_t{8} * ranks;
      const CollectiveSchedule schedule(*find_collective_algorithm(cost.algorithm), spec);
      EXPECT_DOUBLE_EQ(schedule.steps(), cost.steps(ranks));
      EXPECT_NEAR(static_cast<double>(schedule.bytes_sent()),
                  cost.arrays(ranks) * static_cast<double>(spec.bytes), 1e-6);
    }
  }
}

// Rabenseifner's 2 K (P - 1) / P in 2 log2 P steps, and K log2 P in log2 P; powers of two.
TEST(CollectiveCost, OfPowersOfTwoEqualsThePublishedFormulas) {
  CollectiveSpec spec;
  for (std::uint32_t log = 1; log <= 5; ++log) {
    spec.ranks = 1U << log;
    spec.bytes = std::int64_t{8} * spec.ranks;
    const CollectiveSchedule halving(*find_collective_algorithm("halving-doubling"), spec);
    const CollectiveSchedule doubling(*find_collective_algorithm("recursive-doubling"), spec);
    EXPECT_EQ(halving.steps(), 2 * log);
    EXPECT_EQ(halving.bytes_sent(), 2 * 8 * (spec.ranks - 1));
    EXPECT_EQ(doubling.steps(), log);
    EXPECT_EQ(doubling.bytes_sent(), spec.bytes * log);
  }
}

// 2 (N - 1) K over the port of a server beside one of N workers; 2 N K over that of one on its own.
TEST(CollectiveCost, OfAServersPort) {
  CollectiveSpec spec;
  spec.bytes = 4'000;
  for (spec.ranks = 1; spec.ranks <= kMostRanks; ++spec.ranks) {
    const CollectiveAlgorithm& ps = *find_collective_algorithm("ps");
    spec.placement = ServerPlacement::kColocated;
    const Proof beside = prove(CollectiveSchedule(ps, spec));
    EXPECT_EQ(beside.sent[0] + beside.received[0], 2 * (std::int64_t{spec.ranks} - 1) * spec.bytes);
    spec.placement = ServerPlacement::kAppended;
    const Proof alone = prove(CollectiveSchedule(ps, spec));
    EXPECT_EQ(alone.sent[spec.ranks] + alone.received[spec.ranks],
              2 * std::int64_t{spec.ranks} * spec.bytes);
  }
}

// M machines of G: 2 K (G - 1) / G bytes inside and 2 (K / G) (M - 1) / M outside.
TEST(CollectiveCost, OfMachinesWithRings) {
  CollectiveSpec spec;
  for (spec.ranks_per_node = 1; spec.ranks_per_node <= 8; ++spec.ranks_per_node) {
    for (std::uint32_t machines = 1; machines <= 4; ++machines) {
      spec.ranks = machines * spec.ranks_per_node;
      spec.bytes = std::int64_t{4} * spec.ranks;
      const CollectiveSchedule schedule(*find_collective_algorithm("hierarchical"), spec);
      EXPECT_EQ(schedule.steps(), 2 * (spec.ranks_per_node - 1) + 2 * (machines - 1));
      EXPECT_EQ(schedule.bytes_sent(),
                2 * 4 * machines * (spec.ranks_per_node - 1) + 2 * 4 * (machines - 1));
    }
  }
}

TEST(CollectiveCost, MessagesOfARing) {
  CollectiveSpec spec;
  spec.ranks = kMostRanks;
  spec.bytes = 4'000'012;
  const CollectiveSchedule schedule(*find_collective_algorithm("ring"), spec);
  EXPECT_EQ(prove(schedule).messages, 2U * kMostRanks * (kMostRanks - 1));
}

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
