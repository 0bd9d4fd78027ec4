#include "core/plan/plan_builder.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "core/base/csr.h"
#include "core/base/diagnostics.h"

namespace twinrun {
namespace {

std::uint64_t hash_of_kernel(const Kernel& kernel) {
  std::uint64_t hash = hash_pair(static_cast<std::uint64_t>(kernel.kind), kernel.m);
  hash = hash_pair(hash_pair(hash, kernel.n), kernel.k);
  hash = hash_pair(hash_pair(hash, kernel.taps), static_cast<std::uint64_t>(kernel.gradient));
  return hash_pair(hash_pair(hash, kernel.layer_index.value_or(0)), hash_of(kernel.layer));
}

std::uint64_t hash_of_compute(const ComputeOp& compute) {
  const std::uint64_t hash = hash_pair(std::bit_cast<std::uint64_t>(compute.flops),
                                       static_cast<std::uint64_t>(compute.bytes.count));
  return hash_pair(hash_pair(hash, index_of(compute.kernel)),
                   static_cast<std::uint64_t>(compute.dtype));
}

std::uint64_t hash_of_shape(const CollectiveShape& shape) {
  std::uint64_t hash =
      hash_pair(static_cast<std::uint64_t>(shape.kind), static_cast<std::uint64_t>(shape.dtype));
  hash = hash_pair(hash_pair(hash, index_of(shape.group)), index_of(shape.root));
  return hash_pair(hash, shape.algorithm);
}

std::uint64_t hash_of_payload(const Payload& payload) {
  const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
  std::uint64_t hash = number(payload.verb) | number(payload.source) << 8 |
                       number(payload.target) << 16 | number(payload.accumulates) << 24 |
                       number(payload.layer) << 32;
  hash = hash_pair(hash_pair(hash, payload.tensor_rank), index_of(payload.sender));
  hash = hash_pair(hash_pair(hash, payload.share), payload.shares);
  hash = hash_pair(hash_pair(hash, payload.boundaries), payload.version);
  hash = hash_pair(hash_pair(hash, number(payload.samples.begin)), number(payload.samples.end));
  for (const CountRange& range : payload.elements) {
    hash = hash_pair(hash_pair(hash, number(range.begin)), number(range.end));
  }
  return hash;
}

// Gives back what is in the plan by now, rather than hold it twice.
template <class Column>
void drop(Column& column) {
  Column().swap(column);
}

// Growing leaves up to half of a column unused; a plan of millions of ops is kept for long. What is
// nearly full is not worth the copy, and room that was reserved and never written costs nothing.
template <class... Columns>
void fit(Columns&... columns) {
  const auto fit_one = [](auto& column) {
    if (column.capacity() - column.size() > column.size() / 4) {
      column.shrink_to_fit();
    }
  };
  (fit_one(columns), ...);
}

// Ops by stream, in their order.
Csr<StreamId, OpId> by_stream(std::size_t streams, const std::vector<StreamId>& stream_of) {
  std::vector<std::uint32_t> offsets(streams + 1, 0);
  for (const StreamId stream : stream_of) {
    ++offsets[index_of(stream) + 1];
  }
  for (std::size_t i = 0; i < streams; ++i) {
    offsets[i + 1] += offsets[i];
  }
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  std::vector<OpId> ops(stream_of.size());
  for (std::size_t i = 0; i < stream_of.size(); ++i) {
    ops[next[index_of(stream_of[i])]++] = id_at<OpId>(i);
  }
  return {std::move(offsets), std::move(ops)};
}

}  // namespace

void PlanBuilder::reserve(std::size_t ops, std::size_t edges) {
  columns_.kind.reserve(ops);
  columns_.stream.reserve(ops);
  columns_.attribute.reserve(ops);
  columns_.id_end.reserve(ops);
  edge_op_.reserve(edges);
  edge_on_.reserve(edges);
}

PlanBuilder::Mark PlanBuilder::mark() const {
  return {size(),          columns_.ids.size(),     edge_op_.size(),
          effects_.size(), columns_.message.size(), columns_.collective.size()};
}

void PlanBuilder::reserve_repeats(const Mark& since, std::size_t times) {
  const Mark now = mark();
  // Later ranks have a little more: messages on both sides, longer numbers in their names. Without
  // the tenth every column would be copied as it grows and again by fit(), which lets it be.
  const auto total = [times](std::size_t before, std::size_t after) {
    const std::size_t repeats = (after - before) * times;
    return after + repeats + repeats / 10;
  };
  const std::size_t ops = total(since.ops, now.ops);
  reserve(ops, total(since.edges, now.edges));
  columns_.ids.reserve(total(since.id_bytes, now.id_bytes));
  columns_.message.reserve(total(since.messages, now.messages));
  columns_.collective.reserve(total(since.collectives, now.collectives));
  effect_op_.reserve(total(since.effects, now.effects));
  effects_.reserve(total(since.effects, now.effects));
  if (!columns_.duration_ps.empty()) {
    columns_.duration_ps.reserve(ops);
  }
}

DeviceId PlanBuilder::add_device(std::string_view name) {
  return id_at<DeviceId>(columns_.devices.intern(name));
}

StreamId PlanBuilder::stream(DeviceId device, std::string_view name) {
  const std::uint32_t word = columns_.words.intern(name);
  const auto next = static_cast<std::uint32_t>(columns_.stream_keys.size());
  const auto [index, is_new] =
      known_streams_.find_or_insert(hash_pair(index_of(device), word), next, [&](std::uint32_t at) {
        return columns_.stream_keys[at].device == device && columns_.stream_keys[at].name == word;
      });
  if (is_new) {
    columns_.stream_keys.push_back({device, word});
  }
  return id_at<StreamId>(index);
}

GroupId PlanBuilder::add_group(std::string_view name) {
  const std::uint32_t index = columns_.groups.intern(name);
  columns_.group_devices.resize(columns_.groups.size());
  return id_at<GroupId>(index);
}

GroupId PlanBuilder::add_group(std::string_view name, std::span<const DeviceId> devices) {
  const GroupId group = add_group(name);
  columns_.group_devices[index_of(group)].assign(devices.begin(), devices.end());
  return group;
}

void PlanBuilder::add_to_group(GroupId group, DeviceId device) {
  columns_.group_devices[index_of(group)].push_back(device);
}

OpId PlanBuilder::add(std::string_view id, StreamId stream, OpKind kind, std::size_t attribute) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max() - 1;
  if (columns_.ids.size() + id.size() > kMost || size() >= kMost) {
    throw CannotRun("the plan is too large: more than 4 GB of op ids");
  }
  TWINRUN_DCHECK(index_of(stream) < columns_.stream_keys.size());
  columns_.kind.push_back(kind);
  columns_.stream.push_back(stream);
  columns_.attribute.push_back(static_cast<std::uint32_t>(attribute));
  columns_.ids += id;
  columns_.id_end.push_back(static_cast<std::uint32_t>(columns_.ids.size()));
  return id_at<OpId>(size() - 1);
}

