#pragma once

#include <cstdint>

namespace twinrun::exec {

// What goes over a connection: a head, and of some kinds as many bytes behind it.
//
//   small    kMessage + bytes ->
//   large    kOffer -> , then <- kAccept when somebody wants it, then kPiece + bytes -> …
//
// so that nothing large is ever kept for a receiver that has not come, and short frames never wait
// behind more than a piece.
enum class FrameKind : std::uint32_t { kMessage, kOffer, kAccept, kPiece, kGoodbye };

struct FrameHead {
  FrameKind kind = FrameKind::kGoodbye;
  std::int32_t tag = 0;
  std::int32_t communicator = 0;
  std::uint32_t unused = 0;
  std::uint64_t bytes = 0;   // behind it; of an offer: of the message
  std::uint64_t sender = 0;  // its number of the message
  std::uint64_t taker = 0;   // the receiver's number of it
};

inline constexpr std::uint64_t kLargestPiece = 256UL * 1024;

}  // namespace twinrun::exec
