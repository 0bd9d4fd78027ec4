#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/output.h"

namespace twinrun::cli {

struct ExplainJobOptions {
  std::string job;
  std::vector<std::string> set;
  std::string only;              // questions by name; "": all of them
  std::string time_to_accuracy;  // a file or a law; "" when not asked
};

// The planning questions about a job, each answered in a sentence with numbers.
Output explain_job(Context& context, const ExplainJobOptions& options);

}  // namespace twinrun::cli
