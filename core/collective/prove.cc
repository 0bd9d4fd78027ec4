#include "core/collective/prove.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/collective/symbolic_array.h"

namespace twinrun {

namespace {

std::uint64_t bit(std::uint32_t rank) { return std::uint64_t{1} << rank; }

std::uint64_t all_of(const CollectiveSpec& spec) {
  return spec.ranks == kMostProvableRanks ? ~std::uint64_t{0} : bit(spec.ranks) - 1;
}

bool overlap(ByteRange a, ByteRange b) {
  return std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

ByteRange landing(const Transfer& transfer) {
  return {transfer.into, transfer.into + transfer.from.size()};
}

SymbolicPiece in_place(ByteRange at, std::uint64_t contributors) {
  return {at, contributors, at.begin};
}

// An all-to-all reads one array and writes another; all other kinds work in place.
SymbolicPiece slot_of(const CollectiveSpec& spec, std::uint32_t rank, std::uint32_t from) {
  const ByteRange chunk = chunk_of(spec, spec.ranks, rank);
  return {{chunk.size() * from, chunk.size() * (from + 1)}, bit(from), chunk.begin};
}

// What a rank starts with, in the array it sends from.
SymbolicPiece given_to(const CollectiveSpec& spec, std::uint32_t rank) {
  switch (spec.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kReduce:
    case CollectiveKind::kAllToAll:
      return in_place(whole_of(spec), bit(rank));
    case CollectiveKind::kAllGather:
      return in_place(chunk_of(spec, spec.ranks, rank), bit(rank));
    case CollectiveKind::kBroadcast:
      return rank == spec.root ? in_place(whole_of(spec), bit(rank)) : SymbolicPiece{};
    case CollectiveKind::kBarrier:
      break;
  }
  return {};
}

std::vector<SymbolicPiece> promised_to(const CollectiveSpec& spec, std::uint32_t rank) {
  std::vector<SymbolicPiece> promised;
  switch (spec.kind) {
    case CollectiveKind::kAllReduce:
      return {in_place(whole_of(spec), all_of(spec))};
    case CollectiveKind::kReduceScatter:
      return {in_place(chunk_of(spec, spec.ranks, rank), all_of(spec))};
    case CollectiveKind::kBroadcast:
      return {in_place(whole_of(spec), bit(spec.root))};
    case CollectiveKind::kReduce:
      return rank == spec.root ? std::vector{in_place(whole_of(spec), all_of(spec))} : promised;
    case CollectiveKind::kAllGather:
      for (std::uint32_t from = 0; from < spec.ranks; ++from) {
        promised.push_back(in_place(chunk_of(spec, spec.ranks, from), bit(from)));
      }
      return promised;
    case CollectiveKind::kAllToAll:
      for (std::uint32_t from = 0; from < spec.ranks; ++from) {
        promised.push_back(slot_of(spec, rank, from));
      }
      return promised;
    case CollectiveKind::kBarrier:
      break;
  }
  return promised;
}

struct Arrival {
  bool is_in = false;
  std::vector<SymbolicPiece> pieces;
};

struct Participant {
  std::uint32_t step = 0;
  StepTransfers now;
  std::vector<bool> is_sent;
  std::vector<Arrival> arrivals;
  std::size_t open = 0;  // transfers of the step that are not done
  SymbolicArray array;
  SymbolicArray output;  // of an all-to-all
};

class Prover {
 public:
  Prover(const CollectiveSpec& spec,
         std::uint32_t participants,
         std::uint32_t steps,
         const TransferSource& transfers)
      : spec_(spec), steps_(steps), transfers_(transfers), all_(participants) {
    proof_.sent.resize(participants);
    proof_.received.resize(participants);
    proof_.in_step.resize(steps);
  }

  Proof run() {
    for (std::uint32_t rank = 0; rank < spec_.ranks; ++rank) {
      all_[rank].array.put(given_to(spec_, rank));
      if (moves_elsewhere()) {
        all_[rank].output.put(slot_of(spec_, rank, rank));
      }
    }
    for (std::uint32_t server = spec_.ranks; server < all_.size(); ++server) {
      all_[server].array.put(in_place(whole_of(spec_), 0));  // zeros are nobody's contribution
    }
    for (std::uint32_t rank = 0; rank < all_.size(); ++rank) {
      begin_step(rank);
    }
    while (proof_.flaw.empty() && go_round()) {
    }
    if (proof_.flaw.empty()) {
      check_the_end();
    }
    return std::move(proof_);
  }

 private:
  [[nodiscard]] bool moves_elsewhere() const { return spec_.kind == CollectiveKind::kAllToAll; }

  void complain(std::uint32_t rank, std::string_view what) {
    if (proof_.flaw.empty()) {
      proof_.flaw = fmt::format("rank {} in step {} {}", rank, all_[rank].step, what);
    }
  }

  // Every rank in turn hands on what its peers are ready for; false when nothing moved.
  bool go_round() {
    bool moved = false;
    for (std::uint32_t rank = 0; rank < all_.size() && proof_.flaw.empty(); ++rank) {
      for (std::size_t i = 0; i < all_[rank].is_sent.size(); ++i) {
        moved |= !all_[rank].is_sent[i] && hand_on(rank, i);
      }
      while (all_[rank].step < steps_ && all_[rank].open == 0 && proof_.flaw.empty()) {
        end_step(rank);
        moved = true;
      }
    }
    return moved;
  }

  void begin_step(std::uint32_t rank) {
    Participant& self = all_[rank];
    self.now.clear();
    if (self.step < steps_) {
      transfers_(rank, self.step, self.now);
    }
    self.is_sent.assign(self.now.sends.size(), false);
    self.arrivals.assign(self.now.receives.size(), {});
    self.open = self.now.sends.size() + self.now.receives.size();
    check_the_step(rank);
  }

  void check_the_step(std::uint32_t rank) {
    const StepTransfers& now = all_[rank].now;
    for (const auto* list : {&now.sends, &now.receives}) {
      for (const Transfer& transfer : *list) {
        if (transfer.peer >= all_.size() || transfer.peer == rank || transfer.from.size() <= 0) {
          return complain(rank, "names a peer or a range that does not exist");
        }
      }
    }
    for (std::size_t i = 0; i < now.receives.size(); ++i) {
      if (now.receives[i].action == Action::kCopy && lands_on_another(now, i)) {
        return complain(rank, "copies onto something else of the same step");
      }
    }
  }

  [[nodiscard]] bool lands_on_another(const StepTransfers& now, std::size_t index) const {
    const ByteRange at = landing(now.receives[index]);
    for (std::size_t i = 0; i < now.receives.size(); ++i) {
      if (i != index && overlap(at, landing(now.receives[i]))) {
        return true;
      }
    }
    return !moves_elsewhere() &&
           std::any_of(now.sends.begin(), now.sends.end(),
                       [&](const Transfer& send) { return overlap(at, send.from); });
  }

  // Messages of a pair meet in order: the first receive that still waits for this sender.
  bool hand_on(std::uint32_t rank, std::size_t index) {
    Participant& self = all_[rank];
    const Transfer& sent = self.now.sends[index];
    Participant& peer = all_[sent.peer];
    for (std::size_t i = 0; i < peer.arrivals.size(); ++i) {
      const Transfer& expected = peer.now.receives[i];
      if (expected.peer != rank || peer.arrivals[i].is_in) {
        continue;
      }
      Transfer mirrored = expected;
      mirrored.peer = sent.peer;
      if (self.step != peer.step || mirrored != sent) {
        complain(rank, fmt::format("and rank {} disagree about a message", sent.peer));
        return false;
      }
      auto pieces = self.array.read(sent.from, sent.into);
      if (!pieces) {
        complain(rank, fmt::format("sends rank {} data it does not have", sent.peer));
        return false;
      }
      peer.arrivals[i] = {true, std::move(*pieces)};
      self.is_sent[index] = true;
      --self.open;
      --peer.open;
      count(rank, sent);
      return true;
    }
    return false;
  }

  void count(std::uint32_t rank, const Transfer& sent) {
    ++proof_.messages;
    ++proof_.in_step[all_[rank].step];
    proof_.sent[rank] += sent.from.size();
    proof_.received[sent.peer] += sent.from.size();
  }

  void end_step(std::uint32_t rank) {
    Participant& self = all_[rank];
    SymbolicArray& array = moves_elsewhere() ? self.output : self.array;
    for (std::size_t i = 0; i < self.arrivals.size(); ++i) {
      if (self.now.receives[i].action == Action::kReduce) {
        const std::string wrong = array.add(self.arrivals[i].pieces);
        if (!wrong.empty()) {
          return complain(rank, wrong);
        }
        continue;
      }
      for (const SymbolicPiece& piece : self.arrivals[i].pieces) {
        array.put(piece);
      }
    }
    ++self.step;
    begin_step(rank);
  }

  void check_the_end() {
    for (std::uint32_t rank = 0; rank < all_.size(); ++rank) {
      if (all_[rank].step < steps_) {
        return complain(rank, "waits for ever");
      }
    }
    for (std::uint32_t rank = 0; rank < spec_.ranks; ++rank) {
      const SymbolicArray& array = moves_elsewhere() ? all_[rank].output : all_[rank].array;
      for (const SymbolicPiece& piece : promised_to(spec_, rank)) {
        if (piece.at.size() > 0 && !array.holds(piece)) {
          return complain(rank, fmt::format("ends without what it was promised at {} to {}",
                                            piece.at.begin, piece.at.end));
        }
      }
    }
  }

  CollectiveSpec spec_;
  std::uint32_t steps_;
  const TransferSource& transfers_;
  std::vector<Participant> all_;
  Proof proof_;
};

}  // namespace

Proof prove(const CollectiveSpec& spec,
            std::uint32_t participants,
            std::uint32_t steps,
            const TransferSource& transfers) {
  TWINRUN_CHECK(spec.ranks <= kMostProvableRanks && participants >= spec.ranks);
  return Prover(spec, participants, steps, transfers).run();
}

Proof prove(const CollectiveSchedule& schedule) {
  return prove(schedule.spec(), schedule.participants(), schedule.steps(),
               [&](std::uint32_t rank, std::uint32_t step, StepTransfers& out) {
                 schedule.transfers(rank, step, out);
               });
}

}  // namespace twinrun
