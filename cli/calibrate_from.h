#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/output.h"

namespace twinrun::cli {

struct FromArguments {
  std::vector<std::string> from;  // a format and files; or run folders alone
  std::string topology;           // to be corrected; of runs, by default, theirs
  std::string collective;         // of nccl-tests, when the file does not say
  std::string out;
  bool force = false;
};

// Corrects a topology by measurements, judges it by a fifth of them that it was not fitted to, and
// writes it.
Output calibrate_from(Context& context, const FromArguments& arguments);

}  // namespace twinrun::cli
