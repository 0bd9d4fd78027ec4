#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/job_figures.h"

namespace twinrun::cli {

// Each input is right by itself, but they do not go together (heads that do not divide, no place
// for a server …): exit code 4.
class ImpossibleJob : public InputError {
 public:
  using InputError::InputError;
};
// Throws all that compile() complained about, if anything: InputError for a strategy that is none,
// else ImpossibleJob.
void throw_if_impossible(const Job& job, const Diagnostics& complaints);

// Runs variants of one job, as many as a question needs. A variant that cannot be carried out is
// nothing, and why() says the reason.
class JobSearch {
 public:
  explicit JobSearch(LoadedJob loaded, std::function<void()> on_run = {});

  [[nodiscard]] const Job& job() const { return loaded_.job; }
  [[nodiscard]] const Model& model() const { return loaded_.model; }
  [[nodiscard]] const TopologySpec& topology_spec() const { return loaded_.topology; }
  [[nodiscard]] const Topology& topology() const { return topology_; }

  // The job as it is; throws ImpossibleJob when it cannot be carried out.
  const JobFigures& base();
  std::optional<JobFigures> run(const Job& job, bool communication_alone = false);
  std::optional<JobFigures> run(const Job& job,
                                const TopologySpec& topology,
                                bool communication_alone = false);
  // On so many devices: the first ones, or more machines of the same kind.
  std::optional<JobFigures> run_on(std::size_t devices, Job job);
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  std::optional<JobFigures> figures(const Job& job,
                                    const Topology& topology,
                                    bool communication_alone);

  LoadedJob loaded_;
  Topology topology_;
  std::function<void()> on_run_;
  std::optional<JobFigures> base_;
  std::string why_;
};

// The same job with another batch on each replica: of a pipeline, with as many micro-batches.
Job with_local_batch(const Job& job, std::int64_t micro_batches, std::int64_t batch);
// The same global batch with another strategy, its degrees left to it.
Job with_strategy(const Job& job, const std::string& strategy, std::int64_t global_batch);

// Every link of the network (in one machine: every link) `factor` times as fast.
TopologySpec with_scaled_network(TopologySpec spec, double factor);
// The rate that is scaled: of one NIC, or the fastest link of the machine; 0 when there is none.
Bandwidth network_rate(const Topology& topology);

}  // namespace twinrun::cli
