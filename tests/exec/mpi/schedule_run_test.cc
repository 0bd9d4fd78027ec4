#include "exec/mpi/schedule_run.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/collective/algorithms.h"
#include "exec/gate.h"
#include "exec/known_numbers.h"
#include "tests/exec/mpi/fake_transport.h"

namespace twinrun::exec {
namespace {

constexpr int kTag = 7;

ScheduleRun::Group group_of(int communicator) {
  const auto address = [communicator](std::uint32_t peer) {
    return Address{static_cast<int>(peer), kTag, communicator};
  };
  return {address, address, [](std::uint32_t) {}};
}

CollectiveSpec spec_of(CollectiveKind kind, std::uint32_t ranks, std::size_t elements) {
  CollectiveSpec spec;
  spec.kind = kind;
  spec.ranks = ranks;
  spec.bytes = static_cast<std::int64_t>(elements * sizeof(float));
  return spec;
}

// Three in turn, as a stream does it; whoever is ahead sends before the others are there.
void expect_sums(const CollectiveAlgorithm& algorithm,
                 std::uint32_t ranks,
                 std::size_t elements,
                 bool is_rendezvous) {
  const CollectiveSchedule schedule(algorithm,
                                    spec_of(CollectiveKind::kAllReduce, ranks, elements));
  const KnownNumbers numbers(ranks);
  FakeNetwork network(static_cast<int>(ranks));
  network.is_rendezvous = is_rendezvous;
  in_processes(network, [&](FakeTransport& transport) {
    Post post(transport);
    post.provide(1);
    ScheduleRun run(post);
    const auto rank = static_cast<std::uint32_t>(transport.rank());
    std::vector<float> array(elements);
    for (const std::uint32_t exchange : {0U, 1U, 2U}) {
      numbers.put(rank, {exchange, 0}, array);
      run.run(schedule, rank, array, array, group_of(post.data_communicator(0)));
      EXPECT_EQ(numbers.wrong_sums({exchange, 0}, array), 0)
          << algorithm.name << ", rank " << rank << " of " << ranks << ", " << elements;
    }
  });
}

// Around the size of a piece and of a window of them, and more than that.
TEST(ScheduleRun, EveryAlgorithmSumsWhatIsCutIntoPieces) {
  constexpr std::size_t kPiece = 65'536;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    for (const std::uint32_t ranks : {2U, 3U, 4U}) {
      for (const std::size_t elements : {std::size_t{1}, kPiece + 1, 4 * kPiece, 13 * kPiece + 5}) {
        if (!why_not(algorithm, spec_of(CollectiveKind::kAllReduce, ranks, elements))) {
          expect_sums(algorithm, ranks, elements, false);
          expect_sums(algorithm, ranks, elements, true);
        }
      }
    }
  }
}

// Numbers whose sum depends on the order: 100000000 + 1 is 100000000 in fp32, so the ones before
// -100000000 are lost, and those behind it count.
TEST(ScheduleRun, SumsHaveOneOrder) {
  constexpr std::array<float, 5> kValues = {1e8F, 1, -1e8F, 1, 1};
  constexpr std::uint32_t kRanks = 5;
  constexpr std::size_t kElements = 200'000;
  const CollectiveSchedule schedule(*find_collective_algorithm("direct"),
                                    spec_of(CollectiveKind::kReduce, kRanks, kElements));
  std::vector<std::vector<float>> results;
  for (const int reluctance : {0, 3, -3}) {
    FakeNetwork network(kRanks);
    network.reluctance = reluctance;
    in_processes(network, [&](FakeTransport& transport) {
      Post post(transport);
      post.provide(1);
      ScheduleRun run(post);
      const auto rank = static_cast<std::uint32_t>(transport.rank());
      std::vector<float> array(kElements, kValues[rank]);
      run.run(schedule, rank, array, array, group_of(post.data_communicator(0)));
      if (rank == 0) {
        results.push_back(array);
      }
    });
  }
  for (const std::vector<float>& result : results) {
    EXPECT_EQ(result, std::vector<float>(kElements, 2));
  }
}

// In its one step rank 1 sends two messages to rank 0, which sends what the first is added to.
void two_messages(const CollectiveSpec& spec,
                  std::uint32_t rank,
                  std::uint32_t /*step*/,
                  StepTransfers& out) {
  const ByteRange first = chunk_of(spec, 2, 0);
  const ByteRange second = chunk_of(spec, 2, 1);
  if (rank == 0) {
    out.send(2, first, Action::kCopy);
    out.receive(1, first, Action::kReduce);
    out.receive(1, second, Action::kReduce);
  } else if (rank == 1) {
    out.send(0, first, Action::kReduce);
    out.send(0, second, Action::kReduce);
  } else {
    out.receive(0, first, Action::kCopy);
  }
}

// The first cannot be added before a late rank has taken what was there; the second can, and none
// of its pieces may pass for one of the first.
TEST(ScheduleRun, TwoMessagesBetweenTwoRanksStayApart) {
  constexpr std::size_t kElements = 20 * 65'536;
  const CollectiveAlgorithm algorithm{
      "two messages",
      "",
      {CollectiveKind::kAllReduce},
      {},
      {nullptr, [](const CollectiveSpec&) { return 1U; },
       [](const CollectiveSpec&) { return std::int64_t{0}; }, two_messages}};
  const CollectiveSchedule schedule(algorithm, spec_of(CollectiveKind::kAllReduce, 3, kElements));
  const KnownNumbers numbers(2);
  FakeNetwork network(3);
  network.is_rendezvous = true;
  in_processes(network, [&](FakeTransport& transport) {
    Post post(transport);
    post.provide(1);
    ScheduleRun run(post);
    const auto rank = static_cast<std::uint32_t>(transport.rank());
    std::vector<float> array(kElements);
    numbers.put(rank, {0, 0}, array);
    if (rank == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    run.run(schedule, rank, array, array, group_of(post.data_communicator(0)));
    if (rank == 0) {
      EXPECT_EQ(numbers.wrong_sums({0, 0}, array), 0);
    } else if (rank == 2) {
      EXPECT_EQ(numbers.wrong(0, {0, 0}, std::span(array).first(kElements / 2)), 0);
    }
  });
}

TEST(ScheduleRun, GivesUpWhenThePostIsStopped) {
  in_processes(2, [&](FakeTransport& transport) {
    if (transport.rank() == 1) {
      return;
    }
    Post post(transport);
    post.provide(1);
    post.stop();
    const CollectiveSchedule schedule(*find_collective_algorithm("ring"),
                                      spec_of(CollectiveKind::kAllReduce, 2, 1000));
    ScheduleRun run(post);
    std::vector<float> array(1000);
    EXPECT_THROW(run.run(schedule, 0, array, array, group_of(post.data_communicator(0))), Stopped);
  });
}

}  // namespace
}  // namespace twinrun::exec
