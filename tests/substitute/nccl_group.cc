#include "tests/substitute/nccl_group.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "tests/substitute/events.h"
#include "tests/substitute/reductions.h"
#include "tests/substitute/sanitizers.h"
#include "tests/substitute/virtual_clock.h"

namespace substitute {
namespace {

struct GroupedWork {
  std::shared_ptr<Communicator> communicator;
  std::shared_ptr<Stream> stream;
  NcclWork work;
};

struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<Creation> creations;
  std::vector<GroupedWork> works;
};

thread_local Group this_group;
thread_local std::string failure_text;

std::size_t larger_buffer_bytes(const NcclWork& work, int ranks) {
  const std::size_t bytes = work.count * bytes_of(work.type);
  const bool has_parts = work.kind == NcclKind::kAllGather ||
                         work.kind == NcclKind::kReduceScatter ||
                         work.kind == NcclKind::kAllToAll || work.kind == NcclKind::kGather ||
                         work.kind == NcclKind::kScatter;
  return has_parts ? bytes * static_cast<std::size_t>(ranks) : bytes;
}

Task nccl_task(const NcclWork& work, const Communicator& communicator) {
  Task task{.kind = TaskKind::kCollective, .name = work.function, .device = communicator.device};
  if (work.is_message()) {
    task.kind = work.kind == NcclKind::kSend ? TaskKind::kSend : TaskKind::kReceive;
  }
  task.bytes = larger_buffer_bytes(work, communicator.ranks);
  task.ranks = communicator.ranks;
  return task;
}

// What one communicator has to do in a group, as a stream runs it: collectives in order, then the
// messages.
void run_works(Communicator& communicator,
               std::uint64_t ticket,
               std::vector<NcclWork>& works,
               Picoseconds& now) {
  communicator.begin(ticket);
  now = std::max(now, communicator.last_end);
  const auto clique = communicator.clique();
  if (communicator.is_cut_off) {
    clique->wait([] { return false; }, [&] { return communicator.is_freed(); });
  }
  const auto messages = std::stable_partition(
      works.begin(), works.end(), [](const NcclWork& work) { return !work.is_message(); });
  for (auto work = works.begin(); work != messages && !communicator.is_freed(); ++work) {
    run_collective(communicator, *work, now);
  }
  if (messages != works.end() && !communicator.is_freed()) {
    run_messages(communicator, {messages, works.end()}, now);
  }
  communicator.end(now);
}

// The work goes to the first stream; the others are joined with it before and after, as NCCL does.
void launch_works(const std::shared_ptr<Communicator>& communicator,
                  std::vector<NcclWork> works,
                  const std::vector<std::shared_ptr<Stream>>& queues) {
  const auto join = [](Stream& from, Stream& to) {
    const auto record = std::make_shared<Record>();
    from.push(0, [record](const Picoseconds& now) { record->complete(now); });
    to.push(0, [record](Picoseconds& now) { now = std::max(now, record->wait()); });
  };
  Stream& main = *queues.front();
  for (std::size_t other = 1; other < queues.size(); ++other) {
    join(*queues[other], main);
  }
  main.push(0, [communicator, ticket = communicator->issue(), works = std::move(works)](
                   Picoseconds& now) mutable { run_works(*communicator, ticket, works, now); });
  for (std::size_t other = 1; other < queues.size(); ++other) {
    join(main, *queues[other]);
  }
}

void launch_group(std::vector<GroupedWork>& works) {
  while (!works.empty()) {
    const auto communicator = works.front().communicator;
    const auto others = std::stable_partition(
        works.begin(), works.end(),
        [&](const GroupedWork& grouped) { return grouped.communicator == communicator; });
    std::vector<NcclWork> its;
    std::vector<std::shared_ptr<Stream>> queues;
    for (auto grouped = works.begin(); grouped != others; ++grouped) {
      const bool is_charged = grouped->stream->is_charged();
      grouped->work.cost = is_charged ? 0 : cost_of(nccl_task(grouped->work, *communicator));
      its.push_back(grouped->work);
      if (std::ranges::find(queues, grouped->stream) == queues.end()) {
        queues.push_back(grouped->stream);
      }
    }
    works.erase(works.begin(), others);
    launch_works(communicator, std::move(its), queues);
  }
}

// Each phase of all before the next of any; throws NcclFailure.
void run_phases(std::vector<Creation>& creations) {
  std::size_t phases = 0;
  for (const Creation& creation : creations) {
    phases = std::max(phases, creation.phases.size());
  }
  for (std::size_t phase = 0; phase < phases; ++phase) {
    for (Creation& creation : creations) {
      if (phase < creation.phases.size()) {
        creation.phases[phase]();
      }
    }
  }
}

void set_failed(Creation& creation, const NcclFailure& failure) {
  if (const auto clique = creation.communicator->clique()) {
    clique->fail(failure.code, failure.text);  // the ranks that wait elsewhere need not wait on
    clique->remove_name();
  }
  creation.communicator->set_created(failure.code, failure.text);
}

// The first failure of any is the failure of all.
ncclResult_t finish_creations(std::vector<Creation>& creations) {
  try {
    run_phases(creations);
  } catch (const NcclFailure& failure) {
    for (Creation& creation : creations) {
      set_failed(creation, failure);
    }
    return explain_failure(failure.code, failure.text);
  }
  for (Creation& creation : creations) {
    creation.communicator->set_created(ncclSuccess, "");
  }
  return ncclSuccess;
}

ncclResult_t create_now(std::vector<Creation> creations) {
  const ncclResult_t result = finish_creations(creations);
  if (result != ncclSuccess) {
    for (const Creation& creation : creations) {
      communicators().remove(creation.handle);
      *creation.result = nullptr;
    }
  }
  return result;
}

ncclResult_t create_all(std::vector<Creation> creations) {
  if (creations.empty()) {
    return ncclSuccess;
  }
  if (std::ranges::all_of(
          creations, [](const Creation& creation) { return creation.communicator->is_blocking; })) {
    return create_now(std::move(creations));
  }
  std::thread([creations = std::move(creations)]() mutable {
    const Hidden hidden;
    finish_creations(creations);
  }).detach();
  return ncclInProgress;
}

}  // namespace

