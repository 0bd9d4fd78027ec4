#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/csr.h"
#include "core/base/ids.h"
#include "core/base/string_table.h"
#include "core/base/units.h"
#include "core/plan/op.h"
#include "core/plan/payload.h"
#include "core/plan/workload.h"

namespace twinrun {

// What a plan occupies. Names are text and not part of the budget of 64 bytes an op, 8 an edge.
struct PlanMemory {
  std::size_t op_bytes = 0;    // every column and index over ops
  std::size_t edge_bytes = 0;  // both directions
  std::size_t name_bytes = 0;  // text of the ids
  double bytes_per_op = 0;
  double bytes_per_edge = 0;
};

struct PlanText {
  std::string name;
  std::string topology;  // catalogue name, file or expression; "" when the plan names none
  std::string comment;
  std::string source;
  bool operator==(const PlanText&) const = default;
};

// THE task graph: what both runners take. Ops are dense indices in file order; their properties are
// columns, their edges compressed rows in both directions. Made only by PlanBuilder::finish and
// never changed; it may still be impossible to run, which validate() tells.
//
// An op may start when it is at the head of its stream and all its predecessors are done; the ops
// of one collective instance, and a send with its recv, start together.
class Plan {
 public:
  [[nodiscard]] std::size_t size() const { return columns_.kind.size(); }
  [[nodiscard]] const PlanText& text() const { return columns_.text; }

  // Of every op.
  [[nodiscard]] OpKind kind(OpId op) const { return columns_.kind[index_of(op)]; }
  [[nodiscard]] std::string_view id(OpId op) const;
  [[nodiscard]] StreamId stream(OpId op) const { return columns_.stream[index_of(op)]; }
  [[nodiscard]] DeviceId device(OpId op) const { return stream_device(stream(op)); }
  [[nodiscard]] std::int16_t priority(OpId op) const;
  [[nodiscard]] std::optional<Time> duration(OpId op) const;  // given time, overrides the model
  [[nodiscard]] std::span<const MemoryEffect> memory_effects(OpId op) const;
  [[nodiscard]] std::span<const OpId> predecessors(OpId op) const { return predecessors_[op]; }
  [[nodiscard]] std::span<const OpId> successors(OpId op) const { return successors_[op]; }
  [[nodiscard]] std::size_t edge_count() const { return predecessors_.size(); }
  [[nodiscard]] const Csr<OpId, OpId>& successor_rows() const { return successors_; }
  // Asks the memory for what starting the op reads; loops over far ops do it some ops ahead.
  void fetch(OpId op) const;
  void fetch_collective(OpId op) const;  // …, and its collective
  // Linear in the number of ops: for tools, not for loops.
  [[nodiscard]] std::optional<OpId> find(std::string_view id) const;

  // Of ops of that kind; a bug otherwise.
  [[nodiscard]] const ComputeOp& compute(OpId op) const;
  [[nodiscard]] const CopyOp& copy(OpId op) const;
  [[nodiscard]] const MessageOp& message(OpId op) const;  // of a send or recv
  [[nodiscard]] const CollectiveOp& collective(OpId op) const;
  [[nodiscard]] const CollectiveShape& shape(OpId op) const;  // of a collective
  [[nodiscard]] std::string_view algorithm_name(const CollectiveShape& shape) const;
  [[nodiscard]] const Kernel* kernel(OpId op) const;  // null when the op names none

  // What can be run for real: the training, and what each op does in it; null when it does not say.
  [[nodiscard]] const Workload& workload() const { return columns_.workload; }
  [[nodiscard]] const Payload* payload(OpId op) const;

  [[nodiscard]] std::size_t device_count() const { return columns_.devices.size(); }
  [[nodiscard]] std::string_view device_name(DeviceId device) const;

  [[nodiscard]] std::size_t stream_count() const { return columns_.stream_keys.size(); }
  [[nodiscard]] DeviceId stream_device(StreamId stream) const;
  [[nodiscard]] std::string_view stream_name(StreamId stream) const;
  [[nodiscard]] std::span<const OpId> stream_ops(StreamId stream) const {  // in FIFO order
    return stream_order_[stream];
  }

  [[nodiscard]] std::size_t group_count() const { return columns_.groups.size(); }
  [[nodiscard]] std::string_view group_name(GroupId group) const;
  [[nodiscard]] std::span<const DeviceId> group_devices(GroupId group) const;

