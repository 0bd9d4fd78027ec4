#pragma once

#include <cstdint>
#include <string>

#include "cli/answers.h"
#include "cli/job_search.h"
#include "cli/page_input.h"
#include "report/page_data.h"

namespace twinrun::cli {

// How much may be simulated for the curves of a page, counted in ops rather than seconds so that
// the same run gives the same page everywhere.
struct CurveLimits {
  static constexpr double kUsual = 1e7;  // some seconds
  double ops = kUsual;                   // of all simulations together
};

// Simulates variants of a job: t1 and t2 over the batch, server and ring over devices and
// bandwidth, samples/s over devices, and the answers of `explain`. `ops` is the size of the job's
// plan. What does not fit into the limit is left out, and a note says so.
void add_curves(JobSearch& search,
                std::size_t ops,
                const CurveLimits& limits,
                report::PageContent& content);

// The same of the first run that was made from a job. `how_much` as typed: auto, all or none.
void add_curves_of_runs(Context& context,
                        const PageInput& input,
                        const std::string& how_much,
                        report::PageContent& content);

}  // namespace twinrun::cli