OpId PlanBuilder::add_compute(std::string_view id, StreamId stream, const ComputeSpec& spec) {
  return add_interned_compute(id, stream, intern(spec));
}

ComputeId PlanBuilder::intern(const ComputeSpec& spec) {
  const KernelId kernel = spec.kernel ? intern(*spec.kernel) : no_id<KernelId>();
  return id_at<ComputeId>(intern(ComputeOp{spec.flops, spec.bytes, kernel, spec.dtype}));
}

OpId PlanBuilder::add_interned_compute(std::string_view id, StreamId stream, ComputeId compute) {
  TWINRUN_DCHECK(index_of(compute) < columns_.compute.size());
  return add(id, stream, OpKind::kCompute, index_of(compute));
}

OpId PlanBuilder::add_copy(std::string_view id, StreamId stream, DeviceId to, Bytes bytes) {
  columns_.copy.push_back({bytes, to});
  return add(id, stream, OpKind::kCopy, columns_.copy.size() - 1);
}

OpId PlanBuilder::add_message(std::string_view id,
                              StreamId stream,
                              OpKind kind,
                              const MessageSpec& spec) {
  columns_.message.push_back({spec.bytes, spec.peer, spec.tag, no_id<OpId>()});
  return add(id, stream, kind, columns_.message.size() - 1);
}

