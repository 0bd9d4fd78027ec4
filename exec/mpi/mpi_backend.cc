#include "exec/mpi/mpi_backend.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "exec/cpu/choose_schedule.h"
#include "exec/gate.h"
#include "exec/mpi/held_memory.h"
#include "exec/training/collective_array.h"

namespace twinrun::exec {
namespace {

constexpr std::string_view kMpisOwn = "mpi";

}  // namespace

MpiBackend::MpiBackend(const Plan& plan, const DeviceHomes& homes, OpWork& work, Post& post)
    : plan_(plan),
      homes_(homes),
      work_(work),
      post_(post),
      channels_(plan, homes, post.with_transport([](Transport& transport) {
        return transport.largest_tag();
      })),
      collectives_(plan.instance_count()),
      runs_(plan.stream_count()),
      awaited_(plan.stream_count()) {
  for (std::atomic<std::uint32_t>& awaited : awaited_) {
    awaited = static_cast<std::uint32_t>(no_id<OpId>());
  }
  refuse_distant_copies(plan, homes);
  choose_schedules();
  post_.provide(channels_.communicators());
  post_.with_transport([&](Transport& transport) { make_groups(transport); });
}

bool MpiBackend::is_mpi(InstanceId instance) const {
  const OpId first = plan_.instance_ops(instance).front();
  return plan_.algorithm_name(plan_.shape(first)) == kMpisOwn;
}

std::optional<OpId> MpiBackend::op_here(InstanceId instance) const {
  for (const OpId op : plan_.instance_ops(instance)) {
    if (homes_.process_of(plan_.device(op)) == post_.rank()) {
      return op;
    }
  }
  return std::nullopt;
}

void MpiBackend::choose_schedules() {
  for (std::size_t i = 0; i < collectives_.size(); ++i) {
    const auto instance = id_at<InstanceId>(i);
    if (is_mpi(instance)) {
      collectives_[i].algorithm = kMpisOwn;
      continue;
    }
    // Those of others too, so that all refuse alike what one cannot do.
    const auto here = op_here(instance);
    const OpId first = plan_.instance_ops(instance).front();
    const std::int64_t elements =
        here ? array_elements(plan_, *here, work_.moved(*here))
             : plan_.collective(first).bytes.count / static_cast<std::int64_t>(sizeof(float));
    ChosenSchedule chosen = choose_schedule(plan_, instance, elements);
    collectives_[i].algorithm = std::move(chosen.algorithm);
    collectives_[i].schedule.emplace(chosen.schedule);
  }
}

// One for each group and stream: the calls of one stream come in the same order everywhere, those
// of two streams need not.
void MpiBackend::make_groups(Transport& transport) {
  std::map<std::pair<GroupId, std::string_view>, int> made;
  for (std::size_t i = 0; i < collectives_.size(); ++i) {
    const auto instance = id_at<InstanceId>(i);
    if (!is_mpi(instance)) {
      continue;
    }
    const OpId first = plan_.instance_ops(instance).front();
    const CollectiveShape& shape = plan_.shape(first);
    std::vector<int> processes;
    for (const DeviceId device : plan_.group_devices(shape.group)) {
      processes.push_back(homes_.process_of(device));
    }
    std::vector<int> sorted = processes;
    std::sort(sorted.begin(), sorted.end());
    const bool is_shared = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    if (shape.kind != CollectiveKind::kAllReduce || is_shared) {
      throw CannotRun(
          fmt::format("the algorithm \"mpi\" of {} does all_reduce over devices that "
                      "have a process each",
                      plan_.match(first)));
    }
    const auto key = std::pair(shape.group, plan_.stream_name(plan_.stream(first)));
    const auto known = made.find(key);
    collectives_[i].communicator =
        known != made.end()
            ? known->second
            : made.emplace(key, transport.add_communicator(processes)).first->second;
  }
}

std::string MpiBackend::algorithm(InstanceId instance) const {
  return collectives_[index_of(instance)].algorithm;
}

// ---- on a stream's thread

void MpiBackend::run(OpId op) {
  switch (plan_.kind(op)) {
    case OpKind::kSend:
      return send(op);
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

Address MpiBackend::address(DeviceId from, OpId to, DeviceId other) const {
  Address out = channels_.address(from, to, homes_.process_of(other));
  out.communicator = post_.data_communicator(out.communicator);
  return out;
}

void MpiBackend::wait(OpId op, Request request, OpId awaited) {
  std::atomic<std::uint32_t>& note = awaited_[index_of(plan_.stream(op))];
  note.store(static_cast<std::uint32_t>(awaited), std::memory_order_relaxed);
  post_.wait(request);
  note.store(static_cast<std::uint32_t>(no_id<OpId>()), std::memory_order_relaxed);
}

std::string MpiBackend::awaited_by(OpId op) const {
  const auto awaited =
      static_cast<OpId>(awaited_[index_of(plan_.stream(op))].load(std::memory_order_relaxed));
  if (awaited == no_id<OpId>()) {
    return "";
  }
  const DeviceId device = plan_.device(awaited);
  return fmt::format("{} on {} (rank {})", plan_.id(awaited), plan_.device_name(device),
                     homes_.process_of(device));
}

// What others may write meanwhile, or what is taken, leaves as a copy.
void MpiBackend::send(OpId op) {
  const OpId partner = plan_.message(op).partner;
  const Address to = address(plan_.device(op), partner, plan_.device(partner));
  const auto begin = [&](std::span<const float> elements) {
    return post_.with_transport([&](Transport& transport) { return transport.send(elements, to); });
  };
  const MovedData data = work_.moved(op);
  if (data.ranges.size() == 1 && data.lock == nullptr && !data.is_taken) {
    return wait(op, begin(data.ranges.front()), partner);
  }
  HeldMemory copy{{}};
  {
    const auto lock = data.locked();
    *copy = packed(data.ranges);
    for (const std::span<float> range : data.ranges) {
      if (data.is_taken) {
        std::fill(range.begin(), range.end(), 0.0F);
      }
    }
  }
  try {
    wait(op, begin(*copy), partner);
  } catch (const Stopped&) {
    copy.leave();
    throw;
  }
}

void MpiBackend::receive(OpId op) {
  const OpId partner = plan_.message(op).partner;
  const Address from = address(plan_.device(partner), op, plan_.device(partner));
  const auto begin = [&](std::span<float> elements) {
    return post_.with_transport(
        [&](Transport& transport) { return transport.receive(elements, from); });
  };
  const MovedData data = work_.moved(op);
  if (data.ranges.size() == 1) {
    return wait(op, begin(data.ranges.front()), partner);
  }
  HeldMemory copy(packed(data.ranges));
  try {
    wait(op, begin(*copy), partner);
  } catch (const Stopped&) {
    copy.leave();
    throw;
  }
  unpack(*copy, data.ranges);
}

void MpiBackend::collective(OpId op) {
  const Collective& how = collectives_[index_of(plan_.collective(op).instance)];
  const auto exchange = [&](std::span<float> array, std::span<float> into) {
    if (how.schedule) {
      return run_schedule(op, *how.schedule, array, into);
    }
    const Request request = post_.with_transport(
        [&](Transport& transport) { return transport.sum(array, how.communicator); });
    wait(op, request, op);
  };
  with_collective_array(plan_, op, work_.moved(op), exchange);
}

void MpiBackend::run_schedule(OpId op,
                              const CollectiveSchedule& schedule,
                              std::span<float> array,
                              std::span<float> into) {
  std::vector<OpId> ops(schedule.participants());
  for (const OpId other : plan_.instance_ops(plan_.collective(op).instance)) {
    ops[rank_in_group(plan_, other)] = other;
  }
  std::atomic<std::uint32_t>& awaited = awaited_[index_of(plan_.stream(op))];
  ScheduleRun::Group group;
  group.to = [&](std::uint32_t peer) {
    return address(plan_.device(op), ops[peer], plan_.device(ops[peer]));
  };
  group.from = [&](std::uint32_t peer) {
    return address(plan_.device(ops[peer]), op, plan_.device(ops[peer]));
  };
  group.awaits = [&](std::uint32_t peer) {
    awaited.store(static_cast<std::uint32_t>(ops[peer]), std::memory_order_relaxed);
  };
  std::unique_ptr<ScheduleRun>& run = runs_[index_of(plan_.stream(op))];
  if (!run) {
    run = std::make_unique<ScheduleRun>(post_);
  }
  run->run(schedule, rank_in_group(plan_, op), array, into, group);
  awaited.store(static_cast<std::uint32_t>(no_id<OpId>()), std::memory_order_relaxed);
}

}  // namespace twinrun::exec
