#include "exec/gate.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace twinrun::exec {
namespace {

constexpr auto kUntilAsleep = std::chrono::milliseconds(20);

TEST(Gate, HasWhatWasRaised) {
  Gate gate;
  EXPECT_TRUE(gate.has(0));
  EXPECT_FALSE(gate.has(1));
  gate.raise(3);
  gate.wait_for(3);
  EXPECT_TRUE(gate.has(3));
  EXPECT_FALSE(gate.has(4));
}

TEST(Gate, SleepersWithDifferentCountsAreWokenEachInItsTurn) {
  Gate gate;
  std::array<std::atomic<bool>, 3> through{};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < through.size(); ++i) {
    threads.emplace_back([&, i] {
      gate.wait_for(i + 1);
      through[i] = true;
    });
  }
  std::this_thread::sleep_for(kUntilAsleep);
  for (std::uint32_t i = 0; i < through.size(); ++i) {
    for (std::uint32_t later = i; later < through.size(); ++later) {
      EXPECT_FALSE(through[later]) << i << ", " << later;
    }
    gate.raise();
    threads[i].join();  // never, if nobody woke it
  }
}

TEST(Gate, RaiseToWakesAndDoesNotAdd) {
  Gate gate;
  std::thread sleeper([&] { gate.wait_for(5); });
  std::this_thread::sleep_for(kUntilAsleep);
  gate.raise_to(2);
  gate.raise_to(5);
  sleeper.join();
  EXPECT_FALSE(gate.has(6));
}

TEST(Gate, StopEndsTheWaitOfSleepersAndOfLatecomers) {
  Gate gate;
  std::atomic<int> gave_up{0};
  const auto wait = [&] {
    try {
      gate.wait_for(1);
    } catch (const Stopped&) {
      ++gave_up;
    }
  };
  std::thread sleeper(wait);
  std::this_thread::sleep_for(kUntilAsleep);
  gate.stop();
  sleeper.join();
  wait();
  EXPECT_EQ(gave_up, 2);
}

// What has happened is there also after the end: only those who would have to wait give up.
TEST(Gate, StopLeavesWhatWasReached) {
  Gate gate;
  gate.raise(2);
  gate.stop();
  gate.wait_for(2);
  EXPECT_TRUE(gate.has(2));
}

TEST(Gate, NoWakeUpIsLostInManyRounds) {
  constexpr std::uint32_t kRounds = 20'000;
  Gate there;
  Gate back;
  std::thread other([&] {
    for (std::uint32_t i = 1; i <= kRounds; ++i) {
      there.wait_for(i);
      back.raise();
    }
  });
  for (std::uint32_t i = 1; i <= kRounds; ++i) {
    there.raise();
    back.wait_for(i);
  }
  other.join();
  EXPECT_FALSE(back.has(kRounds + 1));
}

}  // namespace
}  // namespace twinrun::exec
