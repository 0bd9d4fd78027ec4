#include "exec/mpi/merge_parts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "exec/backend_missing.h"
#include "exec/training/final_weights.h"

namespace twinrun::exec {
namespace {

constexpr std::size_t kMostTold = 8;  // processes in one message
constexpr OpTimes kNotRun{Time{}, Time{0}, Time{-1}};

void throw_if_refused(std::span<const Part> parts) {
  for (const Part& part : parts) {
    if (part.is_missing) {
      throw BackendMissing(part.refusal);
    }
    if (!part.refusal.empty()) {
      throw CannotRun(part.refusal);
    }
  }
}

// ---- times

// A time of a process on the clock of the first. The offset is known at two points and taken to
// change evenly between them.
std::int64_t aligned_ps(const Part& part, Time at) {
  const std::int64_t begin = part.begin_ns - part.at_begin.ahead_ns;
  const auto drift = static_cast<double>(part.at_end.ahead_ns - part.at_begin.ahead_ns);
  const auto span = static_cast<double>(part.end_ns - part.begin_ns);
  const double correction_ps =
      part.end_ns > part.begin_ns ? drift * static_cast<double>(at.ps) / span : 0;
  return begin * 1000 + at.ps - static_cast<std::int64_t>(correction_ps);
}

void put_times(std::span<const Part> parts, Trace& trace) {
  std::int64_t zero = std::numeric_limits<std::int64_t>::max();
  for (const Part& part : parts) {
    if (!part.ops.empty()) {
      zero = std::min(zero, aligned_ps(part, Time{}));
    }
  }
  for (const Part& part : parts) {
    for (const auto& [op, times] : part.ops) {
      const auto at = [&](Time time) { return Time{aligned_ps(part, time) - zero}; };
      trace.ops[index_of(op)] = {at(times.ready), at(times.start), at(times.end)};
    }
  }
}

// Ops that start together: when the last of them is ready, except for one that has ended before
// (a small message leaves before its receiver comes).
void meet(std::span<const OpId> ops, Trace& trace) {
  Time last{std::numeric_limits<std::int64_t>::min()};
  for (const OpId op : ops) {
    const OpTimes& times = trace.ops[index_of(op)];
    last = times.end < times.start ? last : std::max(last, times.ready);
  }
  for (const OpId op : ops) {
    OpTimes& times = trace.ops[index_of(op)];
    if (times.end >= times.start) {
      times.start = std::clamp(last, times.ready, times.end);
    }
  }
}

void put_starts(const Plan& plan, Trace& trace) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (plan.kind(op) == OpKind::kSend) {
      meet(std::array{op, plan.message(op).partner}, trace);
    }
  }
  for (std::size_t i = 0; i < plan.instance_count(); ++i) {
    meet(plan.instance_ops(id_at<InstanceId>(i)), trace);
  }
}

Trace merged_trace(const Plan& plan, std::span<const Part> parts) {
  Trace out;
  out.source = "executed";
  out.ops.assign(plan.size(), kNotRun);
  put_times(parts, out);
  put_starts(plan, out);
  for (const OpTimes& times : out.ops) {
    out.makespan = std::max(out.makespan, times.end);
  }
  for (std::size_t i = 0; i < plan.instance_count(); ++i) {
    std::string algorithm;
    for (const Part& part : parts) {
      if (i < part.algorithms.size() && algorithm.empty()) {
        algorithm = part.algorithms[i];
      }
    }
    out.collectives.push_back({id_at<InstanceId>(i), algorithm, "", "", 0});
  }
  return out;
}

double residual_s(std::span<const Part> parts) {
  std::int64_t most = 0;
  for (const Part& part : parts) {
    most = std::max({most, part.at_begin.round_trip_ns / 2, part.at_end.round_trip_ns / 2});
  }
  return static_cast<double>(most) * 1e-9;
}

// ---- failures

class Blame {
 public:
  Blame(const Plan& plan,
        const DeviceHomes& homes,
        std::span<const Part> parts,
        const std::vector<OpTimes>& times,
        std::optional<int> first_dead)
      : plan_(plan), homes_(homes), parts_(parts), times_(times), dead_(first_dead) {
    for (std::size_t i = 0; i < parts.size() && !dead_; ++i) {
      dead_ = !parts[i].is_whole && !parts[i].is_ending ? std::optional(static_cast<int>(i))
                                                        : std::nullopt;
    }
  }

  [[nodiscard]] std::optional<Failure> find() const {
    std::optional<Failure> out = said();
    const bool only_ended = !out || out->kind == FailureKind::kInterrupted;
    if (dead_ && only_ended) {
      // The launcher ends the others when one dies: to be ended is no reason.
      out = Failure{FailureKind::kProcessDied, no_id<OpId>(),
                    homes_.name_of(plan_, *dead_) + " died"};
    }
    if (!out) {
      return out;
    }
    if (dead_ && out->op == no_id<OpId>()) {
      out->op = next_ops(*dead_).front();
    }
    out->message += what_all_did();
    return out;
  }

