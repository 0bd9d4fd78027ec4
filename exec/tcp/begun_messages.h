#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <stdexcept>
#include <vector>

#include "exec/transport.h"

namespace twinrun::exec {

// A message that this process sends or receives, from its begin until it is known to be done.
struct BegunMessage {
  bool is_done = false;
  Arrival arrival;  // of a receive
  int other = 0;    // who sends, or is sent to; Transport::kAnybody
  bool is_receive = false;
  std::span<char> into;        // of a receive
  std::span<const char> data;  // of a send
};

// All of them, by numbers that are used again. References stay good until a message is taken back.
class BegunMessages {
 public:
  std::uint64_t add(const BegunMessage& message) {
    if (free_.empty()) {
      messages_.push_back(message);
      return messages_.size() - 1;
    }
    const std::uint64_t number = free_.back();
    free_.pop_back();
    messages_[number] = message;
    return number;
  }
  // Numbers come back from other processes.
  BegunMessage& operator[](std::uint64_t number) {
    if (number >= messages_.size()) {
      throw std::runtime_error("another process speaks of a message that there is not");
    }
    return messages_[number];
  }
  void take_back(std::uint64_t number) { free_.push_back(number); }

 private:
  std::deque<BegunMessage> messages_;
  std::vector<std::uint64_t> free_;
};

}  // namespace twinrun::exec
