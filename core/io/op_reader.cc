#include "core/io/op_reader.h"

#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/base/did_you_mean.h"
#include "core/io/payload_json.h"

namespace twinrun {
namespace {

enum Key : std::size_t {
  kId,
  kKind,
  kDevice,
  kStream,
  kAfter,
  kDuration,
  kPriority,
  kMemory,
  kFlops,
  kBytes,
  kDtype,
  kKernel,
  kTo,
  kPeer,
  kTag,
  kCollective,
  kGroup,
  kRoot,
  kAlgorithm,
  kMatch,
  kPayload,
};
constexpr std::array<std::string_view, 21> kKeys = {
    "id",     "kind",       "device", "stream", "after",     "duration", "priority",
    "memory", "flops",      "bytes",  "dtype",  "kernel",    "to",       "peer",
    "tag",    "collective", "group",  "root",   "algorithm", "match",    "payload"};

constexpr std::uint32_t bits(std::initializer_list<Key> keys) {
  std::uint32_t mask = 0;
  for (const Key key : keys) {
    mask |= std::uint32_t{1} << key;
  }
  return mask;
}
constexpr std::uint32_t kCommon =
    bits({kId, kKind, kDevice, kStream, kAfter, kDuration, kPriority, kMemory, kPayload});
// By OpKind: the keys it may have, and how complaints call it.
constexpr std::array<std::uint32_t, 7> kAllowed = {
    kCommon | bits({kFlops, kBytes, kDtype, kKernel}),
    kCommon | bits({kBytes, kTo}),
    kCommon | bits({kBytes, kPeer, kTag}),
    kCommon | bits({kBytes, kPeer, kTag}),
    kCommon | bits({kBytes, kDtype, kCollective, kGroup, kRoot, kAlgorithm, kMatch}),
    kCommon,
    kCommon};
constexpr std::array<std::string_view, 7> kCalled = {
    "compute op", "copy op", "send op", "recv op", "collective op", "host op", "marker op"};

enum KernelKey : std::size_t { kKernelKind, kM, kN, kK, kLayer, kGradient, kTaps, kStride };
constexpr std::array<std::string_view, 8> kKernelKeys = {"kind",  "m",        "n",    "k",
                                                         "layer", "gradient", "taps", "stride"};
enum MemoryKey : std::size_t { kPart, kEffectBytes, kWhen };
constexpr std::array<std::string_view, 3> kMemoryKeys = {"part", "bytes", "when"};
constexpr std::uint32_t kAllOfThem = 0xFFFFFFFF;

constexpr std::int64_t kMostUint32 = std::numeric_limits<std::uint32_t>::max();

}  // namespace

OpReader::OpReader(std::string file, PlanBuilder& builder, Diagnostics& diagnostics)
    : file_(std::move(file)),
      builder_(builder),
      diagnostics_(diagnostics),
      fields_(kKeys, diagnostics),
      kernel_fields_(kKernelKeys, diagnostics),
      memory_fields_(kMemoryKeys, diagnostics) {}

void OpReader::read(JsonValue value) {
  if (!fields_.open(value, "op")) {
    add_broken();
    return;
  }
  fields_.require(kId);
  fields_.require(kDevice);
  const auto id = fields_.text(kId);
  const auto kind = fields_.require(kKind) ? fields_.word(kKind, kOpKindNames) : std::nullopt;
  if (kind) {
    fields_.rename(kCalled[*kind]);
  }
  fields_.finish(kind ? kAllowed[*kind] : kAllOfThem);
  // From here on a complaint means that the op's own words are not known; an unknown key does not
  // keep the structure of the plan from being checked as well.
  const std::size_t errors_before = diagnostics_.error_count();
  if (id && id->empty()) {
    diagnostics_.error("E0203", fields_.find(kId).place(), "an op's id must not be empty");
  }
  if (!id || !kind || !fields_.find(kDevice).is_string()) {
    fields_.text(kDevice);  // complains
    add_broken();
    return;
  }
  const OpId op = add(*id, static_cast<OpKind>(*kind));
  read_common(op);
  if (diagnostics_.error_count() != errors_before) {
    ++broken_;
  }
  remember_id(op);  // last: a doubled id is a complaint, but the op can be read
}

OpId OpReader::add_broken() {
  ++broken_;
  const JsonValue id = fields_.find(kId);
  const OpId op = builder_.add_marker(id.is_string() ? id.text() : "",
                                      builder_.stream(builder_.add_device("?"), "compute"));
  device_places_.resize(builder_.devices().size());
  if (id.is_string()) {
    known_ids_.find_or_insert(
        hash_of(id.text()), static_cast<std::uint32_t>(index_of(op)),
        [&](std::uint32_t at) { return builder_.id(id_at<OpId>(at)) == id.text(); });
  }
  return op;
}

OpId OpReader::add(std::string_view id, OpKind kind) {
  const DeviceId device = device_of(kDevice);
  const StreamId stream =
      builder_.stream(device, fields_.text(kStream).value_or(default_stream(kind)));
  switch (kind) {
    case OpKind::kCompute:
      return add_compute(id, stream);
    case OpKind::kCopy: {
      const bool has_to = fields_.require(kTo);
      const Bytes bytes =
          fields_.require(kBytes) ? fields_.bytes(kBytes).value_or(Bytes{}) : Bytes{};
      return builder_.add_copy(id, stream, has_to ? device_of(kTo) : device, bytes);
    }
    case OpKind::kSend:
    case OpKind::kRecv:
      return add_message(id, stream, kind);
    case OpKind::kCollective:
      return add_collective(id, stream);
    case OpKind::kHost:
      return builder_.add_host(id, stream, std::nullopt);
    case OpKind::kMarker:
      break;
  }
  return builder_.add_marker(id, stream);
}

OpId OpReader::add_compute(std::string_view id, StreamId stream) {
  ComputeSpec spec;
  spec.flops = fields_.number(kFlops).value_or(0);
  spec.bytes = fields_.bytes(kBytes).value_or(Bytes{});
  spec.dtype = static_cast<Dtype>(
      fields_.word(kDtype, kDtypeNames).value_or(static_cast<std::size_t>(Dtype::kFp32)));
  if (const JsonValue kernel = fields_.find(kKernel)) {
    spec.kernel = read_kernel(kernel);
  }
  return builder_.add_compute(id, stream, spec);
}

std::optional<Kernel> OpReader::read_kernel(JsonValue value) {
  FieldReader& fields = kernel_fields_;
  if (!fields.open(value, "kernel") || !fields.require(kKernelKind)) {
    return std::nullopt;
  }
  const auto kind = fields.word(kKernelKind, kKernelKindNames);
  if (!kind) {
    return std::nullopt;
  }
  Kernel kernel{static_cast<KernelKind>(*kind), 0, 0, 0, {}, {}};
  const bool is_product = kernel.kind == KernelKind::kGemm;
  fields.finish(is_product ? 0b00001111 : 0b11111111);
  if (is_product || fields.find(kM) || fields.find(kN) || fields.find(kK)) {
    const auto size = [&](std::size_t key) {
      fields.require(key);
      return static_cast<std::uint32_t>(fields.integer(key, 1, kMostUint32).value_or(1));
    };
    kernel.m = size(kM);
    kernel.n = size(kN);
    kernel.k = size(kK);
  }
  if (is_product) {
    return kernel;
  }
  kernel.gradient = static_cast<GradientOf>(fields.word(kGradient, kGradientOfNames).value_or(0));
  kernel.taps = static_cast<std::uint32_t>(fields.integer(kTaps, 1, kMostUint32).value_or(0));
  kernel.stride = static_cast<std::uint32_t>(fields.integer(kStride, 1, kMostUint32).value_or(1));
  const JsonValue layer = fields.find(kLayer);
  if (!fields.require(kLayer)) {
    return std::nullopt;
  }
  if (layer.is_string()) {
    kernel.layer = layer.text();
  } else if (layer.is_number()) {
    kernel.layer_index =
        static_cast<std::uint32_t>(fields.integer(kLayer, 0, kMostUint32).value_or(0));
  } else {
    fields.wrong_type(layer, "the name of a layer or its position");
  }
  return kernel;
}

OpId OpReader::add_message(std::string_view id, StreamId stream, OpKind kind) {
  MessageSpec spec{};
  fields_.require(kBytes);
  if (fields_.require(kPeer)) {
    spec.peer = device_of(kPeer);
  }
  spec.bytes = fields_.bytes(kBytes).value_or(Bytes{});
  spec.tag = static_cast<std::int32_t>(
      fields_.integer(kTag, 0, std::numeric_limits<std::int32_t>::max()).value_or(0));
  return kind == OpKind::kSend ? builder_.add_send(id, stream, spec)
                               : builder_.add_recv(id, stream, spec);
}

OpId OpReader::add_collective(std::string_view id, StreamId stream) {
  CollectiveOpSpec spec{};
  fields_.require(kCollective);
  fields_.require(kGroup);
  const auto kind = fields_.word(kCollective, kCollectiveKindNames);
  spec.kind = static_cast<CollectiveKind>(kind.value_or(0));
  if (spec.kind != CollectiveKind::kBarrier) {
    fields_.require(kBytes);
  }
  spec.group = group_of(kGroup);
  spec.bytes = fields_.bytes(kBytes).value_or(Bytes{});
  spec.algorithm = fields_.text(kAlgorithm).value_or("auto");
  spec.dtype = static_cast<Dtype>(
      fields_.word(kDtype, kDtypeNames).value_or(static_cast<std::size_t>(Dtype::kFp32)));
  if (fields_.find(kRoot)) {
    spec.root = device_of(kRoot);
    if (kind && !has_root(spec.kind)) {
      diagnostics_.error("E0203", fields_.find(kRoot).place(),
                         fmt::format("a collective {} has no root", name_of(spec.kind)),
                         "remove \"root\"; broadcast and reduce have one");
    }
  }
  spec.match = fields_.text(kMatch).value_or("");
  return builder_.add_collective(id, stream, spec);
}

void OpReader::read_common(OpId op) {
  if (const auto duration = fields_.time(kDuration)) {
    builder_.set_duration(op, *duration);
  }
  constexpr auto kLeast = std::numeric_limits<std::int16_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int16_t>::max();
  if (const auto priority = fields_.integer(kPriority, kLeast, kMost)) {
    builder_.set_priority(op, static_cast<std::int16_t>(*priority));
  }
  if (const JsonValue memory = fields_.array(kMemory)) {
    for (JsonValue effect = memory.first(); effect; effect = effect.next()) {
      read_memory_effect(op, effect);
    }
  }
  if (const JsonValue payload = fields_.find(kPayload)) {
    const auto device_named = [&](std::string_view name) { return device(name, payload.place()); };
    builder_.set_payload(op, read_payload(payload, device_named, diagnostics_));
  }
  read_after(op);
}

void OpReader::read_after(OpId op) {
  const JsonValue after = fields_.array(kAfter);
  std::uint32_t position = 0;
  for (JsonValue entry = after ? after.first() : JsonValue(); entry; entry = entry.next()) {
    if (!entry.is_string()) {
      fields_.wrong_type(entry, "the id of an op");
    } else if (const auto on = find_op(entry.text())) {
      builder_.depend(op, *on);
    } else {
      pending_.push_back(
          {op, position, pending_text_.size(), entry.text().size(), builder_.depend_later(op)});
      pending_text_ += entry.text();
    }
    ++position;
  }
}

void OpReader::read_memory_effect(OpId op, JsonValue value) {
  FieldReader& fields = memory_fields_;
  if (!fields.open(value, "memory effect")) {
    return;
  }
  fields.finish(kAllOfThem);
  fields.require(kPart);
  fields.require(kEffectBytes);
  const auto part = fields.word(kPart, kMemoryPartNames);
  const auto bytes = read_effect_bytes();
  const std::size_t when = fields.word(kWhen, kMemoryWhenNames).value_or(0);
  if (part && bytes) {
    builder_.add_memory_effect(
        op, MemoryEffect(static_cast<MemoryPart>(*part), *bytes, static_cast<MemoryWhen>(when)));
  }
}

// Unlike any other size it may be negative: memory given back. "-25MB" is.
std::optional<Bytes> OpReader::read_effect_bytes() {
  const JsonValue value = memory_fields_.find(kEffectBytes);
  if (value.is_string() && value.text().starts_with('-')) {
    const auto given_back = parse_bytes(value.text().substr(1));
    if (given_back && given_back->count <= MemoryEffect::kLargest) {
      return Bytes{-given_back->count};
    }
  }
  if (!value || value.is_number()) {
    const auto whole =
        memory_fields_.integer(kEffectBytes, -MemoryEffect::kLargest, MemoryEffect::kLargest);
    return whole ? std::optional(Bytes{*whole}) : std::nullopt;
  }
  const auto bytes = memory_fields_.bytes(kEffectBytes);
  if (bytes && bytes->count > MemoryEffect::kLargest) {
    diagnostics_.error("E0203", value.place(), "no memory is that large");
    return std::nullopt;
  }
  return bytes;
}

void OpReader::remember_id(OpId op) {
  const std::string_view id = builder_.id(op);
  const auto [first, is_new] = known_ids_.find_or_insert(
      hash_of(id), static_cast<std::uint32_t>(index_of(op)),
      [&](std::uint32_t at) { return builder_.id(id_at<OpId>(at)) == id; });
  if (!is_new) {
    diagnostics_.error("E0411", fields_.find(kId).place(),
                       fmt::format("the id \"{}\" is taken by op {} already", id, first),
                       "give every op an id of its own");
  }
}

std::optional<OpId> OpReader::find_op(std::string_view id) const {
  const std::uint32_t found = known_ids_.find(
      hash_of(id), [&](std::uint32_t at) { return builder_.id(id_at<OpId>(at)) == id; });
  return found == HashIndex::kNone ? std::nullopt : std::optional(id_at<OpId>(found));
}

DeviceId OpReader::device(std::string_view name, const Place& place) {
  const DeviceId device = builder_.add_device(name);
  if (index_of(device) >= device_places_.size()) {
    device_places_.push_back(place);
  }
  return device;
}

DeviceId OpReader::device_of(std::size_t key) {
  const auto name = fields_.text(key);
  if (!name) {
    return id_at<DeviceId>(0);  // complained about; the op is broken
  }
  const DeviceId known = builder_.add_device(*name);
  if (index_of(known) >= device_places_.size()) {
    device_places_.push_back(fields_.find(key).place());
  }
  return known;
}

GroupId OpReader::group_of(std::size_t key) {
  const GroupId group = builder_.add_group(fields_.text(key).value_or(""));
  if (index_of(group) >= group_places_.size()) {
    const JsonValue value = fields_.find(key);
    group_places_.resize(index_of(group) + 1);
    group_places_.back() = value ? value.place() : Place{};
  }
  return group;
}

// Edit distance to a million ids would take seconds: only those of about the same length that share
// the first or the last half are looked at.
std::string OpReader::near_id(std::string_view typed) const {
  constexpr std::size_t kCompared = 2000;
  const std::size_t half = typed.size() / 2;
  std::vector<std::string> candidates;
  for (std::size_t i = 0; i < builder_.size() && candidates.size() < kCompared; ++i) {
    const std::string_view id = builder_.id(id_at<OpId>(i));
    if (id.size() + 2 >= typed.size() && id.size() <= typed.size() + 2 &&
        (id.starts_with(typed.substr(0, half)) || id.ends_with(typed.substr(half)))) {
      candidates.emplace_back(id);
    }
  }
  const std::string near = nearest_name(typed, candidates);
  return near.empty() ? "\"after\" takes ids of ops of this plan"
                      : fmt::format("did you mean \"{}\"?", near);
}

void OpReader::resolve() {
  constexpr std::size_t kSuggested = 20;  // more complaints than that are only counted
  for (const Pending& pending : pending_) {
    const std::string_view id =
        std::string_view(pending_text_).substr(pending.text_begin, pending.text_size);
    if (const auto on = find_op(id)) {
      builder_.resolve(pending.edge, *on);
      continue;
    }
    const bool suggests = diagnostics_.error_count() < kSuggested;
    diagnostics_.error(
        "E0412",
        {file_, fmt::format("/ops/{}/after/{}", index_of(pending.op), pending.position), -1, false},
        fmt::format("no op has the id \"{}\"", id), suggests ? near_id(id) : "");
  }
}

}  // namespace twinrun
