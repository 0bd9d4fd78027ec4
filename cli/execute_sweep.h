#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/run_input.h"
#include "exec/execute.h"

namespace twinrun::cli {

// How many steps training takes to its target, measured: the trade-off between batch size and steps
// (McCandlish et al., arXiv:1812.06162), in the form that `explain --time-to-accuracy` reads.
struct StepsToTargetSweep {
  std::vector<std::string> axes;  // path=a,b,c
  double target_loss = 0;
  std::string file;  // for the rows; "" writes none
};

// The first step from which the mean loss of ten is at most the target: a single batch may be easy.
// Steps are counted from 1; 0 when there is none.
std::int64_t steps_to_target(std::span<const double> losses, double target);

using ExecuteInput = std::function<exec::Execution(const RunInput&)>;
Output run_execute_sweep(Context& context,
                         const RunArguments& arguments,
                         const StepsToTargetSweep& sweep,
                         const ExecuteInput& execute);

}  // namespace twinrun::cli
