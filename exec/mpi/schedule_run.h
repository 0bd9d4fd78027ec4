#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/collective/algorithms.h"
#include "exec/mpi/post.h"

namespace twinrun::exec {

// One rank's part of a collective's schedule, over the post. For one collective after another: its
// memory is used again.
//
// What is to be added arrives in pieces, each added while it is still in a cache and the next are
// on their way. Both sides cut a message alike, so that pieces need no numbers of their own: of one
// pair and tag they arrive in the order sent. (Where a step has several messages from one rank to
// another, none of these is cut.) A piece waits where it arrived until it may be added:
//
//   sends of the step that read its place have left,
//   those before it in the list of receives have been added there   so that sums have one order.
//
// Each message has places for a few pieces of its own, and so none waits for another one's.
class ScheduleRun {
 public:
  // What the others of the group are to the post, by rank.
  struct Group {
    std::function<Address(std::uint32_t peer)> to;
    std::function<Address(std::uint32_t peer)> from;
    std::function<void(std::uint32_t peer)> awaits;  // it will wait for that one
  };

  explicit ScheduleRun(Post& post) : post_(post) {}
  ScheduleRun(const ScheduleRun&) = delete;
  ScheduleRun& operator=(const ScheduleRun&) = delete;

  // What arrives is set down in `into`, which is the same as `array` but of an all_to_all. When it
  // throws Stopped, messages may still be under way: then this must outlive the transport.
  void run(const CollectiveSchedule& schedule,
           std::uint32_t rank,
           std::span<float> array,
           std::span<float> into,
           const Group& group);

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 16;  // elements
  static constexpr std::size_t kUnderWay = 4;                  // pieces of a message

  // Part of an array, in elements.
  struct Extent {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  struct Piece {
    Request request{};
    std::size_t size = 0;
    bool has_arrived = false;
  };
  // Pieces of one message that are under way, the oldest first.
  class Window {
   public:
    void clear() { first_ = count_ = 0; }
    [[nodiscard]] bool is_full() const { return count_ == kUnderWay; }
    [[nodiscard]] bool is_empty() const { return count_ == 0; }
    [[nodiscard]] std::size_t next_place() const { return (first_ + count_) % kUnderWay; }
    [[nodiscard]] std::size_t oldest_place() const { return first_; }
    void push(Piece piece) { pieces_[(first_ + count_++) % kUnderWay] = piece; }
    [[nodiscard]] Piece& oldest() { return pieces_[first_]; }
    [[nodiscard]] Piece& at(std::size_t i) { return pieces_[(first_ + i) % kUnderWay]; }
    [[nodiscard]] std::size_t count() const { return count_; }
    void pop() {
      first_ = (first_ + 1) % kUnderWay;
      --count_;
    }

   private:
    std::array<Piece, kUnderWay> pieces_{};
    std::size_t first_ = 0;
    std::size_t count_ = 0;
  };
  struct Message {
    std::uint32_t peer = 0;
    Address address;
    Extent place;             // in the array it is read from or set down in
    std::size_t piece = 0;    // elements
    std::size_t begun = 0;    // elements from here on have not been given to the transport
    std::size_t settled = 0;  // up to here it has left, or is in its place
    bool is_added = false;    // of receives: and not just set down
    Window window;
    std::vector<float> staged;  // of those that are added: a place for each piece of the window

    [[nodiscard]] bool is_done() const { return settled == place.end; }
  };

  void begin_step(const StepTransfers& transfers, const Group& group);
  static void begin_message(const std::vector<Transfer>& transfers,
                            std::size_t index,
                            std::int64_t first_byte,
                            Message& message);
  bool make_progress(Transport& transport);
  bool settle_sends(Transport& transport);
  bool settle_receives(Transport& transport);
  void post_more(Transport& transport);
  void add_what_may_be();
  [[nodiscard]] bool may_be_added(std::size_t receive, Extent where) const;
  [[nodiscard]] const Message* first_open() const;

  Post& post_;
  std::span<float> array_;
  std::span<float> into_;
  std::vector<Message> sends_;  // the first so many are of this step
  std::vector<Message> receives_;
  std::size_t send_count_ = 0;
  std::size_t receive_count_ = 0;
};

}  // namespace twinrun::exec