  [[nodiscard]] std::size_t instance_count() const { return instances_.rows(); }
  [[nodiscard]] std::span<const OpId> instance_ops(InstanceId instance) const {
    return instances_[instance];
  }
  [[nodiscard]] std::string_view match(OpId op) const;  // of a collective

  [[nodiscard]] PlanMemory memory_use() const;

 private:
  friend class PlanBuilder;
  Plan() = default;

  struct StreamKey {
    DeviceId device;
    std::uint32_t name;
  };
  struct GivenMatch {
    OpId op;
    std::uint32_t text;
  };
  struct Columns {
    PlanText text;
    StringTable words;  // stream names, algorithms, given matches
    StringTable devices;
    StringTable groups;
    std::vector<std::vector<DeviceId>> group_devices;
    std::vector<StreamKey> stream_keys;
    std::vector<Kernel> kernels;
    std::vector<CollectiveShape> shapes;
    std::vector<Payload> payloads;  // distinct ones
    Workload workload;

    std::vector<OpKind> kind;
    std::vector<StreamId> stream;
    std::vector<std::uint32_t> attribute;  // index in the column of its kind
    std::vector<std::uint32_t> id_end;     // in ids
    std::string ids;
    std::vector<std::int64_t> duration_ps;  // -1: not given; empty when no op has one
    std::vector<std::int16_t> priority;     // empty when no op has one
    std::vector<PayloadId> payload;         // empty when no op has one

    std::vector<ComputeOp> compute;  // distinct ones: layers repeat in every step and on every rank
    std::vector<CopyOp> copy;
    std::vector<MessageOp> message;
    std::vector<CollectiveOp> collective;
    std::vector<GivenMatch> given_match;  // by op; most collectives have the default
  };
  [[nodiscard]] std::uint32_t attribute(OpId op, OpKind wanted) const;

  Columns columns_;
  Csr<OpId, OpId> predecessors_;
  Csr<OpId, OpId> successors_;
  Csr<StreamId, OpId> stream_order_;
  Csr<InstanceId, OpId> instances_;
  Csr<OpId, MemoryEffect> memory_effects_;  // no rows when no op has any
};

// What runners and analyses ask of every op, millions of times: here, so that it costs no call.

inline std::string_view Plan::id(OpId op) const {
  const std::size_t at = index_of(op);
  const std::uint32_t begin = at == 0 ? 0 : columns_.id_end[at - 1];
  return {columns_.ids.data() + begin, columns_.id_end[at] - begin};
}

inline std::optional<Time> Plan::duration(OpId op) const {
  if (columns_.duration_ps.empty() || columns_.duration_ps[index_of(op)] < 0) {
    return std::nullopt;
  }
  return Time{columns_.duration_ps[index_of(op)]};
}

inline DeviceId Plan::stream_device(StreamId stream) const {
  return columns_.stream_keys[index_of(stream)].device;
}

inline void Plan::fetch(OpId op) const {
  __builtin_prefetch(columns_.stream.data() + index_of(op));
  __builtin_prefetch(columns_.attribute.data() + index_of(op));
  if (!columns_.duration_ps.empty()) {
    __builtin_prefetch(columns_.duration_ps.data() + index_of(op));
  }
}

inline void Plan::fetch_collective(OpId op) const {
  __builtin_prefetch(&columns_.collective[columns_.attribute[index_of(op)]]);
}

inline std::span<const MemoryEffect> Plan::memory_effects(OpId op) const {
  return memory_effects_.rows() == 0 ? std::span<const MemoryEffect>() : memory_effects_[op];
}

inline std::uint32_t Plan::attribute(OpId op, OpKind wanted) const {
  TWINRUN_DCHECK(kind(op) == wanted);
  static_cast<void>(wanted);
  return columns_.attribute[index_of(op)];
}

inline const ComputeOp& Plan::compute(OpId op) const {
  return columns_.compute[attribute(op, OpKind::kCompute)];
}

inline const MessageOp& Plan::message(OpId op) const {
  TWINRUN_DCHECK(kind(op) == OpKind::kSend || kind(op) == OpKind::kRecv);
  return columns_.message[columns_.attribute[index_of(op)]];
}

inline const CollectiveOp& Plan::collective(OpId op) const {
  return columns_.collective[attribute(op, OpKind::kCollective)];
}

inline const CollectiveShape& Plan::shape(OpId op) const {
  return columns_.shapes[collective(op).shape];
}

}  // namespace twinrun
