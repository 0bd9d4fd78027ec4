#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cli/answers.h"

// How large a batch, how many devices, does it fit.

namespace twinrun::cli {
namespace {

constexpr std::int64_t kLargestBatch = std::int64_t{1} << 16;

std::int64_t micro_batches_of(JobSearch& search) {
  const Training& training = search.job().training;
  if (training.micro_batch_size && *training.micro_batch_size > 0) {
    return std::max<std::int64_t>(1, search.base().local_batch / *training.micro_batch_size);
  }
  return training.gradient_accumulation.value_or(1);
}

// Compute hides communication when t1 ≥ t2; t1 grows with the batch and t2 hardly does.
bool hides(JobSearch& search, std::int64_t micro_batches, std::int64_t batch, JobFigures& figures) {
  const auto run = search.run(with_local_batch(search.job(), micro_batches, batch), true);
  if (!run) {
    return false;
  }
  figures = *run;
  return figures.t1_s >= *figures.t2_s;
}

std::int64_t smallest_batch(JobSearch& search, std::int64_t micro_batches, JobFigures& figures) {
  std::int64_t high = 1;
  while (high <= kLargestBatch && !hides(search, micro_batches, high, figures)) {
    high *= 2;
  }
  if (high > kLargestBatch) {
    return 0;
  }
  std::int64_t low = high / 2;  // does not hide
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    JobFigures at_middle;
    if (hides(search, micro_batches, middle, at_middle)) {
      high = middle;
      figures = at_middle;
    } else {
      low = middle;
    }
  }
  return high;
}

// The batch of a replica stays, unless the job says only the global one.
std::optional<JobFigures> with_devices(JobSearch& search, std::size_t count) {
  Job job = search.job();
  const bool is_weak = job.training.local_batch_size.has_value() || !job.training.global_batch_size;
  if (is_weak) {
    job.training.local_batch_size = search.base().local_batch;
    job.training.global_batch_size.reset();
  }
  return search.run_on(count, job);
}

// Changes a job and says how one would type that.
using Change = std::string (*)(Job& job, std::int64_t local_batch);

std::string divide_micro_batch(Job& job, std::int64_t local_batch, std::int64_t by) {
  const std::int64_t now = job.training.micro_batch_size.value_or(
      local_batch / job.training.gradient_accumulation.value_or(1));
  const std::int64_t micro_batch = std::max<std::int64_t>(1, now / by);
  job.training.gradient_accumulation.reset();
  job.training.micro_batch_size = micro_batch;
  job.training.local_batch_size = local_batch;
  job.training.global_batch_size.reset();
  return fmt::format("training.micro_batch_size={}", micro_batch);
}

// A strategy without stages becomes a pipeline of two.
std::string add_stage(Job& job) {
  Parallelism& parallelism = job.parallelism;
  const Strategy* const strategy = find_strategy(parallelism.strategy);
  const std::int64_t stages = parallelism.pipeline_parallel_degree.value_or(1) + 1;
  parallelism.pipeline_parallel_degree = stages;
  parallelism.data_parallel_replicate_degree.reset();
  parallelism.balance.clear();
  std::string typed = fmt::format("parallelism.pipeline_parallel_degree={}", stages);
  if (strategy != nullptr && strategy->traits.has_stages) {
    return typed;
  }
  parallelism.strategy = "1f1b";
  return "parallelism.strategy=1f1b --set " + typed;
}

// In order of how little they cost.
constexpr std::array<Change, 11> kChanges = {
    [](Job& job, std::int64_t) -> std::string {
      job.ddp.gradient_as_bucket_view = true;
      return "ddp.gradient_as_bucket_view=true";
    },
    [](Job& job, std::int64_t) -> std::string {
      job.training.recompute = Recompute::kSelective;
      return "training.recompute=selective";
    },
    [](Job& job, std::int64_t batch) { return divide_micro_batch(job, batch, 2); },
    [](Job& job, std::int64_t batch) { return divide_micro_batch(job, batch, 4); },
    [](Job& job, std::int64_t) -> std::string {
      job.training.recompute = Recompute::kFull;
      return "training.recompute=full";
    },
    [](Job& job, std::int64_t) -> std::string {
      job.parallelism.zero_stage = 1;
      return "parallelism.zero_stage=1";
    },
    [](Job& job, std::int64_t) -> std::string {
      job.parallelism.zero_stage = 3;
      return "parallelism.zero_stage=3";
    },
    [](Job& job, std::int64_t) -> std::string {
      job.training.offload = Offload::kActivations;
      return "training.offload=activations";
    },
    [](Job& job, std::int64_t) { return add_stage(job); },
    [](Job& job, std::int64_t) -> std::string {
      job.parallelism.zero_stage = 3;
      job.training.recompute = Recompute::kFull;
      return "parallelism.zero_stage=3 --set training.recompute=full";
    },
    [](Job& job, std::int64_t) -> std::string {
      job.training.offload = Offload::kWeights;
      job.training.recompute = Recompute::kFull;
      return "training.offload=weights --set training.recompute=full";
    },
};

std::string memory_text(const JobFigures& figures) {
  return fmt::format("{} of {}", to_text(Bytes{figures.peak_bytes}),
                     to_text(Bytes{figures.capacity_bytes}));
}

}  // namespace

