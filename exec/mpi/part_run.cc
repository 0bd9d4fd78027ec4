#include "exec/mpi/part_run.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/base/diagnostics.h"
#include "exec/backend_missing.h"
#include "exec/gate.h"
#include "exec/left_behind.h"
#include "exec/mpi/launcher.h"
#include "exec/mpi/merge_parts.h"
#include "exec/mpi/process_group.h"

namespace twinrun::exec {
namespace {

constexpr auto kGatherLimit = std::chrono::seconds(60);
constexpr auto kGatherLimitAfterFailure = std::chrono::milliseconds(1500);

Post::Clock::time_point in_seconds(double seconds) {
  return Post::Clock::now() +
         std::chrono::duration_cast<Post::Clock::duration>(std::chrono::duration<double>(seconds));
}

// All that the threads of a run use.
struct Machine {
  Machine(const Plan& plan, const PartOptions& options, Post& post)
      : homes(plan, post.size()),
        here(homes.local_to(post.rank())),
        part(options.make(plan, options.execute, homes, post)) {}

  DeviceHomes homes;
  LocalDevices here;
  std::unique_ptr<PartMachine> part;
};

std::size_t streams_here(const Plan& plan, const LocalDevices& here) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < plan.stream_count(); ++i) {
    const auto stream = id_at<StreamId>(i);
    count += here.has(plan.stream_device(stream)) && !plan.stream_ops(stream).empty() ? 1U : 0U;
  }
  return count;
}

GroupOptions group_options(const Plan& plan, const PartOptions& options, Part& part) {
  GroupOptions out;
  out.timeout_s = options.execute.run.timeout_s;
  const LiveTable* const live = options.live;
  const std::atomic<bool>* const interrupted = options.execute.run.interrupted;
  out.is_asked_to_end = [live, interrupted, asked = options.is_asked_to_end] {
    const bool is_asked = (interrupted != nullptr && *interrupted) || (asked && asked());
    if (live != nullptr) {
      live->head().beat.fetch_add(1, std::memory_order_relaxed);
      live->head().is_ending = is_asked ? 1 : 0;
    }
    return is_asked;
  };
  out.progress = [live, &plan, told = options.execute.run.progress](std::size_t done) {
    if (live != nullptr) {
      live->head().all_done.store(static_cast<std::int64_t>(done), std::memory_order_relaxed);
    }
    if (told) {
      told(done, plan.size());
    }
  };
  out.begun = [live, &part](Post::Clock::time_point at) {
    part.begin_ns = clock_ns(at);
    if (live != nullptr) {
      live->head().ahead_ns = part.at_begin.ahead_ns;
      live->head().round_trip_ns = part.at_begin.round_trip_ns;
      live->head().begin_ns = part.begin_ns;
    }
  };
  return out;
}

void put_outcome(const Plan& plan, const Machine& machine, Outcome& outcome, Part& part) {
  part.ops = timed_ops(plan, outcome.trace.ops.data());
  part.failure = std::move(outcome.failure);
  part.streams = std::move(outcome.streams);
  for (const CollectiveRun& run : outcome.trace.collectives) {
    part.algorithms.push_back(run.algorithm);
  }
  if (const TrainingWork* const training = machine.part->training();
      training != nullptr && !part.failure) {
    part.loss_of_samples = training->loss_of_samples();
    part.weights = training->updated_weights();
  }
}

void put_description(const Machine& machine, Part& part) {
  Execution described;
  machine.part->describe(described);
  part.wrong_elements = described.wrong_elements;
  part.library = described.library;
  part.warnings = described.warnings;
  part.estimates = std::move(described.estimates);
  part.kernels = std::move(described.kernels);
}

void run_with(const Plan& plan,
              Machine& machine,
              ProcessGroup& group,
              Post& post,
              const PartOptions& options,
              Part& part) {
  RunOptions run = options.execute.run;
  run.progress = {};          // the first process tells it for all
  run.interrupted = nullptr;  // the group looks at it
  run.here = machine.here;
  run.others = &group;
  run.live_times = options.live == nullptr ? nullptr : options.live->times();
  part.at_begin = align_clocks(post, in_seconds(run.timeout_s));
  Outcome outcome = machine.part->run(run);
  if (!outcome.failure) {
    outcome.failure = group.wait_for_all(timed_ops(plan, outcome.trace.ops.data()).size());
  }
  put_outcome(plan, machine, outcome, part);
  if (!part.failure) {
    part.at_end = align_clocks(post, in_seconds(run.timeout_s));
    part.end_ns = clock_ns(Post::Clock::now());
  }
}

}  // namespace

