#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/diagnostics.h"
#include "core/base/units.h"
#include "core/io/source.h"

namespace twinrun {

// What a program of nccl-tests (all_reduce_perf and the like) printed, or wrote with -J.
struct NcclTestsOutput {
  struct Row {
    Bytes bytes{};
    double seconds = 0;  // out of place
    Place place;
  };
  std::string collective;  // all_reduce, …, in our words; "" when the file does not say
  std::size_t ranks = 0;   // 0 when the file does not say
  std::vector<Row> rows;   // of 0 bytes or wrong results none
};

// Reads the table or the JSON. Complains (E0813) about a file with no row in it. The collective is
// that of the program's name in the file, or else in the file's own name.
NcclTestsOutput read_nccl_tests(const Source& source, Diagnostics& diagnostics);

}  // namespace twinrun
