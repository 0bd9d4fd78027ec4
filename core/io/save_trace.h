#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "core/io/source.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace twinrun {

inline constexpr std::string_view kTraceSchema = "twinrun/trace/1";

// Of a file of 20 million ops, about 0.8 GB; their plan has six times as much.
inline constexpr std::int64_t kMostOpsInTraceFile = 20'000'000;

// Writes a trace exactly (twinrun/trace/1), in pieces of about 64 KB: whole picoseconds, one op a
// line in the order of its plan, which belongs beside it. Reading it back gives the same trace, and
// writing that the same bytes. Ops beyond the first `most_ops` are left out, and the file says how
// many; returned is that number.
std::int64_t save_trace(const Plan& plan,
                        const Trace& trace,
                        std::int64_t most_ops,
                        const WriteChunk& write);
std::string trace_to_json(const Plan& plan, const Trace& trace);

// Which plan a trace belongs to: a number made from the ids of all ops, the same on every machine.
std::string plan_fingerprint(const Plan& plan);

}  // namespace twinrun
