#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "exec/transport.h"

namespace twinrun::exec {

// A message that has come before somebody wanted it: all of it, or an offer of it.
struct Arrived {
  int from = 0;
  std::uint64_t size = 0;    // bytes
  std::string bytes;         // of a small one
  bool is_offer = false;     // of a large one, which is still with its sender …
  std::uint64_t sender = 0;  // … and has this number there
};

// Brings messages and those who want them together: of one sender, tag and communicator the first
// sent goes to the first who asked.
class Mailbox {
 public:
  // A message that is there already; otherwise `taker` is kept until one comes.
  std::optional<Arrived> want(const Address& from, std::uint64_t taker);
  // Who has wanted a message that comes now; otherwise it has to be kept.
  std::optional<std::uint64_t> taker_of(const Address& from);
  void keep(const Address& from, Arrived message);

 private:
  struct Wanted {
    int from = 0;  // or Transport::kAnybody
    std::uint64_t taker = 0;
  };
  struct Box {
    std::deque<Wanted> wanted;
    std::deque<Arrived> arrived;
  };
  using Boxes = std::map<std::pair<int, int>, Box>;  // by communicator and tag; none is empty
  void drop_if_empty(Boxes::iterator box);

  Boxes boxes_;
};

}  // namespace twinrun::exec
