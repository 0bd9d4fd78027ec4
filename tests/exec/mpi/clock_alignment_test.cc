#include "exec/mpi/clock_alignment.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/exec/mpi/fake_transport.h"

namespace twinrun::exec {
namespace {

// An exchange at `at` with a clock that is ahead by so much, and so long a way each direction.
void exchange(OffsetEstimate& estimate,
              std::int64_t at,
              std::int64_t ahead,
              std::int64_t there,
              std::int64_t back) {
  constexpr std::int64_t kAnswering = 40;
  const std::int64_t received = at + there + ahead;
  estimate.add(at, received, received + kAnswering, at + there + kAnswering + back);
}

TEST(OffsetEstimate, IsExactWhenBothWaysTakeEquallyLong) {
  OffsetEstimate estimate;
  exchange(estimate, 1000, 123'456'789, 500, 500);
  EXPECT_EQ(estimate.best().ahead_ns, 123'456'789);
  EXPECT_EQ(estimate.best().round_trip_ns, 1000);
}

TEST(OffsetEstimate, BelievesTheQuickestExchange) {
  OffsetEstimate estimate;
  exchange(estimate, 0, -700, 900'000, 20);
  exchange(estimate, 5000, -700, 30, 30);
  exchange(estimate, 9000, -700, 10, 400'000);
  EXPECT_EQ(estimate.best().ahead_ns, -700);
  EXPECT_EQ(estimate.best().round_trip_ns, 60);
}

TEST(OffsetEstimate, IsNeverWrongByMoreThanHalfOfTheRoundTrip) {
  for (const std::int64_t there : {10, 400, 3000}) {
    for (const std::int64_t back : {10, 400, 3000}) {
      OffsetEstimate estimate;
      exchange(estimate, 77, 5000, there, back);
      EXPECT_LE(std::abs(estimate.best().ahead_ns - 5000), estimate.best().round_trip_ns / 2);
    }
  }
}

TEST(BelievedOffset, OneClockIsNotMeasured) {
  const ClockOffset measured{400, 1000};
  EXPECT_EQ(believed_offset(measured, 5, 5).ahead_ns, 0);
  EXPECT_EQ(believed_offset(measured, 5, 5).round_trip_ns, 0);
  EXPECT_EQ(believed_offset(measured, 5, 6).ahead_ns, 400);
  EXPECT_EQ(believed_offset(measured, 0, 0).ahead_ns, 400);  // nobody knows its name
}

TEST(BelievedOffset, ACopyOfAMachineHasAClockOfItsOwn) {
  EXPECT_EQ(believed_offset({400'000, 1000}, 5, 5).ahead_ns, 400'000);
  EXPECT_EQ(believed_offset({-502, 1000}, 5, 5).ahead_ns, -502);
}

TEST(AlignClocks, ThreadsOfOneProcessHaveOneClock) {
  std::atomic<int> came = 0;
  in_processes(3, [&](FakeTransport& transport) {
    Post post(transport);
    ++came;
    const ClockOffset offset = align_clocks(post, Post::Clock::now() + std::chrono::seconds(30));
    EXPECT_EQ(came, 3);  // nobody goes on alone
    EXPECT_LE(std::abs(offset.ahead_ns), offset.round_trip_ns / 2 + 1);
  });
}

TEST(AlignClocks, NamesWhoDoesNotAnswer) {
  in_processes(2, [&](FakeTransport& transport) {
    transport.is_deaf = transport.rank() == 1;
    Post post(transport);
    try {
      align_clocks(post, Post::Clock::now() + std::chrono::milliseconds(50));
      ADD_FAILURE() << "rank " << transport.rank() << " was answered";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "rank " + std::to_string(1 - transport.rank()) +
                                               " does not answer while clocks are aligned");
    }
  });
}

}  // namespace
}  // namespace twinrun::exec
