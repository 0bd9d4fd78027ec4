#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/csr.h"
#include "core/base/hash_index.h"
#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/plan/op.h"
#include "core/plan/plan.h"

namespace twinrun {

struct ComputeSpec {
  double flops = 0;
  Bytes bytes = {};
  Dtype dtype = Dtype::kFp32;
  std::optional<Kernel> kernel = std::nullopt;
};

struct MessageSpec {
  DeviceId peer = no_id<DeviceId>();
  Bytes bytes = {};
  std::int32_t tag = 0;
};

struct CollectiveOpSpec {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  GroupId group = no_id<GroupId>();
  Bytes bytes = {};
  std::string_view algorithm = "auto";
  Dtype dtype = Dtype::kFp32;
  DeviceId root = no_id<DeviceId>();  // broadcast and reduce
  std::string_view match = {};        // "": the id up to the last '@'
};

// Collects a plan and makes it in one go. Ops of a stream run in the order they are added.
//
//   PlanBuilder builder("two ops");
//   const DeviceId gpu0 = builder.add_device("gpu0");
//   const StreamId compute = builder.stream(gpu0, "compute");
//   const OpId forward = builder.add_compute("forward@gpu0", compute, {.flops = 1e9});
//   const OpId backward = builder.add_compute("backward@gpu0", compute, {.flops = 2e9});
//   builder.depend(backward, forward);
//   const Plan plan = std::move(builder).finish();
//
// Nothing is checked here except what would be a bug of the caller; validate() checks the plan.
class PlanBuilder {
 public:
  explicit PlanBuilder(std::string name = {}) { columns_.text.name = std::move(name); }

  PlanText& text() { return columns_.text; }
  void reserve(std::size_t ops, std::size_t edges);
  // How much is there, and room for so many times what came since: ranks of a run look alike.
  struct Mark {
    std::size_t ops = 0;
    std::size_t id_bytes = 0;
    std::size_t edges = 0;
    std::size_t effects = 0;
    std::size_t messages = 0;
    std::size_t collectives = 0;
  };
  [[nodiscard]] Mark mark() const;
  void reserve_repeats(const Mark& since, std::size_t times);

  // Asked twice for the same name, these give the same id twice.
  DeviceId add_device(std::string_view name);
  StreamId stream(DeviceId device, std::string_view name);
  GroupId add_group(std::string_view name);
  GroupId add_group(std::string_view name, std::span<const DeviceId> devices);
  void add_to_group(GroupId group, DeviceId device);

  OpId add_compute(std::string_view id, StreamId stream, const ComputeSpec& spec);
  // For those who add the same many times: looks it up once.
  ComputeId intern(const ComputeSpec& spec);
  OpId add_interned_compute(std::string_view id, StreamId stream, ComputeId compute);
  OpId add_copy(std::string_view id, StreamId stream, DeviceId to, Bytes bytes);
  OpId add_send(std::string_view id, StreamId stream, const MessageSpec& spec);
  OpId add_recv(std::string_view id, StreamId stream, const MessageSpec& spec);
  OpId add_collective(std::string_view id, StreamId stream, const CollectiveOpSpec& spec);
  ShapeId intern(const CollectiveOpSpec& spec);  // all but bytes and match
  OpId add_collective(std::string_view id, StreamId stream, ShapeId shape, Bytes bytes);
  OpId add_host(std::string_view id, StreamId stream, std::optional<Time> duration);
  OpId add_marker(std::string_view id, StreamId stream);

  void depend(OpId op, OpId on);
  // For readers that meet a name before its op: keeps the place among the op's predecessors until
  // resolve(); never resolved, it is dropped.
  std::size_t depend_later(OpId op);
  void resolve(std::size_t later, OpId on) { edge_on_[later] = on; }
  void set_duration(OpId op, Time duration);
  void set_priority(OpId op, std::int16_t priority);
  void add_memory_effect(OpId op, MemoryEffect effect);
  void set_workload(Workload workload) { columns_.workload = std::move(workload); }
  void set_payload(OpId op, const Payload& payload);
  [[nodiscard]] bool has_payload(OpId op) const;

  [[nodiscard]] std::size_t size() const { return columns_.kind.size(); }
  [[nodiscard]] std::string_view id(OpId op) const;  // valid until the next add
  [[nodiscard]] const StringTable& devices() const { return columns_.devices; }
  [[nodiscard]] const StringTable& groups() const { return columns_.groups; }

  Plan finish() &&;

 private:
  OpId add(std::string_view id, StreamId stream, OpKind kind, std::size_t attribute);
  OpId add_message(std::string_view id, StreamId stream, OpKind kind, const MessageSpec& spec);
  KernelId intern(const Kernel& kernel);
  std::uint32_t intern(const ComputeOp& compute);
  std::uint32_t intern(const CollectiveShape& shape);
  void pair_messages();
  Csr<OpId, MemoryEffect> group_effects();
  Csr<InstanceId, OpId> group_instances();
  void drop_unresolved();

  Plan::Columns columns_;
  HashIndex known_streams_;
  HashIndex known_kernels_;
  HashIndex known_compute_;
  HashIndex known_shapes_;
  HashIndex known_payloads_;
  std::vector<OpId> edge_op_;
  std::vector<OpId> edge_on_;
  std::vector<OpId> effect_op_;
  std::vector<MemoryEffect> effects_;
};

}  // namespace twinrun
