#include "cli/one_device.h"

#include "cli/job_figures.h"

namespace twinrun::cli {

std::optional<double> one_device_samples_per_s(const RunInput& input) {
  const RunInput::FromJob& from = *input.job;
  Job job = from.loaded.job;
  job.parallelism = {};
  job.parallelism.strategy = "single";
  job.server = {};
  job.mapping.ranks = input.topology.name(from.layout.devices.front());
  job.training.local_batch_size = from.layout.local_batch;
  job.training.global_batch_size.reset();
  job.training.micro_batch_size.reset();
  job.training.gradient_accumulation.reset();
  Diagnostics impossible;
  const std::optional<JobFigures> figures =
      job_figures(job, from.loaded.model, input.topology, {}, impossible);
  return figures && figures->fits && figures->step_s > 0 ? std::optional(figures->samples_per_s)
                                                         : std::nullopt;
}

}  // namespace twinrun::cli
