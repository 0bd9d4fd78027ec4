#pragma once

#include <cstddef>
#include <span>

#include <nccl.h>

#include "tests/substitute/communicators.h"
#include "tests/substitute/substitute.h"

namespace substitute {

enum class NcclKind {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kGather,
  kScatter,
  kSend,
  kReceive,
};

// One call of NCCL, as a stream runs it.
struct NcclWork {
  NcclKind kind = NcclKind::kAllReduce;
  const char* function = "";
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;  // as the call has it: of a rank's part where ranks have parts
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t operation = ncclSum;
  int root = 0;  // or the peer of a message
  Picoseconds cost = 0;

  [[nodiscard]] bool is_message() const {
    return kind == NcclKind::kSend || kind == NcclKind::kReceive;
  }
};

// Does the work of one rank, blocking until the others have done theirs, and moves `now` to its
// end. An aborted communicator ends it at once, with whatever has been moved.
void run_collective(Communicator& communicator, const NcclWork& work, Picoseconds& now);
// Messages of a group: all of them make progress side by side; those of one pair and direction go
// in order.
void run_messages(Communicator& communicator, std::span<const NcclWork> works, Picoseconds& now);

}  // namespace substitute