OpId PlanBuilder::add_send(std::string_view id, StreamId stream, const MessageSpec& spec) {
  return add_message(id, stream, OpKind::kSend, spec);
}

OpId PlanBuilder::add_recv(std::string_view id, StreamId stream, const MessageSpec& spec) {
  return add_message(id, stream, OpKind::kRecv, spec);
}

OpId PlanBuilder::add_collective(std::string_view id,
                                 StreamId stream,
                                 const CollectiveOpSpec& spec) {
  if (!spec.match.empty() && spec.match != default_match(id)) {
    columns_.given_match.push_back({id_at<OpId>(size()), columns_.words.intern(spec.match)});
  }
  return add_collective(id, stream, intern(spec), spec.bytes);
}

ShapeId PlanBuilder::intern(const CollectiveOpSpec& spec) {
  return id_at<ShapeId>(intern(CollectiveShape{spec.kind, spec.dtype, spec.group, spec.root,
                                               columns_.words.intern(spec.algorithm)}));
}

OpId PlanBuilder::add_collective(std::string_view id, StreamId stream, ShapeId shape, Bytes bytes) {
  TWINRUN_DCHECK(index_of(shape) < columns_.shapes.size());
  columns_.collective.push_back(
      {bytes, static_cast<std::uint32_t>(index_of(shape)), no_id<InstanceId>()});
  return add(id, stream, OpKind::kCollective, columns_.collective.size() - 1);
}

OpId PlanBuilder::add_host(std::string_view id, StreamId stream, std::optional<Time> duration) {
  const OpId op = add(id, stream, OpKind::kHost, 0);
  if (duration) {
    set_duration(op, *duration);
  }
  return op;
}

OpId PlanBuilder::add_marker(std::string_view id, StreamId stream) {
  return add(id, stream, OpKind::kMarker, 0);
}

void PlanBuilder::depend(OpId op, OpId on) {
  TWINRUN_DCHECK(index_of(op) < size() && index_of(on) < size());
  edge_op_.push_back(op);
  edge_on_.push_back(on);
}

std::size_t PlanBuilder::depend_later(OpId op) {
  edge_op_.push_back(op);
  edge_on_.push_back(no_id<OpId>());
  return edge_on_.size() - 1;
}

void PlanBuilder::drop_unresolved() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < edge_on_.size(); ++i) {
    if (edge_on_[i] != no_id<OpId>()) {
      edge_op_[kept] = edge_op_[i];
      edge_on_[kept++] = edge_on_[i];
    }
  }
  edge_op_.resize(kept);
  edge_on_.resize(kept);
}

void PlanBuilder::set_duration(OpId op, Time duration) {
  TWINRUN_CHECK(duration.ps >= 0 && index_of(op) < size());
  columns_.duration_ps.resize(size(), -1);
  columns_.duration_ps[index_of(op)] = duration.ps;
}

void PlanBuilder::set_priority(OpId op, std::int16_t priority) {
  TWINRUN_CHECK(index_of(op) < size());
  if (priority != 0 || !columns_.priority.empty()) {
    columns_.priority.resize(size(), 0);
    columns_.priority[index_of(op)] = priority;
  }
}

void PlanBuilder::add_memory_effect(OpId op, MemoryEffect effect) {
  TWINRUN_CHECK(index_of(op) < size());
  effect_op_.push_back(op);
  effects_.push_back(effect);
}

bool PlanBuilder::has_payload(OpId op) const {
  return index_of(op) < columns_.payload.size() &&
         columns_.payload[index_of(op)] != no_id<PayloadId>();
}

void PlanBuilder::set_payload(OpId op, const Payload& payload) {
  TWINRUN_CHECK(index_of(op) < size());
  const auto next = static_cast<std::uint32_t>(columns_.payloads.size());
  const auto [index, is_new] = known_payloads_.find_or_insert(
      hash_of_payload(payload), next,
      [&](std::uint32_t at) { return columns_.payloads[at] == payload; });
  if (is_new) {
    columns_.payloads.push_back(payload);
  }
  columns_.payload.resize(size(), no_id<PayloadId>());
  columns_.payload[index_of(op)] = id_at<PayloadId>(index);
}

