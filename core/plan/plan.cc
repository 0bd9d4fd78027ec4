#include "core/plan/plan.h"

#include <algorithm>

#include "core/base/check.h"

namespace twinrun {
namespace {

template <class T>
std::size_t bytes_of(const std::vector<T>& column) {
  return column.capacity() * sizeof(T);
}

}  // namespace

std::int16_t Plan::priority(OpId op) const {
  return columns_.priority.empty() ? std::int16_t{0} : columns_.priority[index_of(op)];
}

std::optional<OpId> Plan::find(std::string_view id) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (this->id(id_at<OpId>(i)) == id) {
      return id_at<OpId>(i);
    }
  }
  return std::nullopt;
}

const CopyOp& Plan::copy(OpId op) const { return columns_.copy[attribute(op, OpKind::kCopy)]; }

std::string_view Plan::algorithm_name(const CollectiveShape& shape) const {
  return columns_.words[shape.algorithm];
}

const Kernel* Plan::kernel(OpId op) const {
  const KernelId kernel = compute(op).kernel;
  return kernel == no_id<KernelId>() ? nullptr : &columns_.kernels[index_of(kernel)];
}

const Payload* Plan::payload(OpId op) const {
  const PayloadId payload =
      columns_.payload.empty() ? no_id<PayloadId>() : columns_.payload[index_of(op)];
  return payload == no_id<PayloadId>() ? nullptr : &columns_.payloads[index_of(payload)];
}

std::string_view Plan::device_name(DeviceId device) const {
  return columns_.devices[index_of(device)];
}

std::string_view Plan::stream_name(StreamId stream) const {
  return columns_.words[columns_.stream_keys[index_of(stream)].name];
}

std::string_view Plan::group_name(GroupId group) const { return columns_.groups[index_of(group)]; }

std::span<const DeviceId> Plan::group_devices(GroupId group) const {
  return columns_.group_devices[index_of(group)];
}

std::string_view Plan::match(OpId op) const {
  const auto& given = columns_.given_match;
  const auto found = std::lower_bound(given.begin(), given.end(), op,
                                      [](const GivenMatch& row, OpId key) { return row.op < key; });
  return found != given.end() && found->op == op ? columns_.words[found->text]
                                                 : default_match(id(op));
}

PlanMemory Plan::memory_use() const {
  const Columns& c = columns_;
  PlanMemory use;
  use.name_bytes = c.ids.capacity();
  use.edge_bytes = 2 * edge_count() * sizeof(OpId);
  use.op_bytes = bytes_of(c.kind) + bytes_of(c.stream) + bytes_of(c.attribute) +
                 bytes_of(c.id_end) + bytes_of(c.duration_ps) + bytes_of(c.priority) +
                 bytes_of(c.payload) + bytes_of(c.compute) + bytes_of(c.copy) +
                 bytes_of(c.message) + bytes_of(c.collective) + bytes_of(c.given_match) +
                 stream_order_.bytes() + instances_.bytes() + memory_effects_.bytes() +
                 predecessors_.bytes() + successors_.bytes() - use.edge_bytes;
  const auto per = [](std::size_t bytes, std::size_t count) {
    return count == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(count);
  };
  use.bytes_per_op = per(use.op_bytes, size());
  use.bytes_per_edge = per(use.edge_bytes, edge_count());
  return use;
}

}  // namespace twinrun
