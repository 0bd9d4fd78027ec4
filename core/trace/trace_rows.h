#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace twinrun {

// Nanoseconds, to the nearest. The same rounding for starts and ends, so what does not overlap in
// picoseconds does not overlap here.
std::int64_t to_nanoseconds(Time time);

bool has_run(const OpTimes& times);

// One row of a viewer: slices in order of time that do not overlap.
struct TraceRow {
  DeviceId device{};
  StreamId stream{};
  int lane = 0;  // 0: the stream; more: ops of it that overlap, which no correct trace has
  std::int64_t tid = 0;
  std::string name;
  std::vector<OpId> split;  // of a stream whose ops overlap; otherwise its ops are the plan's
};

// The rows of some devices, device by device. Row ids: 0 host annotations, 1 host stream, 7
// compute, 20 data-parallel and plain communication, 21 tensor, 22 pipeline, 30 copies, from 40 on
// other streams, from 100 on lanes. The same for simulated and executed traces of a plan.
std::vector<TraceRow> trace_rows(const Plan& plan,
                                 const Trace& trace,
                                 std::span<const DeviceId> devices);

inline std::span<const OpId> ops_of(const Plan& plan, const TraceRow& row) {
  return row.split.empty() ? plan.stream_ops(row.stream) : std::span<const OpId>(row.split);
}

// The starts and ends of all ops of some rows in order of time, ends before starts; ops that never
// ran are passed over. Holds one entry a row.
class TraceTimeline {
 public:
  struct Point {
    Time at{};
    bool is_start = true;
    std::uint32_t row = 0;
    OpId op{};
  };

  TraceTimeline(const Plan& plan, const Trace& trace, std::span<const TraceRow> rows);
  std::optional<Point> next();

 private:
  struct Cursor {
    std::span<const OpId> ops;
    std::size_t next = 0;
  };
  void push_start(std::uint32_t row);
  void push(const Point& point);

  const Trace& trace_;
  std::vector<Cursor> cursors_;
  std::vector<Point> heap_;
};

}  // namespace twinrun