 private:
  // What says most: an op that failed, then whoever waited in vain, then who was told to end.
  [[nodiscard]] std::optional<Failure> said() const {
    constexpr std::array kOrder = {FailureKind::kOpFailed, FailureKind::kTimeout,
                                   FailureKind::kProcessDied, FailureKind::kInterrupted};
    for (const FailureKind kind : kOrder) {
      for (const Part& part : parts_) {
        if (part.failure && part.failure->kind == kind) {
          return part.failure;
        }
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool has_ended(OpId op) const {
    return times_[index_of(op)].end >= times_[index_of(op)].start;
  }

  // Others have done what they can only do behind it.
  [[nodiscard]] bool let_others_go_on(OpId op) const {
    const auto successors = plan_.successors(op);
    return std::any_of(successors.begin(), successors.end(),
                       [&](OpId next) { return has_ended(next); }) ||
           (plan_.kind(op) == OpKind::kSend && has_ended(plan_.message(op).partner));
  }

  // Others have ended what none of them can end before all have begun it.
  [[nodiscard]] bool must_have_begun(OpId op) const {
    if (plan_.kind(op) != OpKind::kCollective) {
      return false;
    }
    const CollectiveKind kind = plan_.shape(op).kind;
    const bool is_of_all_to_all =
        kind != CollectiveKind::kBroadcast && kind != CollectiveKind::kReduce;
    const auto ops = plan_.instance_ops(plan_.collective(op).instance);
    return is_of_all_to_all &&
           std::any_of(ops.begin(), ops.end(), [&](OpId other) { return has_ended(other); });
  }

  // How many have ended: as its own times say or, where they died with it, as others know.
  [[nodiscard]] std::size_t ended_of(std::span<const OpId> ops) const {
    for (std::size_t i = ops.size(); i > 0; --i) {
      if (has_ended(ops[i - 1]) || let_others_go_on(ops[i - 1])) {
        return i;
      }
      if (must_have_begun(ops[i - 1])) {
        return i - 1;
      }
    }
    return 0;
  }

  // By stream of a process: the first op that has not ended; one that is none when there is none.
  [[nodiscard]] std::vector<OpId> next_ops(int process) const {
    std::vector<OpId> out;
    for (std::size_t i = 0; i < plan_.stream_count(); ++i) {
      const auto stream = id_at<StreamId>(i);
      if (homes_.process_of(plan_.stream_device(stream)) != process) {
        continue;
      }
      const auto ops = plan_.stream_ops(stream);
      if (const std::size_t ended = ended_of(ops); ended < ops.size()) {
        out.push_back(ops[ended]);
      }
    }
    return out.empty() ? std::vector{no_id<OpId>()} : out;
  }

  [[nodiscard]] std::string what_all_did() const {
    std::string out;
    for (std::size_t i = 0; i < std::min(parts_.size(), kMostTold); ++i) {
      const auto rank = static_cast<int>(i);
      const std::string what = parts_[i].is_whole ? parts_[i].streams : last_seen(rank);
      if (!what.empty()) {
        out += fmt::format("; {}: {}", homes_.name_of(plan_, rank), what);
      }
    }
    return out;
  }

  [[nodiscard]] std::string last_seen(int rank) const {
    std::string out = "last seen before ";
    const std::vector<OpId> next = next_ops(rank);
    for (std::size_t i = 0; i < next.size() && next[i] != no_id<OpId>(); ++i) {
      out += fmt::format("{}{}", i == 0 ? "" : ", ", plan_.id(next[i]));
    }
    return next.front() == no_id<OpId>() ? "all its ops had ended" : out;
  }

  const Plan& plan_;
  const DeviceHomes& homes_;
  std::span<const Part> parts_;
  const std::vector<OpTimes>& times_;
  std::optional<int> dead_;
};

// ---- what was trained

void put_training(const Plan& plan, std::span<const Part> parts, Execution& out) {
  std::vector<double> losses;
  std::vector<UpdatedWeights> weights;
  for (const Part& part : parts) {
    losses.resize(std::max(losses.size(), part.loss_of_samples.size()));
    for (std::size_t i = 0; i < part.loss_of_samples.size(); ++i) {
      losses[i] += part.loss_of_samples[i];
    }
    weights.insert(weights.end(), part.weights.begin(), part.weights.end());
  }
  out.losses = mean_losses(plan.workload(), losses);
  out.weights = whole_model(plan.workload(), weights);
  out.replica_disagreement = largest_disagreement(plan.workload(), weights);
}

}  // namespace

Execution merge_parts(const Plan& plan,
                      const DeviceHomes& homes,
                      std::span<const Part> parts,
                      std::optional<int> first_dead) {
  throw_if_refused(parts);
  Execution out;
  out.outcome.trace = merged_trace(plan, parts);
  out.outcome.failure = Blame(plan, homes, parts, out.outcome.trace.ops, first_dead).find();
  out.processes = static_cast<int>(parts.size());
  out.clock_residual_s = residual_s(parts);
  out.is_emulated = !plan.workload().is_trained();
  out.estimates = parts.front().estimates;
  out.kernels = parts.front().kernels;
  for (const Part& part : parts) {
    if (part.wrong_elements) {
      out.wrong_elements = out.wrong_elements.value_or(0) + *part.wrong_elements;
    }
    out.library = out.library.empty() ? part.library : out.library;
    for (const std::string& warning : part.warnings) {
      if (std::find(out.warnings.begin(), out.warnings.end(), warning) == out.warnings.end()) {
        out.warnings.push_back(warning);
      }
    }
  }
  if (out.outcome.failure) {
    out.outcome.trace.failure = out.outcome.failure->message;
  } else if (plan.workload().is_trained()) {
    put_training(plan, parts, out);
  }
  return out;
}

}  // namespace twinrun::exec
