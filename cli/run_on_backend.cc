#include "cli/run_on_backend.h"

#include <utility>

#include <fmt/format.h>

#include "cli/backend_run.h"
#include "core/base/diagnostics.h"

namespace twinrun::cli {
namespace {

constexpr double kMostIdleS = 60;  // seconds without an op that ends

}  // namespace

Trace trace_of(exec::Execution execution, const std::string& backend) {
  if (execution.outcome.failure) {
    throw CannotRun(fmt::format("the {} backend failed while it was measured: {}", backend,
                                execution.outcome.failure->message));
  }
  return std::move(execution.outcome.trace);
}

RunPlan run_on(const std::string& backend) {
  const exec::BackendRow& row = backend_named(backend);
  return [&row, backend](const Plan& plan) {
    exec::ExecuteOptions options;
    options.run.timeout_s = kMostIdleS;
    return trace_of(row.execute(plan, options), backend);
  };
}

}  // namespace twinrun::cli
