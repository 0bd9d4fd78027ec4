#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/plan/op.h"

namespace twinrun {

// Where the servers of a parameter server run: in processes of their own, which are the
// participants ranks, ranks + 1, …, or beside workers: server k on rank k, or on the first rank of
// machine k when machines reduce first.
enum class ServerPlacement : std::uint8_t { kColocated, kAppended };

// One collective, as a schedule needs it. `bytes` counts as nccl-tests does: the array that is
// reduced, broadcast or (all-to-all) sent by each rank; for an all-gather what each rank ends with,
// for a reduce-scatter what each rank starts with.
struct CollectiveSpec {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::uint32_t ranks = 1;
  std::int64_t bytes = 0;
  std::uint32_t element_bytes = 4;  // chunks end between elements
  std::uint32_t root = 0;           // of broadcast and reduce
  std::uint32_t ranks_per_node = 1;
  std::uint32_t servers = 1;
  ServerPlacement placement = ServerPlacement::kColocated;
};

struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  bool operator==(const ByteRange&) const = default;
};

enum class Action : std::uint8_t { kReduce, kCopy };

// One message as either side sees it; only `peer` differs between the two.
struct Transfer {
  std::uint32_t peer = 0;
  Action action = Action::kCopy;  // what the receiver does with it
  ByteRange from;                 // in the sender's array
  std::int64_t into = 0;          // offset in the receiver's array
  bool operator==(const Transfer&) const = default;
};

// What one rank does in one step. All of it is posted together; the rank goes on to its next step
// when its own sends are done and its own receives are in, whatever the others do.
//
// Sends read the array as it was when the step began; receives change it when the step ends, in
// list order. So an incoming chunk that is to be reduced waits in a staging buffer; one that is to
// be copied never overlaps anything else of the step and can land in place.
struct StepTransfers {
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;

  void clear();
  // A message of no bytes is no message. The chunk has the same place in both arrays …
  void send(std::uint32_t peer, ByteRange chunk, Action action);
  void receive(std::uint32_t peer, ByteRange chunk, Action action);
  // … or, in an all-to-all, another one.
  void send_into(std::uint32_t peer, ByteRange chunk, std::int64_t into);
  void receive_into(std::uint32_t peer, ByteRange chunk, std::int64_t into);
};

// Part `index` of `count` equal parts of a range, in whole elements, the larger ones first.
inline ByteRange chunk_of(ByteRange whole,
                          std::uint32_t element_bytes,
                          std::uint32_t count,
                          std::uint32_t index) {
  TWINRUN_DCHECK(index < count);
  const std::int64_t elements = whole.size() / element_bytes;
  const std::int64_t each = elements / count;
  const std::int64_t larger = elements - each * count;
  const std::int64_t first = each * index + std::min<std::int64_t>(index, larger);
  const std::int64_t size = each + (index < larger ? 1 : 0);
  return {whole.begin + first * element_bytes, whole.begin + (first + size) * element_bytes};
}

inline ByteRange whole_of(const CollectiveSpec& spec) { return {0, spec.bytes}; }

inline ByteRange chunk_of(const CollectiveSpec& spec, std::uint32_t count, std::uint32_t index) {
  return chunk_of(whole_of(spec), spec.element_bytes, count, index);
}

inline std::int64_t chunk_size(const CollectiveSpec& spec,
                               std::uint32_t count,
                               std::uint32_t index) {
  return chunk_of(spec, count, index).size();
}

}  // namespace twinrun
