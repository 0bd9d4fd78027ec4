#include "exec/mpi/clock_alignment.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace twinrun::exec {
namespace {

constexpr int kRounds = 25;
constexpr int kRoot = 0;

using Stamps = std::array<std::int64_t, 3>;

// Processes of one boot of one system, in one time namespace, read the same clock. 0: not known.
std::int64_t name_of_clock() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/time", error);
  const auto name = std::hash<std::string>()(boot + space.string());
  return boot.empty() ? 0 : static_cast<std::int64_t>(name);
}

std::span<char> bytes_of(Stamps& stamps) {
  return {reinterpret_cast<char*>(stamps.data()), sizeof stamps};
}

class Alignment {
 public:
  Alignment(Post& post, Post::Clock::time_point deadline) : post_(post), deadline_(deadline) {}

  ClockOffset lead() {
    std::vector<ClockOffset> offsets(static_cast<std::size_t>(post_.size()));
    const std::int64_t clock = name_of_clock();
    for (int other = 1; other < post_.size(); ++other) {
      OffsetEstimate estimate;
      Stamps stamps{};
      for (int round = 0; round < kRounds; ++round) {
        const std::int64_t sent = now();
        send(other, stamps);
        receive(other, stamps);
        estimate.add(sent, stamps[0], stamps[1], now());
      }
      offsets[static_cast<std::size_t>(other)] = believed_offset(estimate.best(), clock, stamps[2]);
    }
    for (int other = 1; other < post_.size(); ++other) {
      const ClockOffset& offset = offsets[static_cast<std::size_t>(other)];
      send(other, {offset.ahead_ns, offset.round_trip_ns, 0});
    }
    return {};
  }

  ClockOffset follow() {
    Stamps stamps{};
    const std::int64_t clock = name_of_clock();
    for (int round = 0; round < kRounds; ++round) {
      receive(kRoot, stamps);
      const std::int64_t received = now();
      send(kRoot, {received, now(), clock});
    }
    receive(kRoot, stamps);
    return {stamps[0], stamps[1]};
  }

 private:
  static std::int64_t now() { return clock_ns(Post::Clock::now()); }

  void send(int other, Stamps stamps) {
    wait(other, post_.with_transport([&](Transport& transport) {
      return transport.send_bytes(bytes_of(stamps), address(other));
    }));
  }
  void receive(int other, Stamps& stamps) {
    wait(other, post_.with_transport([&](Transport& transport) {
      return transport.receive_bytes(bytes_of(stamps), address(other));
    }));
  }
  [[nodiscard]] Address address(int other) const {
    return {other, Post::kClockTag, post_.communicator()};
  }

  void wait(int other, Request request) {
    const auto is_done = [&](Transport& transport) { return transport.test(request).has_value(); };
    if (!post_.wait_until(is_done, deadline_)) {
      throw std::runtime_error(
          fmt::format("rank {} does not answer while clocks are aligned", other));
    }
  }

  Post& post_;
  Post::Clock::time_point deadline_;
};

}  // namespace

void OffsetEstimate::add(std::int64_t t0, std::int64_t t1, std::int64_t t2, std::int64_t t3) {
  const std::int64_t under_way = (t3 - t0) - (t2 - t1);
  if (under_way < best_.round_trip_ns) {
    best_ = {((t1 - t0) + (t2 - t3)) / 2, under_way};
  }
}

ClockOffset believed_offset(const ClockOffset& measured, std::int64_t own, std::int64_t other) {
  const bool may_be_none = std::abs(measured.ahead_ns) <= measured.round_trip_ns / 2 + 1;
  return own != 0 && own == other && may_be_none ? ClockOffset{} : measured;
}

ClockOffset align_clocks(Post& post, Post::Clock::time_point deadline) {
  Alignment alignment(post, deadline);
  return post.rank() == kRoot ? alignment.lead() : alignment.follow();
}

std::int64_t clock_ns(Post::Clock::time_point at) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
}

}  // namespace twinrun::exec
