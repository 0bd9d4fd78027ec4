#pragma once

#include <string>

#include "core/base/ids.h"
#include "core/plan/op.h"

namespace twinrun::exec {

// What does the work of a plan's ops: the machine behind the runner. It was made for one plan.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // Does the op and returns when it is done. Called on the thread of the op's stream, when all it
  // waits for is done; ops that start together are called together, each on its own thread, and may
  // wait for each other in there. What it throws ends the run.
  virtual void run(OpId op) = 0;
  // Any thread, any time: whatever run() waits for in there gives up and throws Stopped.
  virtual void stop() = 0;
  // What an op that is in run() waits for in there: "" when nothing, or not known.
  [[nodiscard]] virtual std::string awaited_by(OpId /*op*/) const { return ""; }
  // How a collective is done.
  [[nodiscard]] virtual std::string algorithm(InstanceId instance) const = 0;
};

}  // namespace twinrun::exec
