#include "exec/cuda/communicators.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "exec/training/collective_array.h"

namespace twinrun::exec {
namespace {

constexpr std::size_t kIdBytes = 128;  // of NCCL
constexpr std::uint32_t kNone = UINT32_MAX;

bool is_message(OpKind kind) { return kind == OpKind::kSend || kind == OpKind::kRecv; }

}  // namespace

bool is_copied_message(const Plan& plan, const GpuMachine& machine, OpId op) {
  const DevicePlace& here = machine.place_of(op);
  const DevicePlace& there = machine.place_of(plan.message(op).partner);
  return here.is_here && there.is_here && (here.is_host || there.is_host);
}

Communicators::Communicators(const Plan& plan,
                             const GpuMachine& machine,
                             const DeviceHomes& homes,
                             int process)
    : plan_(plan),
      machine_(machine),
      runtime_(machine.runtime()),
      homes_(homes),
      process_(process),
      number_of_op_(plan.size(), kNone) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (plan.kind(op) == OpKind::kSend && needs_nccl(op)) {
      const std::uint32_t number = want(streams_of(op));
      number_of_op_[i] = number;
      number_of_op_[index_of(plan.message(op).partner)] = number;
    } else if (plan.kind(op) == OpKind::kCollective && ranks_of_group(plan, op) > 1) {
      if (machine.place_of(op).is_host) {
        throw CannotRun(
            fmt::format("{} is a collective of a host: NCCL has GPUs alone", plan.id(op)));
      }
      number_of_op_[i] = want(streams_of(op));
    }
  }
}

Communicators::~Communicators() {
  for (const auto& of_streams : made_) {
    for (const auto& [stream, communicator] : of_streams) {
      try {
        runtime_.leave(communicator);
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): nobody to be told
      }
    }
  }
}

// The same in all processes: a message between two of them, or between two GPUs.
bool Communicators::needs_nccl(OpId send) const {
  const DeviceId from = plan_.device(send);
  const DeviceId to = plan_.device(plan_.message(send).partner);
  const bool is_together = homes_.process_of(from) == homes_.process_of(to);
  return !is_together || (!machine_.place(from).is_host && !machine_.place(to).is_host);
}

Communicators::Streams Communicators::streams_of(OpId op) const {
  if (is_message(plan_.kind(op))) {
    const OpId partner = plan_.message(op).partner;
    const bool sends = plan_.kind(op) == OpKind::kSend;
    return {plan_.stream(sends ? op : partner), plan_.stream(sends ? partner : op)};
  }
  Streams out(ranks_of_group(plan_, op));
  for (const OpId other : plan_.instance_ops(plan_.collective(op).instance)) {
    out[rank_in_group(plan_, other)] = plan_.stream(other);
  }
  return out;
}

std::uint32_t Communicators::want(const Streams& streams) {
  const auto [known, is_new] =
      number_of_.try_emplace(streams, static_cast<std::uint32_t>(wanted_.size()));
  if (is_new) {
    wanted_.push_back(streams);
  }
  return known->second;
}

std::vector<GpuMember> Communicators::members_here(const Streams& streams) const {
  std::vector<GpuMember> out;
  for (std::size_t rank = 0; rank < streams.size(); ++rank) {
    const DevicePlace& place = machine_.place(plan_.stream_device(streams[rank]));
    if (place.is_here) {
      out.push_back({static_cast<int>(rank), place.gpu});
    }
  }
  return out;
}

void Communicators::join(const SpreadIds& spread) {
  std::string ids;
  if (spread) {
    for (std::size_t i = 0; process_ == 0 && i < wanted_.size(); ++i) {
      ids += runtime_.new_group_id();
    }
    ids = spread(ids);
  }
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const std::vector<GpuMember> members = members_here(wanted_[i]);
    std::vector<GpuCommunicator> joined;
    if (members.size() == wanted_[i].size()) {
      std::vector<int> gpus;
      gpus.reserve(members.size());
      for (const GpuMember& member : members) {
        gpus.push_back(member.device);
      }
      joined = runtime_.join_all(gpus);
    } else if (!members.empty()) {
      joined = runtime_.join(ids.substr(i * kIdBytes, kIdBytes),
                             static_cast<int>(wanted_[i].size()), members);
    }
    std::map<StreamId, GpuCommunicator> of_streams;
    for (std::size_t j = 0; j < members.size(); ++j) {
      of_streams[wanted_[i][static_cast<std::size_t>(members[j].rank)]] = joined[j];
    }
    const std::lock_guard lock(mutex_);
    made_.push_back(std::move(of_streams));
  }
}

// Only the thread that joined adds to what is made, and it is the one that asks.
const GpuCommunicator* Communicators::of(OpId op) const {
  const std::uint32_t number = number_of_op_[index_of(op)];
  if (number == kNone) {
    return nullptr;
  }
  const auto& of_streams = made_[number];
  const auto found = of_streams.find(plan_.stream(op));
  return found == of_streams.end() ? nullptr : &found->second;
}

std::optional<Communicators::Trouble> Communicators::trouble() const {
  const std::lock_guard lock(mutex_);
  for (const auto& of_streams : made_) {
    for (const auto& [stream, communicator] : of_streams) {
      if (std::string words = runtime_.trouble_of(communicator); !words.empty()) {
        return Trouble{stream, std::move(words)};
      }
    }
  }
  return std::nullopt;
}

void Communicators::abort() {
  const std::lock_guard lock(mutex_);
  for (const auto& of_streams : made_) {
    for (const auto& [stream, communicator] : of_streams) {
      try {
        runtime_.abort(communicator);
      } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the others too, then
      }
    }
  }
}

}  // namespace twinrun::exec
