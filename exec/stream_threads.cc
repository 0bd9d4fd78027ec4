#include "exec/stream_threads.h"

#include <algorithm>

#include "exec/thread_schedule.h"

namespace twinrun::exec {
namespace {

bool computes(const Plan& plan, StreamId stream) {
  const auto ops = plan.stream_ops(stream);
  return std::any_of(ops.begin(), ops.end(),
                     [&](OpId op) { return plan.kind(op) == OpKind::kCompute; });
}

bool communicates(const Plan& plan, StreamId stream) {
  const auto ops = plan.stream_ops(stream);
  return std::any_of(ops.begin(), ops.end(), [&](OpId op) {
    const OpKind kind = plan.kind(op);
    return kind == OpKind::kCollective || kind == OpKind::kSend || kind == OpKind::kRecv;
  });
}

}  // namespace

std::vector<std::size_t> cores_for_devices(std::size_t devices,
                                           const std::vector<std::size_t>& allowed) {
  const bool takes_most = devices > 1 && devices <= allowed.size() && 2 * devices > allowed.size();
  std::vector<std::size_t> out(takes_most ? devices : 0);
  std::copy_n(allowed.begin(), out.size(), out.begin());
  return out;
}

StreamThreads::StreamThreads(const Plan& plan, const LocalDevices& here, bool has_others)
    : plan_(plan) {
  if (has_others) {
    return;
  }
  std::map<DeviceId, StreamId> of_device;  // the first that computes
  for (std::size_t i = 0; i < plan.stream_count(); ++i) {
    const auto stream = id_at<StreamId>(i);
    if (here.has(plan.stream_device(stream)) && computes(plan, stream)) {
      of_device.try_emplace(plan.stream_device(stream), stream);
    }
  }
  const std::vector<std::size_t> cores = cores_for_devices(of_device.size(), allowed_cores());
  auto core = cores.begin();
  for (const auto& [device, stream] : of_device) {
    if (core != cores.end()) {
      core_of_[stream] = *core++;
    }
  }
}

void StreamThreads::prepare(StreamId stream) const {
  if (const auto core = core_of_.find(stream); core != core_of_.end()) {
    stay_on_core(core->second);
  }
  if (communicates(plan_, stream)) {
    ask_for_short_slices();
  }
}

}  // namespace twinrun::exec
