#include "exec/mpi/launched_run.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>

#include "exec/backend_missing.h"
#include "exec/mpi/device_homes.h"
#include "exec/mpi/live_table.h"
#include "exec/mpi/merge_parts.h"
#include "exec/mpi/mpirun.h"
#include "exec/mpi/part_files.h"

namespace twinrun::exec {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTick = std::chrono::milliseconds(10);
constexpr double kSecondsToStart = 60;   // for processes to come as far as their run
constexpr double kSecondsToNotice = 3;   // beyond the timeout: processes look for themselves
constexpr double kSecondsToSpeak = 2.5;  // for the others, once one has failed
constexpr double kSecondsToFinish = 10;  // once all have said their part
constexpr double kSecondsToObey = 6;     // once they were asked to end
constexpr double kSecondsToDie = 1;      // once mpirun is gone
constexpr int kNotFound = 127;           // a shell's code

double since(Clock::time_point when) {
  return std::chrono::duration<double>(Clock::now() - when).count();
}

class LaunchedRun {
 public:
  LaunchedRun(const Plan& plan, const ExecuteOptions& options, int processes)
      : plan_(plan),
        options_(options),
        processes_(processes),
        mpirun_(folders_, processes, options.command),
        parts_(static_cast<std::size_t>(processes)),
        tables_(parts_.size()) {}

  Execution run() {
    while (!is_over()) {
      std::this_thread::sleep_for(kTick);
      look_at_processes();
      look_for_interrupt();
    }
    const std::optional<int> ended_itself = mpirun_.status();
    mpirun_.end();
    end_leftovers();
    return result(ended_itself);
  }

 private:
  [[nodiscard]] bool is_over() {
    const bool all_spoke = spoke_ == processes_;
    return mpirun_.status().has_value() ||
           (failed_ && (all_spoke || since(*failed_) > kSecondsToSpeak)) ||
           (all_spoke && since(*last_spoke_) > kSecondsToFinish) ||
           (asked_ && since(*asked_) > kSecondsToObey) || is_silent();
  }

  // Nobody in there is alive enough to notice.
  [[nodiscard]] bool is_silent() {
    const double limit = has_begun_ ? options_.run.timeout_s + kSecondsToNotice
                                    : std::max(kSecondsToStart, options_.run.timeout_s);
    return since(last_beat_) > limit;
  }

  void look_at_processes() {
    std::int64_t beats = 0;
    bool all_have_begun = true;
    for (int rank = 0; rank < processes_; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      if (!tables_[at]) {
        tables_[at] = open_table(rank);
      }
      beats += tables_[at] ? tables_[at]->head().beat.load() : 0;
      all_have_begun &= tables_[at] && tables_[at]->head().begin_ns != 0;
      take_part(rank);
    }
    has_begun_ |= all_have_begun;
    if (beats != beats_) {
      beats_ = beats;
      last_beat_ = Clock::now();
    }
    if (options_.run.progress && tables_.front()) {
      const std::int64_t done = tables_.front()->head().all_done;
      options_.run.progress(static_cast<std::size_t>(done), plan_.size());
    }
  }

  std::unique_ptr<LiveTable> open_table(int rank) const {
    auto table = LiveTable::open(folders_.folder(), rank, plan_.size());
    return table ? std::make_unique<LiveTable>(*std::move(table)) : nullptr;
  }

  void take_part(int rank) {
    std::optional<Part>& part = parts_[static_cast<std::size_t>(rank)];
    if (part) {
      return;
    }
    part = read_part(folders_.folder(), rank);
    if (part) {
      ++spoke_;
      last_spoke_ = Clock::now();
      const bool has_failed = part->failure || !part->refusal.empty();
      failed_ = has_failed && !failed_ ? last_spoke_ : failed_;
    }
  }