Part run_part(const Plan& plan, Post& post, const PartOptions& options) {
  Part part;
  part.is_whole = true;
  try {
    auto machine = std::make_unique<Machine>(plan, options, post);
    post.set_crowded(!has_core_for_each(streams_here(plan, machine->here)));
    ProcessGroup group(plan, machine->homes, post, group_options(plan, options, part));
    put_description(*machine, part);
    try {
      run_with(plan, *machine, group, post, options, part);
      put_description(*machine, part);
    } catch (const std::exception& error) {
      part.failure = Failure{FailureKind::kTimeout, no_id<OpId>(), error.what()};
    }
    if (part.failure) {
      group.tell_failure(*part.failure);
      post.go_on();
      leave_behind(std::move(machine));  // threads, or messages under way, may still use it
    }
  } catch (const CannotRun& error) {
    part.refusal = error.what();
  } catch (const BackendMissing& error) {
    part.refusal = error.what();
    part.is_missing = true;
  } catch (const std::exception& error) {
    part.failure = Failure{FailureKind::kOpFailed, no_id<OpId>(), error.what()};
  }
  return part;
}

namespace {

// Size, then content.
struct Parcel {
  std::uint64_t size = 0;
  std::string content;
};

std::span<char> bytes_of(std::uint64_t& number) {
  return {reinterpret_cast<char*>(&number), sizeof number};
}

// From or to a process that is alive.
bool wait_for(Post& post, int process, Request request, Post::Clock::time_point deadline) {
  bool has_died = false;
  const auto is_over = [&](Transport& transport) {
    const bool is_done = transport.test(request).has_value();
    has_died = !is_done && transport.has_died(process);
    return is_done || has_died;
  };
  return post.wait_until(is_over, deadline) && !has_died;
}

std::optional<Part> take_part(Post& post, int from, Post::Clock::time_point deadline) {
  const Address address{from, Post::kPartTag, post.communicator()};
  // Left behind when it does not come: the transport may write to it until the process ends.
  auto parcel = std::make_unique<Parcel>();
  const auto receive = [&](std::span<char> into) {
    const Request request = post.with_transport(
        [&](Transport& transport) { return transport.receive_bytes(into, address); });
    return wait_for(post, from, request, deadline);
  };
  if (receive(bytes_of(parcel->size))) {
    parcel->content.resize(parcel->size);
    if (receive(parcel->content)) {
      return part_from_bytes(parcel->content);
    }
  }
  leave_behind(std::move(parcel));
  return std::nullopt;
}

void give_part(Post& post, const Part& own, Post::Clock::time_point deadline) {
  const Address address{0, Post::kPartTag, post.communicator()};
  auto parcel = std::make_unique<Parcel>();
  parcel->content = to_bytes(own);
  parcel->size = parcel->content.size();
  const auto send = [&](std::span<const char> bytes) {
    const Request request = post.with_transport(
        [&](Transport& transport) { return transport.send_bytes(bytes, address); });
    return wait_for(post, address.process, request, deadline);
  };
  if (!send(bytes_of(parcel->size)) || !send(parcel->content)) {
    leave_behind(std::move(parcel));
  }
}

}  // namespace

std::vector<Part> gather_parts(Post& post, const Part& own, Post::Clock::time_point deadline) {
  if (post.rank() != 0) {
    give_part(post, own, deadline);
    return {};
  }
  std::vector<Part> parts = {own};
  for (int other = 1; other < post.size(); ++other) {
    parts.push_back(take_part(post, other, deadline).value_or(Part()));
  }
  return parts;
}

Execution execute_together(const Plan& plan, Post& post, const PartOptions& options) {
  const Part own = run_part(plan, post, options);
  const bool failed = own.failure.has_value();
  const std::vector<Part> parts =
      gather_parts(post, own,
                   Post::Clock::now() + (failed ? Post::Clock::duration(kGatherLimitAfterFailure)
                                                : Post::Clock::duration(kGatherLimit)));
  if (post.rank() == 0) {
    return merge_parts(plan, DeviceHomes(plan, post.size()), parts);
  }
  Execution out;
  out.outcome.failure = own.failure;
  out.outcome.streams = own.streams;
  out.is_told_elsewhere = true;
  return out;
}

}  // namespace twinrun::exec