ncclResult_t explain_failure(ncclResult_t code, const std::string& text) {
  failure_text = text;
  return code;
}

const char* last_nccl_failure() { return failure_text.c_str(); }

void start_group() { ++this_group.depth; }
void fail_group(ncclResult_t code) { this_group.error = code; }

ncclResult_t end_group() {
  if (this_group.depth == 0) {
    return explain_failure(ncclInvalidUsage, "ncclGroupEnd was called without ncclGroupStart");
  }
  if (--this_group.depth > 0) {
    return ncclSuccess;
  }
  Group group = std::exchange(this_group, {});
  if (group.error != ncclSuccess) {
    for (const Creation& creation : group.creations) {
      communicators().remove(creation.handle);
      *creation.result = nullptr;
    }
    return group.error;
  }
  const ncclResult_t created = create_all(std::move(group.creations));
  if (created == ncclSuccess || created == ncclInProgress) {
    launch_group(group.works);
  }
  return created;
}

ncclResult_t drop_group(std::vector<Task>& tasks) {
  if (this_group.depth != 1 || !this_group.creations.empty()) {
    return explain_failure(ncclInvalidUsage,
                           "ncclGroupSimulateEnd ends one group of communication calls");
  }
  const Group group = std::exchange(this_group, {});
  for (const GroupedWork& grouped : group.works) {
    tasks.push_back(nccl_task(grouped.work, *grouped.communicator));
  }
  return group.error;
}

ncclResult_t add_creation(Creation creation) {
  *creation.result = creation.handle;
  if (this_group.depth > 0) {
    this_group.creations.push_back(std::move(creation));
    return ncclSuccess;
  }
  std::vector<Creation> alone;
  alone.push_back(std::move(creation));
  return create_all(std::move(alone));
}

ncclResult_t add_work(ncclComm_t handle, NcclWork work, cudaStream_t stream) {
  const auto refuse_work = [](ncclResult_t code, const std::string& text) {
    if (this_group.depth > 0) {
      fail_group(code);
    }
    return explain_failure(code, text);
  };
  const auto communicator = communicators().find(handle);
  const std::string function = work.function;
  if (communicator == nullptr || !communicator->is_usable()) {
    return refuse_work(ncclInvalidArgument,
                       function + ": the communicator is not ready, or there is none (any more)");
  }
  if (bytes_of(work.type) == 0 || !is_offered(work.operation)) {
    return refuse_work(ncclInvalidArgument,
                       function + ": the type or the operation is not offered");
  }
  if (work.root < 0 || work.root >= communicator->ranks) {
    return refuse_work(ncclInvalidArgument,
                       function + ": there is no rank " + std::to_string(work.root));
  }
  const auto queue = streams().get(stream, work.function);
  if (queue->device != communicator->device) {
    return refuse_work(ncclInvalidUsage,
                       function + ": the stream is not of the communicator's device");
  }
  GroupedWork grouped{communicator, queue, work};
  if (this_group.depth > 0) {
    this_group.works.push_back(std::move(grouped));
    return ncclSuccess;
  }
  if (const auto other = communicator->clique()->other_rank_of_thread(communicator->rank)) {
    return explain_failure(
        ncclInvalidUsage,
        function + ": one thread works for ranks " + std::to_string(*other) + " and " +
            std::to_string(communicator->rank) +
            " without ncclGroupStart; on GPUs the first call can wait for the second for ever");
  }
  std::vector<GroupedWork> alone;
  alone.push_back(std::move(grouped));
  launch_group(alone);
  return ncclSuccess;
}

}  // namespace substitute
