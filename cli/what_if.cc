#include "cli/what_if.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/job_search.h"
#include "cli/simulated_run.h"
#include "core/io/save_job.h"
#include "core/strategy/strategies.h"

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostOps = 3e6;  // of a variant: about two seconds
constexpr std::size_t kTimelineBytes = 1'200'000;

// Powers of two up to `most`, and `here`.
template <class Number>
std::vector<Number> doublings(Number first, Number here, Number most) {
  std::set<Number> out = {here};
  for (Number at = first; at <= most; at *= 2) {
    out.insert(at);
  }
  return {out.begin(), out.end()};
}

template <class Value>
void check_one_of(const char* what, const Value& value, const std::vector<Value>& values) {
  if (std::find(values.begin(), values.end(), value) == values.end()) {
    throw CannotRun(fmt::format("{} {} is none of {}", what, value, fmt::join(values, ", ")));
  }
}

std::string strategy_of(const RunFolder& run) {
  return run.result.value("layout", Json::object()).value("strategy", "ddp");
}

}  // namespace

WhatIfRunner::WhatIfRunner(const RunFolder& run) : run_(run) {
  JobSearch search(*run.job);
  const JobFigures& base = search.base();
  const Training& training = run.job->job.training;
  micro_batches_ = training.micro_batch_size && *training.micro_batch_size > 0
                       ? std::max<std::int64_t>(1, base.local_batch / *training.micro_batch_size)
                       : training.gradient_accumulation.value_or(1);
  given_ = {base.local_batch, base.devices, 1, strategy_of(run)};
  batches_ = doublings<std::int64_t>(micro_batches_, base.local_batch,
                                     std::max<std::int64_t>(16 * base.local_batch, 64));
  const std::size_t available = search.topology().compute_devices().size();
  const double ops_a_device = static_cast<double>(run.plan.size()) /
                              static_cast<double>(std::max<std::size_t>(1, base.devices));
  const bool can_grow = run.job->topology.nodes.size() == 1;
  for (const std::size_t count :
       doublings<std::size_t>(1, base.devices, can_grow ? 8 * available : available)) {
    const bool is_made_of_machines = count <= available || count % available == 0;
    const bool is_quick = static_cast<double>(count) * ops_a_device <= kMostOps;
    if (count == base.devices || (is_made_of_machines && is_quick)) {
      device_counts_.push_back(count);
    }
  }
  for (int doubling = -6; doubling <= 6; ++doubling) {
    factors_.push_back(std::ldexp(1.0, doubling));
  }
  for (const Strategy& strategy : all_strategies()) {
    strategies_.emplace_back(strategy.name);
  }
  network_gbps_ = to_gigabytes_per_second(network_rate(search.topology()));
  is_cluster_ = search.topology().node_count() > 1;
}

void WhatIfRunner::check(const WhatIf& settings) const {
  check_one_of("batch", settings.batch, batches_);
  check_one_of("devices", settings.devices, device_counts_);
  check_one_of("bandwidth", settings.bandwidth, factors_);
  check_one_of("strategy", settings.strategy, strategies_);
}

Json WhatIfRunner::controls(const WhatIf& settings) const {
  return {{"batch", {{"values", batches_}, {"now", settings.batch}}},
          {"devices", {{"values", device_counts_}, {"now", settings.devices}}},
          {"bandwidth",
           {{"values", factors_},
            {"now", settings.bandwidth},
            {"gigabytes_per_s", network_gbps_},
            {"what", is_cluster_ ? "Bandwidth scales every NIC and switch port together."
                                 : "Bandwidth scales every link of the machine together; the "
                                   "fastest is named."}}},
          {"strategy", {{"values", strategies_}, {"now", settings.strategy}}}};
}

std::string WhatIfRunner::job_text(const WhatIf& settings) const {
  check(settings);
  LoadedJob loaded = *run_.job;
  if (settings.strategy != given_.strategy) {
    loaded.job = with_strategy(loaded.job, settings.strategy, 0);
    loaded.job.training.global_batch_size.reset();
    loaded.job.training.local_batch_size = settings.batch;
  } else if (settings.batch != given_.batch || settings.devices != given_.devices) {
    loaded.job = with_local_batch(loaded.job, micro_batches_, settings.batch / micro_batches_);
  }
  if (settings.devices != given_.devices) {
    loaded.job.parallelism.data_parallel_replicate_degree.reset();
    const std::size_t available = run_.topology.compute_devices().size();
    const bool is_more = settings.devices > available;
    loaded.job.mapping.ranks = is_more ? "all" : std::to_string(settings.devices);
    if (is_more) {
      loaded.topology.nodes.front().count *=
          static_cast<std::int64_t>(settings.devices / available);
      loaded.topology_is_named = false;
    }
  }
  if (settings.bandwidth != 1) {
    loaded.topology = with_scaled_network(std::move(loaded.topology), settings.bandwidth);
    loaded.topology_is_named = false;
  }
  return save_job(loaded);
}

Json WhatIfRunner::page(const WhatIf& settings, const std::function<bool()>& is_wanted) const {
  const std::string text = job_text(settings);
  GlobalOptions quiet;
  quiet.quiet = true;
  Context context(quiet);
  RunArguments arguments;
  arguments.checks_waiting = false;
  const RunInput input = read_run_input(context, Source::of_text("job.json", text), arguments);
  sim::SimulationOptions options;
  options.progress = [&](std::uint64_t, std::uint64_t) {
    if (!is_wanted()) {
      throw Unwanted();
    }
  };
  const SimulatedRun run(input, options);
  report::PageContent content;
  content.runs.push_back(
      {"what if", run.result, text, &input.plan, &input.topology, &run.simulation.trace});
  content.controls = controls(settings);
  return report::page_data(content, kTimelineBytes);
}

}  // namespace twinrun::cli
