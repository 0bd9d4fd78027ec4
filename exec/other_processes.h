#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "core/base/ids.h"
#include "exec/failure.h"

namespace twinrun::exec {

// The processes that run the rest of a plan, as the runner of one of them sees them. Ops that start
// together meet in the backend then, by the data that they exchange.
class OtherProcesses {
 public:
  OtherProcesses() = default;
  OtherProcesses(const OtherProcesses&) = delete;
  OtherProcesses& operator=(const OtherProcesses&) = delete;
  virtual ~OtherProcesses() = default;

  // Before any stream starts: times of this process count from here.
  virtual void begun(std::chrono::steady_clock::time_point at) = 0;
  // Any stream's thread: an op of this process is done; those who wait for it are told.
  virtual void announce(OpId op) = 0;
  // Any stream's thread: returns when an op of another process is done. Throws Stopped when the
  // backend has been stopped.
  virtual void await(OpId op) = 0;
  // The same without waiting: whether it is done.
  virtual bool has_come(OpId op) = 0;
  // Now and then on the thread that called run_plan, with how many ops are done here: why the run
  // must end, if it must. Time without progress is judged here and no longer by the runner.
  virtual std::optional<Failure> look(std::size_t done) = 0;
};

}  // namespace twinrun::exec
