#include "core/trace/kineto_import.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/plan/plan_builder.h"
#include "core/trace/kineto_ops.h"

namespace twinrun {
namespace {

// "node0/gpu3" of "rank 3 · node0/gpu3 · a100".
std::string device_in(std::string_view process_name) {
  constexpr std::string_view kDot = " · ";
  const std::size_t first = process_name.find(kDot);
  if (first == std::string_view::npos) {
    return "";
  }
  const std::string_view rest = process_name.substr(first + kDot.size());
  return std::string(rest.substr(0, rest.find(kDot)));
}

// ---- the plan of all ranks

class Assembly {
 public:
  Assembly(std::span<const KinetoFile> files, bool is_own) : files_(files), is_own_(is_own) {}

  ImportedRun run(std::vector<ImportedRank> ranks, std::vector<std::string> said) {
    align(ranks, said);
    add_devices();
    for (const ImportedRank& rank : ranks) {
      for (const ImportedOp& op : rank.ops) {
        add(rank, op);
      }
    }
    builder_.text().source = is_own_ ? "a trace of twinrun" : "a trace of PyTorch's profiler";
    builder_.text().name = files_.empty() ? "" : files_.front().trace_name;
    ImportedRun out{std::move(builder_).finish(), {}, std::move(said)};
    out.trace = std::move(trace_);
    out.trace.source =
        is_own_ && !files_.front().source.empty() ? files_.front().source : "imported";
    out.trace.failure = files_.empty() ? "" : files_.front().failure;
    set_collectives(out);
    return out;
  }

 private:
  // Ranks whose first steps lie farther apart than a step do not have the same clock: theirs begin
  // together.
  void align(std::vector<ImportedRank>& ranks, std::vector<std::string>& said) {
    if (is_own_) {
      return;
    }
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    std::int64_t step = 0;
    for (const ImportedRank& rank : ranks) {
      first = std::min(first, rank.begin_ns);
      last = std::max(last, rank.begin_ns);
      step = std::max(step, rank.first_step_ns);
    }
    const bool have_one_clock = ranks.size() < 2 || last - first <= step;
    if (!have_one_clock) {
      said.emplace_back("the clocks of the ranks differ: their first steps are laid together");
    }
    for (ImportedRank& rank : ranks) {
      begin_of_[rank.rank] = have_one_clock ? first : rank.begin_ns;
    }
    has_one_clock_ = have_one_clock;
  }

  // One for every rank, also for those that no file is there of: groups name them.
  void add_devices() {
    std::int64_t most = 0;
    for (const KinetoFile& file : files_) {
      most = std::max({most, *file.rank + 1, std::min(file.world_size, kMostRanks)});
    }
    std::vector<std::string> names;
    for (std::int64_t rank = 0; rank < most; ++rank) {
      names.push_back(fmt::format("gpu{}", rank));
    }
    for (const KinetoFile& file : files_) {
      if (const std::string name = device_in(file.process_name); is_own_ && !name.empty()) {
        names[static_cast<std::size_t>(*file.rank)] = name;
      }
    }
    for (const std::string& name : names) {
      devices_.push_back(builder_.add_device(name));
    }
  }

  [[nodiscard]] DeviceId device(std::int64_t rank) {
    const bool is_known = rank >= 0 && rank < static_cast<std::int64_t>(devices_.size());
    return is_known ? devices_[static_cast<std::size_t>(rank)]
                    : builder_.add_device(fmt::format("gpu{}", rank));
  }

  GroupId group_of(const KinetoMessage* message) {
    std::vector<DeviceId> members;
    if (message != nullptr) {
      for (const std::int64_t rank : message->ranks) {
        members.push_back(device(rank));
      }
    }
    if (members.empty()) {
      members = devices_;
      const auto size = message == nullptr ? 0 : static_cast<std::size_t>(message->group_size);
      if (size > 0 && size < members.size()) {
        members.resize(size);  // which of them is not known; how many is
      }
    }
    std::string name = message == nullptr ? "" : message->group;
    for (const DeviceId member : members) {
      name += fmt::format(" {}", index_of(member));
    }
    const auto [at, is_new] = groups_.try_emplace(name, GroupId{});
    if (is_new) {
      const std::string& shown =
          message != nullptr && !message->group.empty() ? message->group : name;
      at->second = builder_.add_group(is_own_ ? shown : name, members);
    }
    return at->second;
  }

