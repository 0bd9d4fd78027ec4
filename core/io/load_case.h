#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/dtype.h"
#include "core/base/units.h"
#include "core/io/json_tree.h"
#include "core/io/load_job.h"
#include "core/io/source.h"
#include "core/plan/collective_calls.h"
#include "core/topology/spec.h"

namespace twinrun {

// What was measured.
enum class CaseMetric : std::uint8_t {
  kSamplesPerS,
  kStepS,  // of a job
  kTimeS,  // of collectives
};
inline constexpr std::array<std::string_view, 3> kCaseMetricWords = {"samples_per_s", "step_s",
                                                                     "time_s"};
constexpr bool more_is_better(CaseMetric metric) { return metric == CaseMetric::kSamplesPerS; }

// One measurement: the base of its file with some keys set.
struct CaseRow {
  std::string name;              // unique in the file
  std::vector<JobOverride> set;  // paths as --set takes them; of a collective, its keys
  double measured = 0;
  std::string group;        // rows of one group are alternatives: which is best?
  std::string relative_to;  // a row: the figure is the quotient of both; "": absolute
};

// A published table of measurements (twinrun/case/1): a job or a collective, and rows that change
// it. Kept as it is written: each row is read when it is asked for.
struct CaseFile {  // NOLINT(bugprone-exception-escape): moving a JSON tree throws nothing
  std::string file;
  std::string name;
  std::string table;  // the published table it is from
  std::string citation;
  std::vector<std::string> assumed;   // what the table does not say
  std::vector<std::string> left_out;  // rows of the table that are not here, and why
  CaseMetric metric = CaseMetric::kStepS;
  std::int64_t steps = 0;  // to simulate; 0: as many as show a steady one
  bool is_collective = false;
  JsonTree base;  // the job, or the collective
  std::vector<CaseRow> rows;
};

struct CaseCollective {
  TopologySpec topology;
  std::string ranks = "all";
  std::string algorithm = "auto";
  Dtype dtype = Dtype::kFp32;
  std::int64_t gpus_per_process = 1;  // one that drives several launches for each in turn
  std::vector<CollectiveCall> calls;
};

// Reads the file, all but what jobs and collectives hold. With errors the result is incomplete.
CaseFile read_case(const Source& source, Diagnostics& diagnostics);

// What a row is about.
LoadedJob read_case_job(const CaseFile& file, const CaseRow& row, Diagnostics& diagnostics);
CaseCollective read_case_collective(const CaseFile& file,
                                    const CaseRow& row,
                                    Diagnostics& diagnostics);

// The files that the program carries, in alphabetical order (traces/published).
std::vector<Source> published_cases();

}  // namespace twinrun
