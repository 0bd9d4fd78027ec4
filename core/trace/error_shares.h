#pragma once

#include <vector>

#include "core/trace/critical_path.h"
#include "core/trace/folded_run.h"
#include "core/trace/join_runs.h"

namespace twinrun {

// What an op has to do with one step being longer than another, in seconds a step of b above a.
struct OpShare {
  FoldedId in_slower{};    // of the run whose mean step is longer
  double working_s = 0;    // it took so much longer
  double waiting_s = 0;    // it began so much later after what it waited for
  double waited_in_a = 0;  // the two of which that is the difference
  double waited_in_b = 0;
};

// Why the mean step of b is longer (or shorter) than that of a.
//
// The critical path of the slower run is a chain of ops that fills its counted steps without a
// hole: each op, and the wait between one and the next. The ops of the same chain stand in the same
// order in the faster run, because what one waits for it waits for there too; so the chain and its
// waits fill the steps of that run as well. Both sums are the whole time, hence
//
//   step of b − step of a  =  Σ over the chain (work in b − work in a) + (wait in b − wait in a)
//
// and every term belongs to one op. A chain that waits less in the slower run is one that the
// faster run waited in for something that was critical only there.
//
//   slower   f f f b b b r r r r u     step 11: forward 3, backward 3, all-reduce 4, update 1
//   faster   f f f b b b r r u         step  9: the all-reduce explains all of the 2
//
// Where both have as many steps the chain is looked at step by step, else in the faster run's mean
// step. An op that the faster run does not have takes no time there.
struct ErrorShares {
  bool b_is_slower = true;   // its path is the chain; b's too when both are as long
  double difference_s = 0;   // step of b − step of a; the sum of all shares
  std::vector<OpShare> ops;  // of the chain, each op once, in the order in which they were met
  double end_s = 0;          // waiting after the last op of the chain, in b above a
};

// The critical path of the counted steps.
CriticalPath counted_path(const FoldedRun& run);

ErrorShares error_shares(const FoldedRun& a, const FoldedRun& b, const RunJoin& join);

}  // namespace twinrun
