#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/substitute/memory.h"
#include "tests/substitute/nccl_work.h"
#include "tests/substitute/reductions.h"
#include "tests/substitute/sanitizers.h"

namespace substitute {
namespace {

// One end of one message. Both ends must be there before anything moves; then the sender fills the
// box and the receiver empties it, chunk by chunk.
class MessageEnd {
 public:
  MessageEnd(Communicator& communicator, const NcclWork& work, Picoseconds ready)
      : clique_(*communicator.clique()),
        is_sender_(work.kind == NcclKind::kSend),
        peer_(work.root),
        box_(is_sender_ ? clique_.mailbox(communicator.rank, work.root)
                        : clique_.mailbox(work.root, communicator.rank)),
        from_(is_sender_ ? communicator.rank : work.root),
        to_(is_sender_ ? work.root : communicator.rank),
        mine_{true, work.count * bytes_of(work.type), work.type, ready, work.cost} {
    const void* const buffer = is_sender_ ? work.send : work.receive;
    if (mine_.bytes > 0) {
      buffer_ =
          device_memory().access(buffer, mine_.bytes, {work.function, communicator.device, true});
    }
  }

  [[nodiscard]] bool is_done() const { return is_done_; }
  [[nodiscard]] bool goes_before(const MessageEnd& other) const {
    return is_sender_ == other.is_sender_ && peer_ == other.peer_;
  }
  [[nodiscard]] Picoseconds end() const { return end_; }

  // Whether anything changed.
  bool advance() {
    if (!is_posted_) {
      return post();
    }
    if (!is_matched_) {
      return match();
    }
    return is_sender_ ? advance_sender() : advance_receiver();
  }

 private:
  bool post() {
    const Clique::Lock lock(clique_);
    MailSide& side = is_sender_ ? box_.sender : box_.receiver;
    if (side.is_there) {  // the message before is still there
      return false;
    }
    side = mine_;
    is_posted_ = true;
    return true;
  }

  bool match() {
    bool disagree = false;
    {
      const Clique::Lock lock(clique_);
      if (!box_.sender.is_there || !box_.receiver.is_there) {
        return false;
      }
      disagree = box_.sender.bytes != box_.receiver.bytes || box_.sender.type != box_.receiver.type;
      end_ = std::max(box_.sender.ready, box_.receiver.ready) +
             std::max(box_.sender.cost, box_.receiver.cost);
    }
    if (disagree) {
      clique_.fail(ncclInvalidUsage, "ranks " + std::to_string(from_) + " and " +
                                         std::to_string(to_) +
                                         " disagree on the size or type of a message");
      return false;
    }
    is_matched_ = true;
    return true;
  }

  bool advance_sender() {
    {
      const Clique::Lock lock(clique_);
      if (box_.is_received) {
        box_ = Mailbox{};
        is_done_ = true;
        return true;
      }
      if (box_.is_full || moved_ == mine_.bytes) {
        return false;
      }
    }
    const std::size_t bytes = std::min(kMailBytes, mine_.bytes - moved_);
    reads(buffer_.data + moved_, bytes);
    std::memcpy(clique_.mail(from_, to_), buffer_.data + moved_, bytes);
    happens_before(clique_.mail_edge(from_, to_));
    moved_ += bytes;
    const Clique::Lock lock(clique_);
    box_.chunk_bytes = bytes;
    box_.is_full = true;
    return true;
  }

  bool advance_receiver() {
    std::size_t bytes = 0;
    {
      const Clique::Lock lock(clique_);
      if (moved_ == mine_.bytes) {
        box_.is_received = true;
        is_done_ = true;
        return true;
      }
      if (!box_.is_full) {
        return false;
      }
      bytes = box_.chunk_bytes;
    }
    happens_after(clique_.mail_edge(from_, to_));
    writes(buffer_.data + moved_, bytes);
    std::memcpy(buffer_.data + moved_, clique_.mail(from_, to_), bytes);
    moved_ += bytes;
    const Clique::Lock lock(clique_);
    box_.is_full = false;
    return true;
  }

  Clique& clique_;
  const bool is_sender_;
  const int peer_;
  Mailbox& box_;
  const int from_;
  const int to_;
  const MailSide mine_;
  Bytes buffer_;
  bool is_posted_ = false;
  bool is_matched_ = false;
  bool is_done_ = false;
  std::size_t moved_ = 0;
  Picoseconds end_ = 0;
};

// Lets every message that is first in its direction make a step.
bool advance_all(std::vector<MessageEnd>& ends) {
  bool has_changed = false;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const bool must_wait =
        std::any_of(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](auto& before) { return !before.is_done() && before.goes_before(ends[i]); });
    if (!must_wait && !ends[i].is_done()) {
      has_changed = ends[i].advance() || has_changed;
    }
  }
  return has_changed;
}

}  // namespace

void run_messages(Communicator& communicator, std::span<const NcclWork> works, Picoseconds& now) {
  const auto clique = communicator.clique();
  std::vector<MessageEnd> ends;
  ends.reserve(works.size());
  for (const NcclWork& work : works) {
    ends.emplace_back(communicator, work, now);
  }
  const auto are_done = [&] {
    return std::all_of(ends.begin(), ends.end(), [](auto& end) { return end.is_done(); });
  };
  while (!are_done()) {
    const std::uint32_t seen = clique->shared.changes.load();
    if (advance_all(ends)) {
      clique->wake();
    } else if (!clique->wait([&] { return clique->shared.changes.load() != seen; },
                             [&] { return communicator.is_freed(); })) {
      return;
    }
  }
  for (const MessageEnd& end : ends) {
    now = std::max(now, end.end());
  }
}

}  // namespace substitute
