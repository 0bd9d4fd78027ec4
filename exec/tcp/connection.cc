#include "exec/tcp/connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/uio.h>

namespace twinrun::exec {
namespace {

constexpr std::size_t kHead = sizeof(FrameHead);
constexpr std::size_t kStaged = 16UL * 1024;            // small frames come many at a time
constexpr std::size_t kMostAtOnce = 4UL * 1024 * 1024;  // then others have their turn

iovec part_of(std::span<const char> bytes) {
  return {const_cast<char*>(bytes.data()), bytes.size()};  // written from, never to
}

}  // namespace

// ---- out

Connection::Outgoing Connection::begun(FrameHead head, std::span<const char> bytes) {
  if (head.kind == FrameKind::kPiece) {
    head.bytes = std::min<std::uint64_t>(bytes.size(), kLargestPiece);
  }
  return {head, bytes};
}

void Connection::put(const FrameHead& head, std::span<const char> bytes, FrameTaker& taker) {
  outgoing_.push_back(begun(head, bytes));
  if (outgoing_.size() == 1) {
    write(taker);
  }
}

void Connection::write(FrameTaker& taker) {
  if (takes_nothing_) {
    outgoing_.clear();
  }
  while (!outgoing_.empty() && write_front()) {
    finish_front(taker);
  }
}

// True when all of the frame is out.
bool Connection::write_front() {
  Outgoing& front = outgoing_.front();
  const std::span<const char> head(reinterpret_cast<const char*>(&front.head), kHead);
  // Behind an offer there is nothing yet.
  const std::size_t behind = std::min<std::size_t>(front.head.bytes, front.bytes.size());
  while (front.written < kHead + behind) {
    std::array<iovec, 2> parts{};
    std::size_t count = 0;
    if (front.written < kHead) {
      parts[count++] = part_of(head.subspan(front.written));
    }
    const std::size_t done = std::max(front.written, kHead) - kHead;
    if (done < behind) {
      parts[count++] = part_of(front.bytes.subspan(done, behind - done));
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t written = ::sendmsg(socket_.descriptor(), &message, MSG_NOSIGNAL);
    if (written < 0) {
      if (!is_for_later(errno)) {
        takes_nothing_ = true;  // what it has sent before it went is still to be read
        outgoing_.clear();
      }
      return false;
    }
    front.written += static_cast<std::size_t>(written);
  }
  return true;
}

// What is left of a large message stands at the end of the queue.
void Connection::finish_front(FrameTaker& taker) {
  Outgoing front = outgoing_.front();
  outgoing_.pop_front();
  if (front.head.kind == FrameKind::kPiece) {
    const auto rest = front.bytes.subspan(front.head.bytes);
    if (!rest.empty()) {
      outgoing_.push_back(begun(front.head, rest));
      return;
    }
  }
  if (front.head.kind == FrameKind::kMessage || front.head.kind == FrameKind::kPiece) {
    taker.has_left(front.head.sender);
  }
}

void Connection::end_writing() {
  takes_nothing_ = true;
  outgoing_.clear();
  if (socket_.is_open()) {
    ::shutdown(socket_.descriptor(), SHUT_WR);
  }
}

void Connection::close() {
  is_ended_ = true;
  takes_nothing_ = true;
  outgoing_.clear();
  socket_.close();
}

// ---- in

// Bytes of a large frame go where they belong at once; others through a buffer, many frames in one
// call.
void Connection::read(FrameTaker& taker) {
  std::array<char, kStaged> staged;  // NOLINT(*-member-init): written first
  std::size_t total = 0;
  while (!is_ended_ && total < kMostAtOnce) {
    const bool goes_straight = incoming_.rest.size() >= kStaged;
    const std::span<char> into = goes_straight ? incoming_.rest : std::span<char>(staged);
    const ssize_t count = ::recv(socket_.descriptor(), into.data(), into.size(), 0);
    if (count <= 0) {
      is_ended_ = count == 0 || !is_for_later(errno);
      return;
    }
    const auto size = static_cast<std::size_t>(count);
    total += size;
    if (goes_straight) {
      incoming_.rest = incoming_.rest.subspan(size);
      take_if_whole(taker);
    } else {
      parse(into.first(size), taker);
    }
    if (size < into.size()) {
      return;  // that was all
    }
  }
}

void Connection::parse(std::span<const char> bytes, FrameTaker& taker) {
  while (!bytes.empty()) {
    if (incoming_.head_bytes < kHead) {
      bytes = bytes.subspan(parse_head(bytes, taker));
      continue;
    }
    const std::size_t size = std::min(bytes.size(), incoming_.rest.size());
    std::copy_n(bytes.begin(), size, incoming_.rest.begin());
    incoming_.rest = incoming_.rest.subspan(size);
    bytes = bytes.subspan(size);
    take_if_whole(taker);
  }
}

std::size_t Connection::parse_head(std::span<const char> bytes, FrameTaker& taker) {
  const std::size_t size = std::min(bytes.size(), kHead - incoming_.head_bytes);
  std::memcpy(reinterpret_cast<char*>(&incoming_.head) + incoming_.head_bytes, bytes.data(), size);
  incoming_.head_bytes += size;
  if (incoming_.head_bytes == kHead) {
    incoming_.rest = taker.place_for(process_, incoming_.head);
    take_if_whole(taker);
  }
  return size;
}

void Connection::take_if_whole(FrameTaker& taker) {
  if (incoming_.rest.empty()) {
    incoming_.head_bytes = 0;
    taker.take(process_, incoming_.head);
  }
}

}  // namespace twinrun::exec
