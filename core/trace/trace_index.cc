#include "core/trace/trace_index.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/trace/staleness.h"

namespace twinrun {
namespace {

struct Started {
  Time start{};
  OpId op{};
  auto operator<=>(const Started&) const = default;
};

Csr<DeviceId, StreamId> streams_by_device(const Plan& plan) {
  std::vector<DeviceId> devices;
  std::vector<StreamId> streams;
  for (std::size_t s = 0; s < plan.stream_count(); ++s) {
    streams.push_back(id_at<StreamId>(s));
    devices.push_back(plan.stream_device(streams.back()));
  }
  return Csr<DeviceId, StreamId>::from_pairs(plan.device_count(), devices, streams);
}

// A stream is in order already, as it is FIFO; only a measured clock may say otherwise.
void merge_stream(const Plan& plan,
                  const Trace& trace,
                  StreamId stream,
                  std::vector<Started>& ops) {
  const auto merged = static_cast<std::ptrdiff_t>(ops.size());
  for (const OpId op : plan.stream_ops(stream)) {
    ops.push_back({trace.ops[index_of(op)].start, op});
  }
  const auto middle = ops.begin() + merged;
  if (!std::is_sorted(middle, ops.end())) {
    std::sort(middle, ops.end());
  }
  std::inplace_merge(ops.begin(), middle, ops.end());
}

}  // namespace

Csr<DeviceId, OpId> order_by_start(const Plan& plan, const Trace& trace) {
  const Csr<DeviceId, StreamId> streams = streams_by_device(plan);
  std::vector<std::uint32_t> offsets = {0};
  std::vector<OpId> ordered;
  offsets.reserve(plan.device_count() + 1);
  ordered.reserve(plan.size());
  std::vector<Started> of_device;
  for (std::size_t d = 0; d < plan.device_count(); ++d) {
    of_device.clear();
    for (const StreamId stream : streams[id_at<DeviceId>(d)]) {
      merge_stream(plan, trace, stream, of_device);
    }
    for (const Started& started : of_device) {
      ordered.push_back(started.op);
    }
    offsets.push_back(static_cast<std::uint32_t>(ordered.size()));
  }
  return {std::move(offsets), std::move(ordered)};
}

TraceIndex::TraceIndex(const Plan& plan_of_run, const Trace& trace_of_run)
    : plan(plan_of_run),
      trace(trace_of_run),
      steps(plan_of_run, trace_of_run),
      has_independent_workers(workers_are_independent(plan_of_run)),
      ops_by_start(order_by_start(plan_of_run, trace_of_run)) {}

TraceIndex::TraceIndex(const Plan& plan_of_run,
                       const Trace& trace_of_run,
                       StepEnds steps_of_run,
                       bool has_independent_workers_of_run,
                       Csr<DeviceId, OpId> ops_by_start_of_run)
    : plan(plan_of_run),
      trace(trace_of_run),
      steps(std::move(steps_of_run)),
      has_independent_workers(has_independent_workers_of_run),
      ops_by_start(std::move(ops_by_start_of_run)) {}

}  // namespace twinrun
