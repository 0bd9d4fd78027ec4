#pragma once

#include <string>

#include "core/io/load_case.h"

namespace twinrun::cli {

struct CasePrediction {
  double value = 0;     // in the metric of the file, not yet relative to another row
  std::string because;  // what dominates it, in words
  std::string failure;  // why there is none; "" when there is one
};

// What the simulator says about a row, with curves that were fitted without the table `left_out`
// ("": to all of them). Complaints about the row become its failure.
CasePrediction predict_case(const CaseFile& file, const CaseRow& row, const std::string& left_out);

}  // namespace twinrun::cli
