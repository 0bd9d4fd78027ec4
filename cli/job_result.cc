#include "cli/job_result.h"

#include "cli/running_cost.h"
#include "core/model/model.h"

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

// The strategy by its own name, also when the job leaves it to us.
std::string_view strategy_name(const RunInput::FromJob& job) {
  const std::string& asked = job.loaded.job.parallelism.strategy;
  const Strategy* const strategy = find_strategy(!asked.empty()           ? asked
                                                 : job.layout.ranks() > 1 ? "ddp"
                                                                          : "single");
  return strategy == nullptr ? std::string_view(asked) : strategy->name;
}

Json layout_json(const RunInput::FromJob& job) {
  const Layout& layout = job.layout;
  return {{"strategy", strategy_name(job)},
          {"model", job.loaded.job.model_name},
          {"dtype", name_of(job.loaded.job.training.dtype)},
          {"replicas", layout.replicas},
          {"shards", layout.shards},
          {"zero_stage", layout.zero_stage},
          {"stages", layout.stages},
          {"virtual_stages", layout.virtual_stages},
          {"tensor", layout.tensor},
          {"local_batch_size", layout.local_batch},
          {"global_batch_size", layout.global_batch},
          {"micro_batch_size", layout.micro_batch},
          {"micro_batches", layout.micro_batches}};
}

// Dense peak of all devices in the training's format; 0 when one does not know its own.
double peak_flop_per_s(const RunInput& input) {
  const auto dtype = static_cast<std::size_t>(input.job->loaded.job.training.dtype);
  double sum = 0;
  for (const VertexId vertex : input.job->layout.devices) {
    const DeviceSpec* const device = input.topology.device(vertex);
    if (device == nullptr || device->peak[dtype].flop_per_s <= 0) {
      return 0;
    }
    sum += device->peak[dtype].flop_per_s;
  }
  return sum;
}

// Backward has twice the FLOPs of forward; recomputed ones do not count.
double model_flop_per_step(const RunInput::FromJob& job) {
  return 3 * static_cast<double>(totals_of(job.loaded.model.layers).forward_flops) *
         static_cast<double>(job.layout.global_batch);
}

void add_cost(Json& json, const RunInput& input) {
  const RunningCost cost = running_cost(input.topology, input.job->layout.devices);
  const bool has_epoch = !json["epoch_s"].is_null();
  const double epoch_s = has_epoch ? json["epoch_s"].get<double>() : 0;
  if (cost.price_per_hour && has_epoch) {
    json["cost_per_epoch"] = *cost.price_per_hour * epoch_s / 3600;
  }
  if (cost.watts) {
    json["energy_J"] = *cost.watts * json["makespan_s"].get<double>();
  }
  json["energy_per_epoch_J"] =
      cost.watts && has_epoch ? Json(*cost.watts * epoch_s) : Json(nullptr);
}

}  // namespace

void add_job_keys(Json& json,
                  const RunInput& input,
                  std::optional<double> one_device_samples_per_s) {
  const RunInput::FromJob& job = *input.job;
  const auto devices = static_cast<double>(job.layout.ranks());
  json["devices"] = job.layout.ranks();
  json["layout"] = layout_json(job);
  const double step_s = json["step_s"].get<double>();
  if (step_s > 0) {
    const double samples_per_s = static_cast<double>(job.layout.global_batch) / step_s;
    json["samples_per_s"] = samples_per_s;
    if (const std::int64_t samples = job.loaded.job.training.dataset_samples; samples > 0) {
      json["epoch_s"] = static_cast<double>(samples) / samples_per_s;
    }
    const std::optional<double> alone =
        job.layout.ranks() == 1 ? samples_per_s : one_device_samples_per_s;
    if (alone) {
      json["speedup_vs_one_device"] = samples_per_s / *alone;
      json["scaling_efficiency_pct"] = 100 * samples_per_s / *alone / devices;
    }
    const double flop_per_s = model_flop_per_step(job) / step_s;
    json["tflops_per_device"] = flop_per_s / devices / 1e12;
    if (const double peak = peak_flop_per_s(input); peak > 0) {
      json["mfu_pct"] = 100 * flop_per_s / peak;
    }
  }
  add_cost(json, input);
}

}  // namespace twinrun::cli
