#include <algorithm>
#include <cstring>

#include "tests/substitute/memory.h"
#include "tests/substitute/nccl_work.h"
#include "tests/substitute/reductions.h"
#include "tests/substitute/sanitizers.h"

namespace substitute {
namespace {

// How a kind of collective uses the slots. A part is what one rank has for, or gets from, another.
struct Shape {
  bool sends_parts = false;     // a slot holds a part for every rank; else the same for all
  bool receives_parts = false;  // a part of every rank is received; else one
  bool is_reduced = false;
  bool only_root_sends = false;
  bool only_root_receives = false;
};

Shape shape_of(NcclKind kind) {
  switch (kind) {
    case NcclKind::kAllReduce:
      return {.is_reduced = true};
    case NcclKind::kReduce:
      return {.is_reduced = true, .only_root_receives = true};
    case NcclKind::kBroadcast:
      return {.only_root_sends = true};
    case NcclKind::kAllGather:
      return {.receives_parts = true};
    case NcclKind::kReduceScatter:
      return {.sends_parts = true, .is_reduced = true};
    case NcclKind::kAllToAll:
      return {.sends_parts = true, .receives_parts = true};
    case NcclKind::kGather:
      return {.receives_parts = true, .only_root_receives = true};
    case NcclKind::kScatter:
      return {.sends_parts = true, .only_root_sends = true};
    case NcclKind::kSend:
    case NcclKind::kReceive:
      break;
  }
  return {};
}

// One rank's share of one collective.
class CollectiveRun {
 public:
  CollectiveRun(Communicator& communicator, const NcclWork& work)
      : mine_(communicator),
        clique_(*communicator.clique()),
        work_(work),
        shape_(shape_of(work.kind)),
        size_(bytes_of(work.type)),
        parts_sent_(shape_.sends_parts ? communicator.ranks : 1),
        parts_received_(shape_.receives_parts ? communicator.ranks : 1),
        most_(kSlotBytes / static_cast<std::size_t>(parts_sent_) / size_) {
    const std::size_t bytes = work.count * size_;
    const Accessor accessor{work.function, communicator.device, true};
    if (sends() && bytes > 0) {
      send_ = device_memory().access(work.send, bytes * static_cast<std::size_t>(parts_sent_),
                                     accessor);
    }
    if (receives() && bytes > 0) {
      receive_ = device_memory().access(
          work.receive, bytes * static_cast<std::size_t>(parts_received_), accessor);
    }
  }

  void run(Picoseconds& now) {
    const Picoseconds ready = now;
    for (std::size_t first = 0; first == 0 || first < work_.count; first += most_) {
      const std::size_t count = std::min(most_, work_.count - first);
      put(first, count);
      const auto meeting = meet(count, ready);
      if (!meeting) {
        return;
      }
      now = meeting->start + meeting->cost;
      take(first, count);
      ++mine_.step;
    }
  }

 private:
  [[nodiscard]] bool is_root() const { return mine_.rank == work_.root; }
  [[nodiscard]] bool sends() const { return !shape_.only_root_sends || is_root(); }
  [[nodiscard]] bool receives() const { return !shape_.only_root_receives || is_root(); }
  // Where a part begins in a user's buffer, and in a slot.
  [[nodiscard]] std::size_t in_buffer(int part, std::size_t first) const {
    return (static_cast<std::size_t>(part) * work_.count + first) * size_;
  }
  [[nodiscard]] std::size_t in_slot(int part) const {
    return static_cast<std::size_t>(part) * most_ * size_;
  }

  void put(std::size_t first, std::size_t count) {
    if (!sends()) {
      return;
    }
    for (int part = 0; part < parts_sent_ && count > 0; ++part) {
      const std::byte* const from = send_.data + in_buffer(part, first);
      reads(from, count * size_);
      std::memcpy(clique_.slot(mine_.step, mine_.rank) + in_slot(part), from, count * size_);
    }
    happens_before(clique_.arrival_edge(mine_.step, mine_.rank));
  }

  std::optional<Meeting> meet(std::size_t count, Picoseconds ready) {
    Meeting mine;
    mine.first = {static_cast<int>(work_.kind), work_.type, work_.operation, work_.root,
                  work_.count};
    mine.start = ready;
    mine.cost = work_.cost;
    return clique_.meet(
        mine_.step, mine_.rank, mine, [&] { reduce(count); }, [&] { return mine_.is_freed(); });
  }

  // In the order of the ranks, whoever does it: the same bits in every run.
  void reduce(std::size_t count) {
    if (!shape_.is_reduced) {
      return;
    }
    for (int part = 0; part < parts_sent_; ++part) {
      std::byte* const into = clique_.result(mine_.step) + in_slot(part);
      std::memcpy(into, clique_.slot(mine_.step, 0) + in_slot(part), count * size_);
      for (int rank = 1; rank < mine_.ranks; ++rank) {
        reduce_into(into, clique_.slot(mine_.step, rank) + in_slot(part), count, work_.type,
                    work_.operation);
      }
      finish_reduction(into, count, work_.type, work_.operation, mine_.ranks);
    }
  }

  void take(std::size_t first, std::size_t count) {
    if (!receives()) {
      return;
    }
    for (int rank = 0; rank < mine_.ranks; ++rank) {
      if (!shape_.only_root_sends || rank == work_.root) {
        happens_after(clique_.arrival_edge(mine_.step, rank));
      }
    }
    for (int part = 0; part < parts_received_ && count > 0; ++part) {
      const int sender = shape_.receives_parts ? part : work_.root;
      const std::byte* const from =
          shape_.is_reduced ? clique_.result(mine_.step) : clique_.slot(mine_.step, sender);
      std::byte* const to = receive_.data + in_buffer(part, first);
      writes(to, count * size_);
      std::memcpy(to, from + in_slot(shape_.sends_parts ? mine_.rank : 0), count * size_);
    }
  }

  Communicator& mine_;
  Clique& clique_;
  const NcclWork& work_;
  const Shape shape_;
  const std::size_t size_;
  const int parts_sent_;
  const int parts_received_;
  const std::size_t most_;  // elements of a part in one step
  Bytes send_;
  Bytes receive_;
};

}  // namespace

void run_collective(Communicator& communicator, const NcclWork& work, Picoseconds& now) {
  CollectiveRun(communicator, work).run(now);
}

}  // namespace substitute
