#pragma once

#include <atomic>
#include <string>

#include "cli/context.h"
#include "cli/output.h"
#include "exec/backends.h"

namespace twinrun::cli {

// A row of exec::all_backends(); UsageError when there is none of that name.
const exec::BackendRow& backend_named(const std::string& name);

// While it lives, Ctrl-C and SIGTERM end a run in order, with what is there kept; a second Ctrl-C
// ends the program.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();

  // Set when somebody wants the run to end.
  static const std::atomic<bool>* flag();

 private:
  void (*on_interrupt_)(int);
  void (*on_terminate_)(int);
};

// Of several processes: "4 processes, clocks aligned to 0.3 us".
std::string clocks_text(const exec::Execution& run);

int exit_code_of(exec::FailureKind kind);

// Of a run that failed: a thread that is stuck in its op cannot be ended, nor can MPI be left in
// order; the process can. Prints the output and ends it, or returns when all is in order.
void end_if_stuck(Context& context, const Output& output, const exec::Execution& run);

// Of a run that another process tells about: ends this one without a word.
void end_if_told_elsewhere(const exec::Execution& run);

}  // namespace twinrun::cli
