#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "exec/transport.h"

namespace twinrun::exec {

// Processes that are threads of a test: what one sends lies in a box until the other takes it.
class FakeNetwork {
 public:
  explicit FakeNetwork(int size) : size_(size) {}

  // Data is read from the sender's memory when it is taken, and only then has it left.
  bool is_rendezvous = false;
  // So often times its rank a message is looked for in vain; negative: the last rank is first.
  int reluctance = 0;

  using Left = std::shared_ptr<std::atomic<bool>>;
  struct Message {
    int from = 0;
    std::string bytes;
    std::span<const char> still_there;  // with its sender
    Left left;
    int looks_in_vain = 0;
  };

  [[nodiscard]] int size() const { return size_; }
  Left put(int from, const Address& to, std::span<const char> data) {
    Message message{from,
                    {},
                    data,
                    std::make_shared<std::atomic<bool>>(!is_rendezvous),
                    reluctance >= 0 ? reluctance * from : -reluctance * (size_ - from)};
    if (!is_rendezvous) {
      message.bytes.assign(data.begin(), data.end());
      message.still_there = {};
    }
    const std::lock_guard lock(mutex_);
    return boxes_[{to.process, to.tag, to.communicator}].emplace_back(std::move(message)).left;
  }
  std::optional<Message> take(int to, const Address& from) {
    const std::lock_guard lock(mutex_);
    std::deque<Message>& box = boxes_[{to, from.tag, from.communicator}];
    const auto found = std::find_if(box.begin(), box.end(), [&](const Message& message) {
      return from.process == Transport::kAnybody || message.from == from.process;
    });
    if (found == box.end() || --found->looks_in_vain >= 0) {
      return std::nullopt;
    }
    Message out = std::move(*found);
    box.erase(found);
    out.bytes.append(out.still_there.begin(), out.still_there.end());
    *out.left = true;
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
  int dead = -1;                      // the process that it knows to have died
  std::atomic<bool> is_deaf = false;  // takes nothing in: a process that has been stopped

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return network_.size(); }
  [[nodiscard]] std::int64_t largest_tag() const override { return tags; }
  [[nodiscard]] std::string name() const override { return "fake"; }
  [[nodiscard]] bool has_sum() const override { return false; }
  [[nodiscard]] bool has_died(int process) const override { return process == dead; }
  int add_communicator(std::span<const int>) override { return communicators_++; }
  Request send(std::span<const float> data, const Address& to) override {
    return send_bytes({reinterpret_cast<const char*>(data.data()), data.size_bytes()}, to);
  }
  Request send_bytes(std::span<const char> data, const Address& to) override {
    sent_.push_back(is_deaf ? std::make_shared<std::atomic<bool>>(true)
                            : network_.put(rank_, to, data));
    return Request{-static_cast<std::int64_t>(sent_.size())};
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
    if (const auto number = static_cast<std::int64_t>(request); number < 0) {
      return *sent_[static_cast<std::size_t>(-number - 1)] ? std::optional(Arrival{})
                                                           : std::nullopt;
    }
    match_all();
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
  // Those posted first get what was sent first: when one has got nothing, none behind it may take
  // what comes meanwhile.
  void match_all() {
    std::set<std::tuple<int, int, int>> empty;
    for (std::size_t i = first_open_; i < pending_.size() && !is_deaf; ++i) {
      const Address& from = pending_[i].from;
      const std::tuple box(from.process, from.tag, from.communicator);
      if (!pending_[i].arrival && !empty.contains(box)) {
        match(pending_[i]);
        if (!pending_[i].arrival) {
          empty.insert(box);
        }
      }
    }
  }
  void match(Pending& pending) {
    const auto message = network_.take(rank_, pending.from);
    if (message) {
      std::copy(message->bytes.begin(), message->bytes.end(), pending.into.begin());
      pending.arrival = Arrival{message->from, static_cast<std::int64_t>(message->bytes.size())};
    }
  }

  FakeNetwork& network_;
  int rank_;
  int communicators_ = 0;
  std::vector<FakeNetwork::Left> sent_;  // in the order posted
  std::vector<Pending> pending_;         // …
  std::size_t first_open_ = 0;
};

// Calls with the transport of each process, each on a thread of its own.
template <class Call>
void in_processes(FakeNetwork& network, const Call& call) {
  std::vector<std::unique_ptr<FakeTransport>> transports;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < network.size(); ++rank) {
    transports.push_back(std::make_unique<FakeTransport>(network, rank));
    threads.emplace_back([&call, transport = transports.back().get()] { call(*transport); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

template <class Call>
void in_processes(int count, const Call& call) {
  FakeNetwork network(count);
  in_processes(network, call);
}

}  // namespace twinrun::exec
