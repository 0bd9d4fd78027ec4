#include "cli/backend_run.h"

#include <csignal>
#include <cstdio>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/verb.h"

namespace twinrun::cli {
namespace {

std::atomic<bool> interrupted{false};  // a signal handler can reach nothing else
std::atomic<bool> terminated{false};   // … by SIGTERM

extern "C" void ask_to_end(int signal) {
  const bool is_impatient = interrupted.exchange(true) && signal == SIGINT;
  if (is_impatient) {
    ::_exit(128 + signal);
  }
  terminated = signal == SIGTERM;
}

}  // namespace

const exec::BackendRow& backend_named(const std::string& name) {
  std::vector<std::string_view> names;
  for (const exec::BackendRow& row : exec::all_backends()) {
    names.push_back(row.name);
  }
  return exec::all_backends()[check_word("backend", name, names)];
}

InterruptGuard::InterruptGuard()
    : on_interrupt_(std::signal(SIGINT, ask_to_end)),
      on_terminate_(std::signal(SIGTERM, ask_to_end)) {}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, on_interrupt_);
  std::signal(SIGTERM, on_terminate_);
}

const std::atomic<bool>* InterruptGuard::flag() { return &interrupted; }

std::string clocks_text(const exec::Execution& run) {
  return run.clock_residual_s == 0 ? fmt::format("{} processes with one clock", run.processes)
                                   : fmt::format("{} processes, clocks aligned to {:.2g} us",
                                                 run.processes, run.clock_residual_s * 1e6);
}

int exit_code_of(exec::FailureKind kind) {
  switch (kind) {
    case exec::FailureKind::kOpFailed:
      return kFailure;
    case exec::FailureKind::kTimeout:
      return kTimedOut;
    case exec::FailureKind::kInterrupted:
      return terminated ? kTerminated : kInterrupted;
    case exec::FailureKind::kProcessDied:
      return kPartial;
  }
  return kFailure;
}

void end_if_stuck(Context& context, const Output& output, const exec::Execution& run) {
  if (!run.outcome.left_threads && !run.leave) {
    return;
  }
  context.report_error(run.outcome.failure->message);
  const std::string text = render(output, context.format(), context.colors_output());
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  if (run.leave) {
    run.leave(output.exit_code);
  }
  ::_exit(output.exit_code);
}

void end_if_told_elsewhere(const exec::Execution& run) {
  if (run.is_told_elsewhere) {
    ::_exit(kSuccess);
  }
}

}  // namespace twinrun::cli
