#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "exec/tcp/frame.h"
#include "exec/tcp/socket.h"

namespace twinrun::exec {

// Who is told of the frames that come in. std::runtime_error when one makes no sense.
class FrameTaker {
 public:
  FrameTaker() = default;
  FrameTaker(const FrameTaker&) = delete;
  FrameTaker& operator=(const FrameTaker&) = delete;
  virtual ~FrameTaker() = default;

  // Where the bytes behind a head go: as many as there are.
  virtual std::span<char> place_for(int from, const FrameHead& head) = 0;
  // They are all there.
  virtual void take(int from, const FrameHead& head) = 0;
  // The bytes of a message, or its last ones, have been handed to the system.
  virtual void has_left(std::uint64_t sender) = 0;
};

// Frames to and from one other process. Never waits.
class Connection {
 public:
  Connection(int process, Socket socket) : process_(process), socket_(std::move(socket)) {}

  [[nodiscard]] const Socket& socket() const { return socket_; }
  // Nothing more will come.
  [[nodiscard]] bool is_ended() const { return is_ended_; }
  [[nodiscard]] bool has_to_write() const { return !outgoing_.empty(); }

  // The bytes must stay where they are until they have left. Pieces are made here.
  void put(const FrameHead& head, std::span<const char> bytes, FrameTaker& taker);
  // As much as the system takes, or has, now.
  void write(FrameTaker& taker);
  void read(FrameTaker& taker);
  // No more frames to it: it sees the end behind the last one.
  void end_writing();
  void close();

 private:
  struct Outgoing {
    FrameHead head;
    std::span<const char> bytes;  // of all pieces that have not left
    std::size_t written = 0;      // of the head and the bytes behind it
  };
  struct Incoming {
    FrameHead head;
    std::size_t head_bytes = 0;  // that have come
    std::span<char> rest;        // where the next ones behind the head go
  };
  [[nodiscard]] static Outgoing begun(FrameHead head, std::span<const char> bytes);
  bool write_front();
  void finish_front(FrameTaker& taker);
  void parse(std::span<const char> bytes, FrameTaker& taker);
  std::size_t parse_head(std::span<const char> bytes, FrameTaker& taker);
  void take_if_whole(FrameTaker& taker);

  int process_;
  Socket socket_;
  bool is_ended_ = false;
  bool takes_nothing_ = false;  // what is written is lost
  std::deque<Outgoing> outgoing_;
  Incoming incoming_;
};

}  // namespace twinrun::exec