std::string_view PlanBuilder::id(OpId op) const {
  const std::size_t at = index_of(op);
  const std::uint32_t begin = at == 0 ? 0 : columns_.id_end[at - 1];
  return {columns_.ids.data() + begin, columns_.id_end[at] - begin};
}

KernelId PlanBuilder::intern(const Kernel& kernel) {
  const auto next = static_cast<std::uint32_t>(columns_.kernels.size());
  const auto [index, is_new] = known_kernels_.find_or_insert(
      hash_of_kernel(kernel), next,
      [&](std::uint32_t at) { return columns_.kernels[at] == kernel; });
  if (is_new) {
    columns_.kernels.push_back(kernel);
  }
  return id_at<KernelId>(index);
}

std::uint32_t PlanBuilder::intern(const ComputeOp& compute) {
  const auto next = static_cast<std::uint32_t>(columns_.compute.size());
  const auto [index, is_new] = known_compute_.find_or_insert(
      hash_of_compute(compute), next,
      [&](std::uint32_t at) { return columns_.compute[at] == compute; });
  if (is_new) {
    columns_.compute.push_back(compute);
  }
  return index;
}

std::uint32_t PlanBuilder::intern(const CollectiveShape& shape) {
  const auto next = static_cast<std::uint32_t>(columns_.shapes.size());
  const auto [index, is_new] = known_shapes_.find_or_insert(
      hash_of_shape(shape), next, [&](std::uint32_t at) { return columns_.shapes[at] == shape; });
  if (is_new) {
    columns_.shapes.push_back(shape);
  }
  return index;
}

// The i-th send from a to b with a tag meets the i-th recv on b from a with that tag. Each channel
// (from, to, tag) keeps those that still wait, which are all sends or all recvs.
void PlanBuilder::pair_messages() {
  struct Channel {
    DeviceId from;
    DeviceId to;
    std::int32_t tag;
    OpKind waiting_kind;
    std::vector<OpId> waiting;
    std::size_t met = 0;  // how many of those have met their partner
  };
  std::vector<Channel> channels;
  HashIndex known;
  const std::size_t ops = columns_.message.empty() ? 0 : size();
  for (std::size_t i = 0; i < ops; ++i) {
    const OpKind kind = columns_.kind[i];
    if (kind != OpKind::kSend && kind != OpKind::kRecv) {
      continue;
    }
    MessageOp& message = columns_.message[columns_.attribute[i]];
    const DeviceId device = columns_.stream_keys[index_of(columns_.stream[i])].device;
    const auto [from, to] =
        kind == OpKind::kSend ? std::pair(device, message.peer) : std::pair(message.peer, device);
    const auto is_same = [&, sender = from, receiver = to](std::uint32_t at) {
      const Channel& c = channels[at];
      return c.from == sender && c.to == receiver && c.tag == message.tag;
    };
    const std::uint64_t hash =
        hash_pair(hash_pair(index_of(from), index_of(to)), static_cast<std::uint32_t>(message.tag));
    const auto [at, is_new] =
        known.find_or_insert(hash, static_cast<std::uint32_t>(channels.size()), is_same);
    if (is_new) {
      channels.push_back({from, to, message.tag, kind, {}});
    }
    Channel& channel = channels[at];
    if (channel.met == channel.waiting.size()) {
      channel.waiting.clear();
      channel.met = 0;
      channel.waiting_kind = kind;
    }
    if (channel.waiting_kind == kind) {
      channel.waiting.push_back(id_at<OpId>(i));
    } else {
      message.partner = channel.waiting[channel.met++];
      columns_.message[columns_.attribute[index_of(message.partner)]].partner = id_at<OpId>(i);
    }
  }
}

