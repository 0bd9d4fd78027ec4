#pragma once

#include <cstddef>
#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace twinrun::report {

// The ops of a run by rows (device and stream) for the page's timeline, packed so that 64 ranks and
// three steps are a fraction of a megabyte:
//
//   labels     what an op is called, does and moves, once for all ranks, steps and micro-batches
//   sequences  bytes in base64, each distinct one once: a step of one rank is mostly that of
//              another
//   rows       chunks, one a step: [step, start in ns, labels, times, critical path], the last
//              three numbers of sequences (-1: no op of it is on the critical path)
//
// A sequence is a list of varints (7 bits a byte, lowest first; signed ones zigzag):
//   labels     for each op its label less the one before and less 1, and, where the name has a
//              '#', its micro-batch less the one before
//   times      for each op the gap after the op before, its duration and how long it was ready
//              before it started, in ns from the start of the chunk
//   path       how many ops to pass over, how many are on the path, and so on
//
// Steps, then devices, then ops are left out until it fits into `most_bytes`; "left_out" says so in
// a sentence, and is "" when nothing was.
nlohmann::ordered_json timeline_data(const Plan& plan, const Trace& trace, std::size_t most_bytes);

}  // namespace twinrun::report
