#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "exec/mpi/transport.h"

namespace twinrun::exec {

// Processes that are threads of a test: what one sends lies in a box until the other takes it.
class FakeNetwork {
 public:
  explicit FakeNetwork(int size) : size_(size) {}

  [[nodiscard]] int size() const { return size_; }
  void put(int from, int to, int tag, int communicator, std::string bytes) {
    const std::lock_guard lock(mutex_);
    boxes_[{to, tag, communicator}].push_back({from, std::move(bytes)});
  }
  struct Message {
    int from;
    std::string bytes;
  };
  std::optional<Message> take(int from, int to, int tag, int communicator) {
    const std::lock_guard lock(mutex_);
    std::deque<Message>& box = boxes_[{to, tag, communicator}];
    const auto found = std::find_if(box.begin(), box.end(), [&](const Message& message) {
      return from == Transport::kAnybody || message.from == from;
    });
    if (found == box.end()) {
      return std::nullopt;
    }
    Message out = std::move(*found);
    box.erase(found);
    return out;
  }

 private:
  int size_;
  std::mutex mutex_;
  std::map<std::tuple<int, int, int>, std::deque<Message>> boxes_;
};

class FakeTransport : public Transport {
 public:
  FakeTransport(FakeNetwork& network, int rank) : network_(network), rank_(rank) {}

  std::int64_t tags = 32767;
  bool is_deaf = false;  // takes nothing in: a process that has been stopped

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return network_.size(); }
  [[nodiscard]] std::int64_t largest_tag() const override { return tags; }
  int add_communicator(std::span<const int>) override { return communicators_++; }
  Request send(std::span<const float> data, const Address& to) override {
    return send_bytes({reinterpret_cast<const char*>(data.data()), data.size_bytes()}, to);
  }
  Request send_bytes(std::span<const char> data, const Address& to) override {
    if (!is_deaf) {
      network_.put(rank_, to.process, to.tag, to.communicator,
                   std::string(data.data(), data.size()));
    }
    return Request{-1};
  }
  Request receive(std::span<float> into, const Address& from) override {
    return receive_bytes({reinterpret_cast<char*>(into.data()), into.size_bytes()}, from);
  }
  Request receive_bytes(std::span<char> into, const Address& from) override {
    pending_.push_back({into, from, {}});
    return Request{static_cast<std::int64_t>(pending_.size() - 1)};
  }
  Request sum(std::span<float>, int) override { throw std::runtime_error("no sum here"); }
  std::optional<Arrival> test(Request& request) override {
    if (request == Request{-1}) {
      return Arrival{};
    }
    for (std::size_t i = first_open_; i < pending_.size() && !is_deaf; ++i) {
      match(pending_[i]);
    }
    while (first_open_ < pending_.size() && pending_[first_open_].arrival) {
      ++first_open_;
    }
    return pending_[static_cast<std::size_t>(request)].arrival;
  }
  void finish() override {}
  void abort(int) override {}

 private:
  struct Pending {
    std::span<char> into;
    Address from;
    std::optional<Arrival> arrival;
  };
  void match(Pending& pending) {
    if (pending.arrival) {
      return;
    }
    const auto message =
        network_.take(pending.from.process, rank_, pending.from.tag, pending.from.communicator);
    if (message) {
      std::copy(message->bytes.begin(), message->bytes.end(), pending.into.begin());
      pending.arrival = Arrival{message->from, static_cast<std::int64_t>(message->bytes.size())};
    }
  }

  FakeNetwork& network_;
  int rank_;
  int communicators_ = 0;
  std::vector<Pending> pending_;  // in the order posted
  std::size_t first_open_ = 0;
};

// Calls with the transport of each process, each on a thread of its own.
template <class Call>
void in_processes(int count, const Call& call) {
  FakeNetwork network(count);
  std::vector<std::unique_ptr<FakeTransport>> transports;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    transports.push_back(std::make_unique<FakeTransport>(network, rank));
    threads.emplace_back([&call, transport = transports.back().get()] { call(*transport); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace twinrun::exec
