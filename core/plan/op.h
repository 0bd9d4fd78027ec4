#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/dtype.h"
#include "core/base/ids.h"
#include "core/base/units.h"

namespace twinrun {

// What an op does. The words of a plan file stand beside each list, in the same order.
enum class OpKind : std::uint8_t { kCompute, kCopy, kSend, kRecv, kCollective, kHost, kMarker };
inline constexpr std::array<std::string_view, 7> kOpKindNames = {
    "compute", "copy", "send", "recv", "collective", "host", "marker"};

enum class CollectiveKind : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kAllToAll,
  kBarrier,
};
inline constexpr std::array<std::string_view, 7> kCollectiveKindNames = {
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "barrier"};

enum class KernelKind : std::uint8_t { kGemm, kForward, kBackward, kUpdate };
inline constexpr std::array<std::string_view, 4> kKernelKindNames = {"gemm", "forward", "backward",
                                                                     "update"};

// Which gradients a backward kernel gives: a layer with weights has a product for each.
enum class GradientOf : std::uint8_t { kAll, kInput, kWeight };
inline constexpr std::array<std::string_view, 3> kGradientOfNames = {"all", "input", "weight"};

enum class MemoryPart : std::uint8_t {
  kParameters,
  kGradients,
  kOptimizer,
  kActivations,
  kBuffers,
  kVersions,
  kWorkspace,
};
inline constexpr std::array<std::string_view, 7> kMemoryPartNames = {
    "parameters", "gradients", "optimizer", "activations", "buffers", "versions", "workspace"};

enum class MemoryWhen : std::uint8_t { kStart, kEnd };
inline constexpr std::array<std::string_view, 2> kMemoryWhenNames = {"start", "end"};

inline constexpr std::string_view name_of(OpKind kind) {
  return kOpKindNames[static_cast<std::size_t>(kind)];
}
inline constexpr std::string_view name_of(CollectiveKind kind) {
  return kCollectiveKindNames[static_cast<std::size_t>(kind)];
}

// The stream an op goes into when the file names none.
std::string_view default_stream(OpKind kind);
// Bus bandwidth over algorithm bandwidth as nccl-tests has it: what the wires carry per byte of the
// collective, so that one figure stands for the links whatever the collective and the ranks.
double bus_factor(CollectiveKind kind, std::size_t ranks);
// Broadcast and reduce have one rank that is special.
bool has_root(CollectiveKind kind);
// What the ranks' ops of one collective share unless "match" says otherwise: the id up to the last
// '@', so grads@gpu0 and grads@gpu1 belong together.
std::string_view default_match(std::string_view id);

enum class ComputeId : std::uint32_t {};   // a distinct compute op of a plan
enum class ShapeId : std::uint32_t {};     // a distinct collective shape of a plan
enum class KernelId : std::uint32_t {};    // a distinct kernel of a plan
enum class InstanceId : std::uint32_t {};  // one collective: the ops of all its ranks

// What a real backend runs for a compute op.
struct Kernel {
  KernelKind kind = KernelKind::kGemm;
  std::uint32_t m = 0;  // (m × k) · (k × n): of a gemm always, of a layer when it is a product
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  std::string layer;                         // by name, or …
  std::optional<std::uint32_t> layer_index;  // … by its position in the model
  GradientOf gradient = GradientOf::kAll;
  std::uint32_t taps = 0;  // of a convolution's window, 9 for 3 × 3; 0 when it is none
  std::uint32_t stride = 1;
  bool operator==(const Kernel&) const = default;
};

struct ComputeOp {
  double flops = 0;
  Bytes bytes;  // memory traffic
  KernelId kernel = no_id<KernelId>();
  Dtype dtype = Dtype::kFp32;
  bool operator==(const ComputeOp&) const = default;
};

struct CopyOp {
  Bytes bytes;
  DeviceId to = no_id<DeviceId>();
};

// Sends and receives meet by (from, to, tag), in file order.
struct MessageOp {
  Bytes bytes;
  DeviceId peer = no_id<DeviceId>();
  std::int32_t tag = 0;
  OpId partner = no_id<OpId>();  // the recv of a send and the other way round; none when unmatched
};

// The part of a collective that many ops have in common.
struct CollectiveShape {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Dtype dtype = Dtype::kFp32;
  GroupId group = no_id<GroupId>();
  DeviceId root = no_id<DeviceId>();
  std::uint32_t algorithm = 0;  // Plan::algorithm_name
  bool operator==(const CollectiveShape&) const = default;
};

struct CollectiveOp {
  Bytes bytes;
  std::uint32_t shape = 0;
  InstanceId instance = no_id<InstanceId>();
};

// Memory taken (bytes > 0) or given back (bytes < 0) when an op starts or ends; eight bytes.
class MemoryEffect {
 public:
  static constexpr std::int64_t kLargest = (std::int64_t{1} << 55) - 1;  // 36 PB

  MemoryEffect() = default;
  MemoryEffect(MemoryPart part, Bytes bytes, MemoryWhen when)
      : packed_(bytes.count * 256 + static_cast<std::int64_t>(part) * 2 +
                static_cast<std::int64_t>(when)) {}

  [[nodiscard]] Bytes bytes() const { return {packed_ >> 8}; }
  [[nodiscard]] MemoryPart part() const { return static_cast<MemoryPart>((packed_ >> 1) & 7); }
  [[nodiscard]] MemoryWhen when() const { return static_cast<MemoryWhen>(packed_ & 1); }
  bool operator==(const MemoryEffect&) const = default;

 private:
  std::int64_t packed_ = 0;
};

}  // namespace twinrun
