#pragma once

#include <string>

#include "core/io/load_case.h"

namespace twinrun::cli {

struct CasePrediction {
  double value = 0;     // in the metric of the file, not yet relative to another row
  std::string because;  // what dominates it, in words
  std::string failure;  // why there is none; "" when there is one
};

// What the simulator says about a row. Complaints about the row become its failure.
CasePrediction predict_case(const CaseFile& file, const CaseRow& row);

}  // namespace twinrun::cli