  void look_for_interrupt() {
    if (!asked_ && options_.run.interrupted != nullptr && *options_.run.interrupted) {
      ask_to_stop(folders_.folder());
      asked_ = Clock::now();
    }
  }

  // Processes that outlived mpirun; a stopped one does not notice anything.
  void end_leftovers() {
    const auto begin = Clock::now();
    look_at_processes();
    for (const auto& table : tables_) {
      const auto is_there = [&] {
        const std::int64_t process = table->head().process;
        return process > 0 && start_of_process(process) == table->head().started;
      };
      while (table && is_there()) {
        if (since(begin) > kSecondsToDie) {
          ::kill(static_cast<pid_t>(table->head().process), SIGKILL);
        }
        std::this_thread::sleep_for(kTick);
      }
    }
    look_at_processes();
  }

  Execution result(const std::optional<int>& ended_itself) {
    std::vector<Part> parts;
    for (int rank = 0; rank < processes_; ++rank) {
      const std::optional<Part>& said = parts_[static_cast<std::size_t>(rank)];
      parts.push_back(said ? *said : read_remains(folders_.folder(), rank, plan_));
    }
    const bool nobody_came = std::none_of(tables_.begin(), tables_.end(),
                                          [](const auto& table) { return table != nullptr; });
    if (nobody_came && ended_itself && !asked_) {
      throw_about(*ended_itself);
    }
    std::optional<int> dead = mpirun_.first_dead();
    const bool is_known = dead && *dead >= 0 && *dead < processes_;
    dead = is_known ? dead : std::nullopt;
    Execution out = merge_parts(plan_, DeviceHomes(plan_, processes_), parts, dead);
    out.transport = "mpi";
    if (out.outcome.failure) {
      explain(ended_itself, *out.outcome.failure);
      out.outcome.trace.failure = out.outcome.failure->message;
    }
    return out;
  }

  [[noreturn]] void throw_about(int status) const {
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNotFound) {
      throw BackendMissing("mpirun cannot be started: " + mpirun_.words());
    }
    throw std::runtime_error("mpirun started nothing: " + mpirun_.words());
  }

  // What only this process knows of the end.
  void explain(const std::optional<int>& ended_itself, Failure& failure) const {
    const bool is_settled =
        failure.kind == FailureKind::kOpFailed || failure.kind == FailureKind::kTimeout;
    if (asked_ && !is_settled) {
      failure.kind = FailureKind::kInterrupted;
      if (!failure.message.starts_with("interrupted")) {
        failure.message = "interrupted; " + failure.message;
      }
    } else if (!is_settled && ended_itself && WIFSIGNALED(*ended_itself)) {
      failure.kind = FailureKind::kProcessDied;
      failure.message =
          fmt::format("mpirun died of signal {}; {}", WTERMSIG(*ended_itself), failure.message);
    } else if (!is_settled && !ended_itself) {
      failure.kind = FailureKind::kTimeout;
      failure.message = fmt::format("no process has answered for {:.1f} s; {}", since(last_beat_),
                                    failure.message);
    }
  }

  const Plan& plan_;
  const ExecuteOptions& options_;
  const int processes_;
  const RunFolders folders_;
  Mpirun mpirun_;
  std::vector<std::optional<Part>> parts_;          // by rank: what they said
  std::vector<std::unique_ptr<LiveTable>> tables_;  // by rank
  int spoke_ = 0;
  std::optional<Clock::time_point> last_spoke_;
  std::optional<Clock::time_point> failed_;  // the first one said so
  std::optional<Clock::time_point> asked_;   // to end
  bool has_begun_ = false;
  std::int64_t beats_ = -1;
  Clock::time_point last_beat_ = Clock::now();
};

}  // namespace

Execution launch_and_watch(const Plan& plan, const ExecuteOptions& options) {
  const int processes = options.processes > 0 ? options.processes : DeviceHomes::rank_count(plan);
  return LaunchedRun(plan, options, processes).run();
}

}  // namespace twinrun::exec
