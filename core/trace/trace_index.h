#pragma once

#include <vector>

#include "core/base/csr.h"
#include "core/base/ids.h"
#include "core/plan/plan.h"
#include "core/trace/steps.h"
#include "core/trace/trace.h"

namespace twinrun {

// What several analyses ask of a run, found once: a plan has millions of ops. Plan and trace must
// outlive it.
struct TraceIndex {
  TraceIndex(const Plan& plan, const Trace& trace);
  // Of parts that were found beside each other: StepEnds, workers_are_independent, order_by_start.
  TraceIndex(const Plan& plan,
             const Trace& trace,
             StepEnds steps,
             bool has_independent_workers,
             Csr<DeviceId, OpId> ops_by_start);

  const Plan& plan;
  const Trace& trace;
  StepEnds steps;
  bool has_independent_workers;  // staleness.h
  // Of each device, in the order in which they began; of equal starts in the order of the plan.
  Csr<DeviceId, OpId> ops_by_start;
};

// The ops_by_start of an index.
Csr<DeviceId, OpId> order_by_start(const Plan& plan, const Trace& trace);

}  // namespace twinrun