Answer batch_where_t1_equals_t2(JobSearch& search) {
  Answer answer{"batch_where_t1_equals_t2",
                "",
                nullptr,
                "samples a replica",
                {"t1: compute of a step on the busiest device; t2: its communication with nothing "
                 "else to do"}};
  if (search.base().t2_s.value_or(0) == 0) {
    answer.value = 1;
    answer.answer = "Nothing is communicated, so any batch will do.";
    return answer;
  }
  const std::int64_t micro_batches = micro_batches_of(search);
  JobFigures at;
  const std::int64_t batch = smallest_batch(search, micro_batches, at);
  if (batch == 0) {
    answer.answer = fmt::format("No batch up to {} samples makes compute as long as communication.",
                                kLargestBatch);
    return answer;
  }
  answer.value = batch * micro_batches;
  answer.answer = fmt::format(
      "From {} samples a replica on, compute hides communication: t1 = {} ms, t2 = {} ms, step {} "
      "ms{}.",
      batch * micro_batches, fmt::format("{:.2f}", at.t1_s * 1e3),
      fmt::format("{:.2f}", *at.t2_s * 1e3), fmt::format("{:.2f}", at.step_s * 1e3),
      at.fits ? "" : fmt::format("; but it does not fit ({})", memory_text(at)));
  return answer;
}

Answer devices_where_scaling_stops(JobSearch& search) {
  constexpr double kPays = 1.1;  // a doubling that brings less does not
  const bool is_strong =
      !search.job().training.local_batch_size && search.job().training.global_batch_size;
  Answer answer{
      "devices_where_scaling_stops",
      "",
      nullptr,
      "devices",
      {fmt::format("doubling the devices pays while it brings at least {:.0f} % more samples/s",
                   100 * (kPays - 1)),
       is_strong ? "the global batch stays the same" : "the batch of a replica stays the same"}};
  const std::size_t here = search.topology().compute_devices().size();
  std::size_t count = 1;
  auto last = with_devices(search, 1);
  while (!last && 2 * count <= here) {  // too large for few devices
    count *= 2;
    last = with_devices(search, count);
  }
  while (last && 2 * count <= 8 * here) {
    const auto next = with_devices(search, 2 * count);
    if (!next) {
      break;
    }
    if (next->samples_per_s < kPays * last->samples_per_s) {
      answer.value = count;
      answer.answer =
          fmt::format("Scaling stops at {} devices ({:.0f} samples/s): {} give {:.0f}. More: {}.",
                      count, last->samples_per_s, 2 * count, next->samples_per_s,
                      largest_difference(next->parts, last->parts));
      return answer;
    }
    count *= 2;
    last = next;
  }
  answer.answer =
      last ? fmt::format("It still scales at {} devices ({:.0f} samples/s), as far as was tried.",
                         count, last->samples_per_s)
           : fmt::format("Other numbers of devices cannot be tried: {}.", search.why());
  return answer;
}

std::optional<FittingChange> nearest_fitting_change(JobSearch& search) {
  const std::int64_t local_batch = search.base().local_batch;
  for (const Change change : kChanges) {
    Job job = search.job();
    const std::string typed = "--set " + change(job, local_batch);
    const auto figures = search.run(job);
    if (figures && figures->fits) {
      return FittingChange{typed, *figures};
    }
  }
  return std::nullopt;
}

Answer fits_memory(JobSearch& search) {
  const JobFigures& base = search.base();
  Answer answer{
      "fits_memory",
      "",
      base.fits,
      "",
      {"activations by liveness, without fragmentation and without the context of the driver"}};
  if (base.fits) {
    answer.answer = base.capacity_bytes > 0
                        ? fmt::format("It fits: the fullest device peaks at {}.", memory_text(base))
                        : "The topology does not say how much memory devices have.";
    return answer;
  }
  answer.answer =
      fmt::format("It does not fit: the fullest device would need {}.", memory_text(base));
  if (const auto change = nearest_fitting_change(search)) {
    answer.answer += fmt::format(
        " With {} it does ({}), and a step takes {:.2f} ms instead of {:.2f}.", change->change,
        memory_text(change->figures), change->figures.step_s * 1e3, base.step_s * 1e3);
  } else {
    answer.answer +=
        " None of recompute, smaller micro-batches, sharding, offload or one more stage makes it "
        "fit: it takes more devices, or such with more memory.";
  }
  return answer;
}

}  // namespace twinrun::cli
