#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "exec/mpi/device_homes.h"
#include "exec/mpi/post.h"
#include "exec/other_processes.h"

namespace twinrun::exec {

struct GroupOptions {
  double timeout_s = 60;                      // without an op ending anywhere
  std::function<bool()> is_asked_to_end;      // from outside; may be empty
  std::function<void(std::size_t)> progress;  // first process: ops done by all; may be empty
  std::function<void(Post::Clock::time_point)> begun;  // may be empty
};

// The processes that run a plan, as one of them sees the others.
//
//   each    op done -> the processes with an op that depends on it: kDone
//   each -> first   every tenth of a second: kProgress, how many ops it has done
//   first -> each   as often: kProgress, how many all have done
//   each -> first   kFinished; first -> each, when all have: kAllFinished
//   who fails -> each   kFailed, with the reason
//
// The first ends the run when nobody makes progress or somebody is silent for too long; the others
// when the first is silent.
class ProcessGroup : public OtherProcesses {
 public:
  ProcessGroup(const Plan& plan, const DeviceHomes& homes, Post& post, GroupOptions options);
  ~ProcessGroup() override;

  void begun(std::chrono::steady_clock::time_point at) override;
  void announce(OpId op) override;
  void await(OpId op) override;
  bool has_come(OpId op) override;
  std::optional<Failure> look(std::size_t done) override;

  // After this process's part: waits until all have done theirs.
  std::optional<Failure> wait_for_all(std::size_t done);
  // After a failure here: the others end too.
  void tell_failure(const Failure& failure);

 private:
  using Clock = Post::Clock;
  void take(const Note& note);
  void beat(std::size_t done);
  [[nodiscard]] std::optional<Failure> trouble(std::size_t done);
  [[nodiscard]] std::optional<Failure> silence(Clock::time_point now) const;
  [[nodiscard]] std::size_t done_by_all(std::size_t done) const;

  const Plan& plan_;
  const DeviceHomes& homes_;
  Post& post_;
  const GroupOptions options_;
  const int parent_;                      // process that started this one
  std::vector<bool> arrived_;             // by op; from here on under the post's lock
  std::vector<Clock::time_point> heard_;  // by process: when it last said something
  std::vector<std::uint32_t> progress_;   // by process: ops done
  int finished_ = 0;                      // others that have
  bool all_finished_ = false;
  std::optional<Failure> told_;
  std::uint32_t all_done_ = 0;   // ops, as the first process says
  Clock::time_point last_beat_;  // from here on of the runner's thread
  Clock::time_point last_progress_;
  std::size_t last_done_ = 0;
};

}  // namespace twinrun::exec
