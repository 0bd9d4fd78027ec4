#include "exec/cpu/cpu_backend.h"

#include <algorithm>
#include <mutex>

#include "core/base/check.h"
#include "exec/cpu/choose_schedule.h"
#include "exec/training/collective_array.h"

namespace twinrun::exec {
CpuBackend::CpuBackend(const Plan& plan, OpWork& work)
    : plan_(plan), work_(work), received_(plan.size()) {
  for (std::size_t i = 0; i < plan.instance_count(); ++i) {
    const auto instance = id_at<InstanceId>(i);
    const OpId first = plan.instance_ops(instance).front();
    const std::int64_t elements = array_elements(plan, first, work.moved(first));
    const ChosenSchedule chosen = choose_schedule(plan, instance, elements);
    exchanges_.push_back(std::make_unique<CollectiveExchange>(chosen.schedule));
    algorithms_.push_back(chosen.algorithm);
  }
}

void CpuBackend::run(OpId op) {
  switch (plan_.kind(op)) {
    case OpKind::kSend:
      received_[index_of(plan_.message(op).partner)].wait_for(1);
      return;
    case OpKind::kRecv:
      return receive(op);
    case OpKind::kCollective:
      return collective(op);
    case OpKind::kCompute:
    case OpKind::kCopy:
    case OpKind::kHost:
    case OpKind::kMarker:
      work_.compute(op);
      return work_.finished(op);
  }
}

// The sender waits meanwhile, so its memory can be read.
void CpuBackend::receive(OpId op) {
  const MovedData from = work_.moved(plan_.message(op).partner);
  const MovedData into = work_.moved(op);
  TWINRUN_CHECK(from.ranges.size() == into.ranges.size());
  const auto lock = from.locked();
  for (std::size_t i = 0; i < from.ranges.size(); ++i) {
    TWINRUN_CHECK(from.ranges[i].size() == into.ranges[i].size());
    std::copy(from.ranges[i].begin(), from.ranges[i].end(), into.ranges[i].begin());
    if (from.is_taken) {
      std::fill(from.ranges[i].begin(), from.ranges[i].end(), 0.0F);
    }
  }
  received_[index_of(op)].raise();
}

void CpuBackend::collective(OpId op) {
  CollectiveExchange& exchange = *exchanges_[index_of(plan_.collective(op).instance)];
  const std::uint32_t rank = rank_in_group(plan_, op);
  with_collective_array(
      plan_, op, work_.moved(op),
      [&](std::span<float> array, std::span<float> into) { exchange.run(rank, array, into); });
}

void CpuBackend::stop() {
  for (Gate& gate : received_) {
    gate.stop();
  }
  for (const auto& exchange : exchanges_) {
    exchange->stop();
  }
}

std::string CpuBackend::algorithm(InstanceId instance) const {
  return algorithms_[index_of(instance)];
}

}  // namespace twinrun::exec
