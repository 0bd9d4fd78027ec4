#include "cli/collective.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/collective_sizes.h"
#include "cli/rank_list.h"
#include "cli/topology_input.h"
#include "cli/verb.h"
#include "core/io/algorithm_words.h"
#include "core/plan/collective_calls.h"

namespace twinrun::cli {
namespace {

Plan plan_of(const CollectivePlace& place,
             const CollectiveChoice& choice,
             const std::string& algorithm,
             std::uint32_t root,
             Bytes bytes) {
  std::vector<std::string> devices;
  devices.reserve(place.ranks.size());
  for (const VertexId rank : place.ranks) {
    devices.push_back(place.topology.name(rank));
  }
  CollectiveCall call;
  call.bytes = bytes;
  if (!choice.is_send_recv()) {
    call.kind = choice.kind();
  }
  return plan_of_calls(devices, {&call, 1}, {algorithm, choice.dtype, root});
}

std::string busiest_link(const Trace& trace) {
  const auto busiest =
      std::max_element(trace.links.begin(), trace.links.end(),
                       [](const LinkUse& a, const LinkUse& b) { return a.busy_pct < b.busy_pct; });
  return busiest == trace.links.end() || busiest->bytes == 0 ? "" : busiest->link;
}

Table size_table(const std::vector<SimulatedSize>& rows,
                 const CollectiveChoice& choice,
                 std::size_t ranks) {
  const std::int64_t element = stored_bytes(choice.dtype);
  const double factor = choice.is_send_recv() ? 1 : bus_factor(choice.kind(), ranks);
  Table table;
  table.columns = {{"bytes", "size B", Align::kRight},
                   {"count", "", Align::kRight},
                   {"type"},
                   {"time_s", "time us", Align::kRight},
                   {"algbw_GBps", "algbw GB/s", Align::kRight},
                   {"busbw_GBps", "busbw GB/s", Align::kRight},
                   {"algorithm"},
                   {"protocol"},
                   {"bottleneck"}};
  for (const SimulatedSize& row : rows) {
    const double seconds = to_seconds(row.time);
    const auto bytes = static_cast<double>(row.bytes.count);
    const auto text = [](const std::string& word) { return word.empty() ? Cell() : Cell(word); };
    table.rows.push_back({row.bytes.count, row.bytes.count / element, name_of(choice.dtype),
                          Cell(seconds, fmt::format("{:.2f}", seconds * 1e6)),
                          rate_cell(bytes, seconds), rate_cell(bytes * factor, seconds),
                          text(row.algorithm), text(row.protocol), text(row.bottleneck)});
  }
  return table;
}

Bytes size_argument(const char* flag, const std::string& text) {
  const std::optional<Bytes> size = parse_size(text);
  if (!size) {
    throw UsageError(fmt::format("{} {}: not a size", flag, text),
                     "write 8, 64K, 128M, 8G (powers of 1024), 25MB or 1GiB");
  }
  return *size;
}

std::vector<Bytes> sizes_of(const CollectiveOptions& options) {
  const Bytes begin = size_argument("-b", options.begin);
  const Bytes end = options.end.empty() ? begin : size_argument("-e", options.end);
  if (end < begin) {
    throw UsageError(fmt::format("-e {} is less than -b {}", options.end, options.begin));
  }
  return size_series(begin, end, options.factor);
}

CollectiveChoice check_options(const CollectiveOptions& options) {
  CollectiveChoice choice;
  choice.collective = check_word("collective", options.collective, kCollectiveWords);
  choice.fidelity =
      static_cast<sim::Fidelity>(check_word("fidelity", options.fidelity, sim::kFidelityWords));
  choice.dtype = static_cast<Dtype>(check_word("type", options.dtype, kDtypeNames));
  if (!is_algorithm_word(options.algorithm)) {
    check_word("algorithm", options.algorithm, algorithm_words());
  }
  choice.sizes = sizes_of(options);
  return choice;
}

Output simulate_collective(Context& context,
                           const CollectiveOptions& options,
                           const CollectiveChoice& choice) {
  if (options.topology.empty()) {
    throw UsageError("--topology is required", "--topology dgx-a100, or --backend cpu to measure");
  }
  const CollectivePlace place = find_place(context, options);
  std::vector<SimulatedSize> rows;
  for (const Bytes bytes : choice.sizes) {
    rows.push_back(simulate_size(place, choice, options.algorithm, options.root, bytes));
  }
  Output output;
  output.rows_key = "rows";
  output.json["collective"] = options.collective;
  output.json["topology"] = place.topology.name();
  output.json["ranks"] = place.ranks.size();
  output.json["fidelity"] = rows.back().why;
  output.text =
      fmt::format("# {} over {} ranks of {} · type {} · algorithm {} · {}\n", options.collective,
                  place.ranks.size(), place.topology.name(), options.dtype, options.algorithm,
                  rows.back().why.empty() ? "nothing to send" : rows.back().why);
  output.tables.push_back(size_table(rows, choice, place.ranks.size()));
  output.json["rows"] = to_json(output.tables.front());
  return output;
}

Output run_collective(Context& context, const CollectiveOptions& options) {
  const CollectiveChoice choice = check_options(options);
  return options.backend == "sim" ? simulate_collective(context, options, choice)
                                  : measure_collective(context, options, choice);
}

}  // namespace

Cell rate_cell(double bytes, double seconds) {
  return seconds > 0 && bytes > 0
             ? Cell(bytes / seconds / 1e9, fmt::format("{:.2f}", bytes / seconds / 1e9))
             : Cell();
}

CollectivePlace find_place(Context& context, const CollectiveOptions& options) {
  CollectivePlace place{load_topology(context, options.topology), {}, {}};
  place.ranks = rank_list(place.topology, options.ranks);
  if (options.root >= place.ranks.size()) {
    throw UsageError(
        fmt::format("--root {}: the ranks are 0 to {}", options.root, place.ranks.size() - 1));
  }
  if (!options.servers.empty()) {
    place.servers = rank_list(place.topology, options.servers);
  }
  return place;
}

SimulatedSize simulate_size(const CollectivePlace& place,
                            const CollectiveChoice& choice,
                            const std::string& algorithm,
                            std::uint32_t root,
                            Bytes bytes) {
  const Plan plan = plan_of(place, choice, algorithm, root, bytes);
  sim::SimulationOptions simulation;
  simulation.fidelity = choice.fidelity;
  simulation.servers = place.servers;
  const sim::Simulation run = sim::simulate(plan, place.topology, simulation);
  SimulatedSize row;
  row.bytes = bytes;
  row.time = run.trace.makespan;
  if (!run.trace.collectives.empty()) {
    row.algorithm = run.trace.collectives.front().algorithm;
    row.protocol = run.trace.collectives.front().protocol;
    row.bottleneck = run.trace.collectives.front().bottleneck;
  }
  if (row.bottleneck.empty()) {
    row.bottleneck = busiest_link(run.trace);
  }
  row.why = run.fidelity.empty() ? "" : run.fidelity;
  if (!run.why.empty()) {
    row.why += ": " + run.why;
  }
  return row;
}

Run add_collective(CLI::App& app) {
  const auto options = std::make_shared<CollectiveOptions>();
  app.add_option("collective", options->collective, "what to time")
      ->required()
      ->type_name("all_reduce|reduce_scatter|all_gather|broadcast|reduce|all_to_all|send_recv");
  app.add_option("--topology", options->topology,
                 "a name, a file or an expression; left out, a backend takes the cores or GPUs of "
                 "this machine")
      ->type_name("TOPOLOGY");
  app.add_option("--ranks", options->ranks,
                 "all, the first so many, or names: node0/gpu0,node1/gpu0")
      ->type_name("RANKS");
  app.add_option("-b,--begin", options->begin, "smallest size, such as 8, 64K, 1G (powers of 1024)")
      ->type_name("BYTES");
  app.add_option("-e,--end", options->end, "largest size; the smallest when left out")
      ->type_name("BYTES");
  app.add_option("-f,--factor", options->factor, "from each size to the next")
      ->check(CLI::Range(1.0, 1e6))
      ->type_name("FACTOR");
  app.add_option("--algorithm", options->algorithm, "auto, or a name: ring, tree, ps, …")
      ->type_name("ALGORITHM");
  app.add_option("--fidelity", options->fidelity,
                 "every message (stepwise), one transfer (pipelined), NCCL's model (nccl)")
      ->type_name("auto|stepwise|pipelined|nccl");
  app.add_option("--type", options->dtype, "of the elements")
      ->type_name("fp32|fp16|bf16|fp64|int8");
  app.add_option("--root", options->root, "rank that broadcasts or reduces")->type_name("RANK");
  app.add_option("--servers", options->servers,
                 "devices of their own for a parameter server: names, as for --ranks")
      ->type_name("RANKS");
  app.add_option("--backend", options->backend,
                 "simulate it, or measure it: by threads, processes of MPI, GPUs")
      ->type_name("sim|cpu|mpi|cuda");
  app.add_option("-n,--iterations", options->iterations, "of each size that are measured")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  app.add_option("-w,--warmup", options->warmups, "of each size before those")
      ->check(CLI::Range(0, 1'000'000))
      ->type_name("N");
  app.add_option("--timeout", options->timeout_s, "seconds without a measured collective ending")
      ->check(CLI::Range(0.01, 1e6))
      ->type_name("S");
  return [options](Context& context) { return run_collective(context, *options); };
}

}  // namespace twinrun::cli