// Most effects come in the order of their ops; only the head, up to the last that does not, is
// sorted, and the rest stays where it is.
Csr<OpId, MemoryEffect> PlanBuilder::group_effects() {
  const auto tail = std::is_sorted_until(effect_op_.rbegin(), effect_op_.rend(), std::greater<>());
  const auto most = std::max_element(tail, effect_op_.rend());
  const auto head_end = most == effect_op_.rend()
                            ? effect_op_.begin()
                            : std::upper_bound(tail.base(), effect_op_.end(), *most);
  const auto head = static_cast<std::size_t>(head_end - effect_op_.begin());
  std::vector<std::pair<OpId, MemoryEffect>> pairs;
  for (std::size_t i = 0; i < head; ++i) {
    pairs.emplace_back(effect_op_[i], effects_[i]);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < head; ++i) {
    std::tie(effect_op_[i], effects_[i]) = pairs[i];
  }
  Csr<OpId, MemoryEffect> rows =
      Csr<OpId, MemoryEffect>::from_sorted_pairs(size(), effect_op_, std::move(effects_));
  drop(effect_op_);
  return rows;
}

// Collectives of one group with one match are one instance; instances are numbered by their first
// op. Also sets the instance of each collective.
Csr<InstanceId, OpId> PlanBuilder::group_instances() {
  struct Key {
    GroupId group;
    std::string_view match;
  };
  std::vector<Key> keys;
  std::vector<InstanceId> rows;
  std::vector<OpId> ops;
  HashIndex known;
  std::uint32_t last = 0;  // ranks take part in the same order: the next is mostly the one behind
  rows.reserve(columns_.collective.size());
  ops.reserve(columns_.collective.size());
  auto given = columns_.given_match.begin();
  const std::size_t count = columns_.collective.empty() ? 0 : size();
  for (std::size_t i = 0; i < count; ++i) {
    if (columns_.kind[i] != OpKind::kCollective) {
      continue;
    }
    const OpId op = id_at<OpId>(i);
    const bool is_given = given != columns_.given_match.end() && given->op == op;
    CollectiveOp& collective = columns_.collective[columns_.attribute[i]];
    const Key key{columns_.shapes[collective.shape].group,
                  is_given ? columns_.words[(given++)->text] : default_match(id(op))};
    const auto is_same = [&](std::uint32_t at) {
      return at < keys.size() && keys[at].group == key.group && keys[at].match == key.match;
    };
    std::uint32_t row = last + 1;
    if (!is_same(row)) {
      const auto next = static_cast<std::uint32_t>(keys.size());
      row = known.find_or_insert(hash_pair(hash_of(key.match), index_of(key.group)), next, is_same)
                .first;
      if (row == next) {
        keys.push_back(key);
      }
    }
    last = row;
    collective.instance = id_at<InstanceId>(row);
    rows.push_back(collective.instance);
    ops.push_back(op);
  }
  return Csr<InstanceId, OpId>::from_pairs(keys.size(), rows, ops);
}

Plan PlanBuilder::finish() && {
  Plan plan;
  if (!columns_.duration_ps.empty()) {
    columns_.duration_ps.resize(size(), -1);
  }
  if (!columns_.priority.empty()) {
    columns_.priority.resize(size(), 0);
  }
  if (!columns_.payload.empty()) {
    columns_.payload.resize(size(), no_id<PayloadId>());
  }
  drop_unresolved();
  plan.predecessors_ = Csr<OpId, OpId>::from_pairs(size(), edge_op_, edge_on_);
  plan.successors_ = Csr<OpId, OpId>::from_pairs(size(), edge_on_, edge_op_);
  drop(edge_op_);
  drop(edge_on_);
  plan.stream_order_ = by_stream(columns_.stream_keys.size(), columns_.stream);
  if (!effects_.empty()) {
    plan.memory_effects_ = group_effects();
  }
  pair_messages();
  plan.instances_ = group_instances();
  Plan::Columns& c = columns_;
  fit(c.kind, c.stream, c.attribute, c.id_end, c.ids, c.duration_ps, c.priority, c.payload);
  fit(c.compute, c.copy, c.message, c.collective, c.given_match);
  plan.columns_ = std::move(columns_);
  return plan;
}

}  // namespace twinrun