  OpId add_op(const ImportedRank& rank, const ImportedOp& op) {
    const DeviceId where = device(rank.rank);
    const StreamId stream = builder_.stream(where, op.stream);
    switch (op.kind) {
      case OpKind::kCompute: {
        const bool is_own = op.own != nullptr;
        return builder_.add_compute(
            op.id, stream, {.flops = is_own ? op.own->flops : 0, .bytes = {is_own ? op.bytes : 0}});
      }
      case OpKind::kCopy:
        return builder_.add_copy(op.id, stream, op.to.empty() ? where : builder_.add_device(op.to),
                                 {op.bytes});
      case OpKind::kSend:
        return builder_.add_send(op.id, stream, {device(op.message->destination), {op.bytes}});
      case OpKind::kRecv:
        return builder_.add_recv(op.id, stream, {device(op.message->source), {op.bytes}});
      case OpKind::kCollective: {
        const bool has_root = twinrun::has_root(op.collective);
        const GroupId group = group_of(op.message);
        return builder_.add_collective(
            op.id, stream,
            {.kind = op.collective,
             .group = group,
             .bytes = {op.bytes},
             .dtype = op.message == nullptr ? Dtype::kFp32 : torch_dtype(op.message->dtype).dtype,
             .root = has_root ? devices_.front() : no_id<DeviceId>()});
      }
      case OpKind::kHost:
        return builder_.add_host(op.id, stream, std::nullopt);
      case OpKind::kMarker:
        break;
    }
    return builder_.add_marker(op.id, stream);
  }

  void add(const ImportedRank& rank, const ImportedOp& op) {
    const std::int64_t begin = is_own_ ? 0 : begin_of_[rank.rank];
    const auto at = [&](std::int64_t ns) {
      return Time{std::max<std::int64_t>(0, ns - begin) * 1000};
    };
    add_op(rank, op);
    trace_.ops.push_back({at(op.ready_ns), at(op.start_ns), at(op.end_ns)});
    trace_.makespan = std::max(trace_.makespan, trace_.ops.back().end);
    own_.push_back(op.own);
  }

  void set_collectives(ImportedRun& out) const {
    for (std::size_t i = 0; i < out.plan.instance_count(); ++i) {
      const auto instance = id_at<InstanceId>(i);
      CollectiveRun run{instance, "", "", "", 0};
      if (const KinetoOwn* const own = own_[index_of(out.plan.instance_ops(instance).front())]) {
        run = {instance, own->algorithm, own->protocol, own->bottleneck, own->channels};
      } else if (has_one_clock_) {
        meet(out.plan, instance, out.trace);
      }
      out.trace.collectives.push_back(std::move(run));
    }
  }

  // A kernel of NCCL waits for its peers while it runs; what it waits is no work. Known where every
  // rank of the group has a file and all of them were there at one time.
  static void meet(const Plan& plan, InstanceId instance, Trace& trace) {
    const auto ops = plan.instance_ops(instance);
    Time last_start{};
    Time first_end{std::numeric_limits<std::int64_t>::max()};
    for (const OpId op : ops) {
      last_start = std::max(last_start, trace.ops[index_of(op)].start);
      first_end = std::min(first_end, trace.ops[index_of(op)].end);
    }
    if (ops.size() < plan.group_devices(plan.shape(ops.front()).group).size() ||
        last_start > first_end) {
      return;
    }
    for (const OpId op : ops) {
      OpTimes& times = trace.ops[index_of(op)];
      times.ready = times.start;
      times.start = last_start;
    }
  }

  static constexpr std::int64_t kMostRanks = 1'000'000;

  std::span<const KinetoFile> files_;
  bool is_own_;
  bool has_one_clock_ = true;
  PlanBuilder builder_;
  Trace trace_;
  std::vector<DeviceId> devices_;  // by rank
  std::map<std::string, GroupId> groups_;
  std::map<std::int64_t, std::int64_t> begin_of_;  // by rank, in nanoseconds of its clock
  std::vector<const KinetoOwn*> own_;              // by op; null for foreign ones
};

void say(const ImportCounts& counts, std::size_t ranks, std::vector<std::string>& said) {
  said.push_back(fmt::format("{} rank{}, {} step{}: {} kernels and copies, {} of communication",
                             ranks, ranks == 1 ? "" : "s", counts.steps,
                             counts.steps == 1 ? "" : "s", counts.kernels, counts.communication));
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) {
      said.push_back(fmt::format("{} {}", count, what));
    }
  };
  add(counts.outside, "were launched in no step and are left out");
  add(counts.unsized, "of communication have no size: the profiler noted none");
  add(counts.unlaunched, "have no launch in the file and count by their own time, as forward");
}

}  // namespace

ImportedRun import_kineto(std::span<const KinetoFile> files) {
  const bool is_own =
      std::any_of(files.begin(), files.end(), [](const KinetoFile& file) { return file.is_own(); });
  ImportCounts counts;
  std::vector<ImportedRank> ranks;
  std::vector<std::string> said;
  for (const KinetoFile& file : files) {
    ranks.push_back(is_own ? own_rank(file, counts) : foreign_rank(file, counts));
    if (file.left_out > 0) {
      said.push_back(fmt::format("{} was written without {} ops", file.file, file.left_out));
    }
    if (file.unreadable > 0) {
      said.push_back(fmt::format("{} events of {} have no time, length or place and are left out",
                                 file.unreadable, file.file));
    }
  }
  if (!is_own) {
    say(counts, ranks.size(), said);
  }
  return Assembly(files, is_own).run(std::move(ranks), std::move(said));
}

}  // namespace twinrun
