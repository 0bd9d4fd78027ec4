#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/context.h"
#include "core/io/load_run_folder.h"
#include "report/page_data.h"

namespace twinrun::cli {

// What `report` and `serve` are given: folders of runs and of sweeps, in the order of the command
// line.
struct PageInput {
  std::vector<std::unique_ptr<const RunFolder>> runs;
  std::vector<std::string> run_labels;
  std::vector<nlohmann::ordered_json> sweeps;  // twinrun/sweep/1, with a "label"
};

// Throws what is wrong with any of them: UsageError for a folder that is neither, InputError with
// all complaints about files.
PageInput read_page_input(Context& context, const std::vector<std::string>& folders);

// What the page shows of it, without what takes simulations. Refers to the input.
report::PageContent page_content(const PageInput& input);

}  // namespace twinrun::cli
