#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/backend_run.h"
#include "cli/collective.h"
#include "cli/comma_list.h"
#include "cli/progress.h"
#include "cli/repeated_command.h"
#include "core/plan/repeated_calls.h"
#include "exec/backends.h"

namespace twinrun::cli {
namespace {

// Threads start beside each other on one core, and it takes the system some milliseconds to move
// them apart: as long as these take.
constexpr std::int64_t kSettlingCalls = 500;

struct MeasuredSize {
  Bytes bytes{};
  std::string algorithm;
  std::vector<Time> times;  // sorted
  std::optional<SimulatedSize> simulated;

  [[nodiscard]] double mean_s() const {
    const auto add = [](double sum, Time time) { return sum + to_seconds(time); };
    return std::accumulate(times.begin(), times.end(), 0.0, add) /
           static_cast<double>(times.size());
  }
};

// What the backend has on this machine, or as many devices as ranks are asked for.
std::string topology_of_this_machine(const std::string& ranks, const exec::BackendRow& backend) {
  const std::int64_t devices = whole_number(ranks) ? *whole_number(ranks) : backend.device_count();
  return fmt::format("cpu:devices={}", std::max<std::int64_t>(1, devices));
}

// Whole elements and, of collectives whose array the ranks divide, as many for each: as nccl-tests
// does.
Bytes rounded(Bytes bytes, const CollectiveChoice& choice, std::size_t ranks) {
  const bool is_divided =
      !choice.is_send_recv() &&
      (choice.kind() == CollectiveKind::kAllGather || choice.kind() == CollectiveKind::kAllToAll ||
       choice.kind() == CollectiveKind::kReduceScatter);
  const std::int64_t unit =
      stored_bytes(choice.dtype) * (is_divided ? static_cast<std::int64_t>(ranks) : 1);
  return {bytes.count / unit * unit};
}

RepeatedCallPlan plan_of_measurement(const CollectiveOptions& options,
                                     const CollectiveChoice& choice,
                                     const CollectivePlace& place) {
  RepeatedCall call;
  if (!choice.is_send_recv()) {
    call.kind = choice.kind();
  } else if (place.ranks.size() < 2) {
    throw UsageError("send_recv takes two ranks", "--ranks 2");
  }
  for (const Bytes bytes : choice.sizes) {
    call.sizes.push_back(rounded(bytes, choice, place.ranks.size()));
  }
  call.settling = kSettlingCalls;
  call.times = options.warmups + options.iterations;
  call.algorithm = options.algorithm;
  call.dtype = choice.dtype;
  call.root = options.root;
  std::vector<std::string> devices;
  for (const VertexId rank : place.ranks) {
    devices.push_back(place.topology.name(rank));
  }
  return repeat_calls(devices, call);
}

exec::Execution execute_calls(Context& context,
                              const CollectiveOptions& options,
                              const Plan& plan,
                              const RepeatedCommand& command) {
  Progress progress(context, "measuring " + options.collective);
  exec::ExecuteOptions run;
  run.checks_exchanges = true;
  run.command = command.words();
  run.run.timeout_s = options.timeout_s;
  run.run.interrupted = InterruptGuard::flag();
  run.run.progress = [&](std::size_t done, std::size_t of) {
    progress.update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(of));
  };
  const InterruptGuard guard;
  return backend_named(options.backend).execute(plan, run);
}

// From when the last rank was ready until the last one was done; nothing when one was not.
std::optional<Time> time_of(const Trace& trace, const std::vector<OpId>& ops) {
  Time ready{};
  Time end{};
  for (const OpId op : ops) {
    const OpTimes& times = trace.ops[index_of(op)];
    if (times.end < times.start) {
      return std::nullopt;
    }
    ready = std::max(ready, times.ready);
    end = std::max(end, times.end);
  }
  return std::max(end - ready, Time{});
}

std::string algorithm_of(const Plan& plan, const Trace& trace, OpId op) {
  return plan.kind(op) == OpKind::kCollective
             ? trace.collectives[index_of(plan.collective(op).instance)].algorithm
             : "";
}

// Sizes of which all repetitions are done.
std::vector<MeasuredSize> measured_sizes(const RepeatedCallPlan& repeated,
                                         const Trace& trace,
                                         const CollectiveOptions& options) {
  std::vector<MeasuredSize> out;
  for (const std::vector<std::vector<OpId>>& of_size : repeated.ops) {
    const OpId first = of_size.front().front();
    const Plan& plan = repeated.plan;
    MeasuredSize size;
    size.bytes = plan.kind(first) == OpKind::kCollective ? plan.collective(first).bytes
                                                         : plan.message(first).bytes;
    size.algorithm = algorithm_of(plan, trace, first);
    for (std::size_t i = 0; i < of_size.size(); ++i) {
      const std::optional<Time> time = time_of(trace, of_size[i]);
      if (time && i >= static_cast<std::size_t>(options.warmups)) {
        size.times.push_back(*time);
      }
    }
    if (size.times.size() == static_cast<std::size_t>(options.iterations)) {
      std::sort(size.times.begin(), size.times.end());
      out.push_back(std::move(size));
    }
  }
  return out;
}

// What the simulator says of the same algorithm; of one that it does not have, of its own choice.
void simulate_beside(const CollectiveOptions& options,
                     const CollectiveChoice& choice,
                     const CollectivePlace& place,
                     std::vector<MeasuredSize>& sizes) {
  for (MeasuredSize& size : sizes) {
    const bool is_known =
        options.algorithm != "mpi" && size.algorithm != "nccl" && !size.algorithm.empty();
    size.simulated =
        simulate_size(place, choice, is_known ? size.algorithm : "auto", options.root, size.bytes);
  }
}

std::vector<Cell> row_of_size(const MeasuredSize& size,
                              const CollectiveChoice& choice,
                              std::size_t ranks) {
  const double mean = size.mean_s();
  const auto bytes = static_cast<double>(size.bytes.count);
  const double factor = choice.is_send_recv() ? 1 : bus_factor(choice.kind(), ranks);
  const auto time = [](double seconds) {
    return Cell(seconds, fmt::format("{:.2f}", seconds * 1e6));
  };
  const double simulated = size.simulated ? to_seconds(size.simulated->time) : 0;
  const double error_pct = mean > 0 ? 100 * (simulated - mean) / mean : 0;
  return {size.bytes.count,
          size.bytes.count / stored_bytes(choice.dtype),
          name_of(choice.dtype),
          time(mean),
          time(to_seconds(size.times.front())),
          time(to_seconds(size.times[size.times.size() / 2])),
          time(to_seconds(size.times.back())),
          rate_cell(bytes, mean),
          rate_cell(bytes * factor, mean),
          size.algorithm.empty() ? Cell() : Cell(size.algorithm),
          Cell(),
          Cell(),
          size.simulated ? time(simulated) : Cell(),
          size.simulated ? Cell(error_pct, fmt::format("{:+.0f}", error_pct)) : Cell()};
}

Table table_of_sizes(const std::vector<MeasuredSize>& sizes,
                     const CollectiveChoice& choice,
                     std::size_t ranks) {
  const bool has_simulated = !sizes.empty() && sizes.front().simulated;
  Table table;
  table.columns = {{"bytes", "size B", Align::kRight},
                   {"count", "", Align::kRight},
                   {"type"},
                   {"time_s", "time us", Align::kRight},
                   {"time_min_s", "min", Align::kRight},
                   {"time_median_s", "median", Align::kRight},
                   {"time_max_s", "max", Align::kRight},
                   {"algbw_GBps", "algbw GB/s", Align::kRight},
                   {"busbw_GBps", "busbw GB/s", Align::kRight},
                   {"algorithm"},
                   {"protocol"},
                   {"bottleneck"},
                   {"simulated_s", "simulated us", Align::kRight},
                   {"error_pct", "error %", Align::kRight}};
  for (Column& column : table.columns) {
    const bool is_simulated = column.name == "simulated_s" || column.name == "error_pct";
    column.only_for_programs = column.name == "protocol" || column.name == "bottleneck" ||
                               (is_simulated && !has_simulated);
  }
  for (const MeasuredSize& size : sizes) {
    table.rows.push_back(row_of_size(size, choice, ranks));
  }
  return table;
}

std::string check_text(const exec::Execution& run) {
  if (!run.wrong_elements) {
    return "the results were not checked";
  }
  return fmt::format(
      "wrong {}: {}", *run.wrong_elements,
      *run.wrong_elements == 0 ? "every result was checked" : "results are NOT what they must be");
}

std::string header_of(const CollectiveOptions& options,
                      const CollectivePlace& place,
                      const exec::Execution& run) {
  std::string out = fmt::format(
      "# {} over {} ranks of {} · type {} · algorithm {} · measured on the {} backend\n"
      "# {} iterations a size after {} warm-ups, a barrier before each; times from the last rank "
      "ready to the last done: mean, least, median, most\n",
      options.collective, place.ranks.size(), place.topology.name(), options.dtype,
      options.algorithm, options.backend, options.iterations, options.warmups);
  if (run.processes > 1) {
    out += fmt::format("# {}\n", clocks_text(run));
  }
  return out + fmt::format("# {}\n", check_text(run));
}

void add_keys(const CollectiveOptions& options,
              const CollectivePlace& place,
              const exec::Execution& run,
              nlohmann::ordered_json& json) {
  json["collective"] = options.collective;
  json["topology"] = place.topology.name();
  json["ranks"] = place.ranks.size();
  json["backend"] = options.backend;
  json["iterations"] = options.iterations;
  json["warmups"] = options.warmups;
  json["processes"] = run.processes;
  json["transport"] = transport_json(run);
  json["clock_residual_s"] = run.clock_residual_s;
  json["wrong"] = nullptr;
  if (run.wrong_elements) {
    json["wrong"] = *run.wrong_elements;
  }
  json["warnings"] = run.warnings;
}

}  // namespace

