#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/dataset.h"
#include "core/plan/plan.h"
#include "exec/runner.h"

namespace twinrun::exec {

// A step of training that is over on all devices.
struct StepReport {
  std::int64_t step = 0;
  double loss = 0;
};

struct ExecuteOptions {
  RunOptions run;
  std::uint64_t seed = 1;            // of samples and initial weights
  bool uses_integers = false;        // data whose sums are exact, so that runs agree bit for bit
  const Dataset* dataset = nullptr;  // samples of a file instead; it fits the workload
  std::function<void(const StepReport&)> on_step;  // of training: now and then, the newest step
  bool is_reproducible = false;                    // loops of ours instead of a library's kernels
  // Of a plan of exchanges alone: they move numbers of which it is known what must come of them
  // (exec/known_numbers.h), put down and looked at by the host's ops before and behind each.
  bool checks_exchanges = false;
  // ---- of GPUs
  bool estimates_collectives = false;  // ask NCCL how long it thinks that they take
  bool collects_kernels = false;       // have CUPTI record what ran
  // ---- of backends with several processes
  int processes = 0;                 // to start; 0: as many as the plan has ranks
  std::vector<std::string> command;  // that starts this program again with the same input
};

// What NCCL itself predicts for collectives like this one.
struct CollectiveEstimate {
  InstanceId instance{};
  double seconds = 0;
};

// A kernel that ran on a GPU for an op.
struct KernelRun {
  std::string kernel;
  OpId op{};
  Time start{};
  Time end{};
};

// What came of it.
struct Execution {
  Outcome outcome;
  bool is_emulated = false;        // the plan does not say what its ops work on
  std::vector<double> losses;      // by step; of training that ran to its end
  std::vector<float> weights;      // the whole model
  float replica_disagreement = 0;  // between devices that hold the same weights
  std::string library;             // that did the matrix products
  // With checks_exchanges: elements that are not what they must be. Nothing: nobody looked.
  std::optional<std::int64_t> wrong_elements;
  std::vector<std::string> warnings;  // sentences
  // ---- of GPUs; with several processes, of the first
  std::vector<CollectiveEstimate> estimates;  // one for each kind of collective and size
  std::vector<KernelRun> kernels;
  // ---- of backends with several processes
  int processes = 1;
  std::string transport;           // what their messages went over: "mpi", "tcp"
  double clock_residual_s = 0;     // by how much their clocks may differ after alignment
  bool is_told_elsewhere = false;  // another process has the result: nothing here counts
  // When set: to be called with the exit code once the result is written; ends all processes, this
  // one too.
  std::function<void(int exit_code)> leave;
};

}  // namespace twinrun::exec
