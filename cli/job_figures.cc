#include "cli/job_figures.h"

#include <algorithm>

#include "core/trace/run_figures.h"
#include "core/trace/staleness.h"
#include "core/trace/steps.h"
#include "core/trace/trace_index.h"

namespace twinrun::cli {
namespace {

void set_memory(const Plan& plan,
                const Topology& topology,
                const std::vector<sim::MemoryPeak>& peaks,
                JobFigures& figures) {
  double fullest = -1;
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    const auto vertex = topology.find(plan.device_name(id_at<DeviceId>(i)));
    const DeviceSpec* const spec = vertex ? topology.device(*vertex) : nullptr;
    const std::int64_t capacity = spec == nullptr ? 0 : spec->memory.count;
    const std::int64_t peak = peaks[i].peak.count;
    figures.fits = figures.fits && (capacity == 0 || peak <= capacity);
    const double share =
        capacity > 0 ? static_cast<double>(peak) / static_cast<double>(capacity) : 0;
    if (share > fullest) {
      fullest = share;
      figures.peak_bytes = peak;
      figures.capacity_bytes = capacity;
    }
  }
}

void set_communication_alone(const CompiledJob& compiled,
                             const Topology& topology,
                             JobFigures& figures) {
  sim::SimulationOptions options;
  options.compute_scale = 0;
  const sim::Simulation alone = sim::simulate(compiled.plan, topology, options);
  const Time begin = StepEnds(compiled.plan, alone.trace).before(compiled.warmup_steps);
  figures.t2_s = to_seconds(alone.trace.makespan - begin) /
                 static_cast<double>(compiled.steps - compiled.warmup_steps);
  const auto busiest =
      std::max_element(alone.trace.links.begin(), alone.trace.links.end(),
                       [](const LinkUse& a, const LinkUse& b) { return a.busy_pct < b.busy_pct; });
  if (busiest != alone.trace.links.end() && busiest->bytes > 0) {
    figures.busiest_link = *busiest;
  }
}

}  // namespace

std::optional<JobFigures> job_figures(const Job& job,
                                      const Model& model,
                                      const Topology& topology,
                                      const FigureOptions& options,
                                      Diagnostics& diagnostics) {
  const auto compiled = compile(job, model, topology, {.steps = options.steps}, diagnostics);
  if (!compiled) {
    return std::nullopt;
  }
  const sim::Simulation run = sim::simulate(compiled->plan, topology);
  JobFigures figures;
  figures.devices = compiled->layout.ranks();
  figures.local_batch = compiled->layout.local_batch;
  figures.global_batch = compiled->layout.global_batch;
  const TraceIndex index(compiled->plan, run.trace);
  figures.parts = breakdown(index, compiled->warmup_steps);
  figures.step_s = to_seconds(figures.parts.step);
  figures.exposed_s = to_seconds(figures.parts.exposed_communication);
  figures.samples_per_s =
      figures.step_s > 0 ? static_cast<double>(figures.global_batch) / figures.step_s : 0;
  const CountedSteps steps = counted_steps({compiled->plan, run.trace, compiled->warmup_steps});
  figures.t1_s = run_figures(index, steps, compiled->warmup_steps).t1_s;
  set_memory(compiled->plan, topology, run.memory, figures);
  if (index.has_independent_workers) {
    figures.staleness_mean =
        server_staleness(compiled->plan, run.trace, compiled->warmup_steps).mean;
  }
  if (options.communication_alone) {
    set_communication_alone(*compiled, topology, figures);
  }
  return figures;
}

}  // namespace twinrun::cli