Output measure_collective(Context& context,
                          const CollectiveOptions& options,
                          const CollectiveChoice& choice) {
  const RepeatedCommand command;  // before standard input is read
  const exec::BackendRow& backend = backend_named(options.backend);
  if (!options.servers.empty()) {
    throw UsageError("--servers have no part in what is measured",
                     "leave it out, or --backend sim");
  }
  CollectiveOptions where = options;
  if (where.topology.empty()) {
    where.topology = topology_of_this_machine(options.ranks, backend);
  }
  const CollectivePlace place = find_place(context, where);
  const RepeatedCallPlan repeated = plan_of_measurement(options, choice, place);
  const exec::Execution run = execute_calls(context, options, repeated.plan, command);
  end_if_told_elsewhere(run);
  std::vector<MeasuredSize> sizes = measured_sizes(repeated, run.outcome.trace, options);
  if (!options.topology.empty()) {
    simulate_beside(options, choice, place, sizes);
  }
  Output output;
  output.rows_key = "rows";
  output.text = header_of(options, place, run);
  output.tables.push_back(table_of_sizes(sizes, choice, place.ranks.size()));
  add_keys(options, place, run, output.json);
  output.json["rows"] = to_json(output.tables.front());
  output.exit_code = run.wrong_elements.value_or(0) > 0 ? kCheckFailed : kSuccess;
  if (run.outcome.failure) {
    output.json["failure"] = run.outcome.failure->message;
    output.text += fmt::format("# failed: {}\n", run.outcome.failure->message);
    output.exit_code = exit_code_of(run.outcome.failure->kind);
  }
  end_if_stuck(context, output, run);
  return output;
}

}  // namespace twinrun::cli
