#include "cli/calibrate_gpus.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/backend_run.h"
#include "cli/described_machine.h"
#include "cli/measure_gpus.h"
#include "cli/progress.h"
#include "cli/run_on_backend.h"
#include "cli/today.h"
#include "core/base/diagnostics.h"
#include "core/calibrate/gpu_topology.h"
#include "core/calibrate/topology_parameters.h"
#include "core/io/save_topology.h"
#include "core/io/source.h"
#include "core/topology/build_topology.h"
#include "exec/backend_missing.h"
#include "exec/discover/driver_gpus.h"
#include "exec/discover/read_sysfs.h"

namespace twinrun::cli {
namespace {

const exec::BackendRow& gpus_that_are_there() {
  const exec::BackendRow& row = backend_named("cuda");
  if (const std::string why = row.why_missing(); !why.empty()) {
    throw exec::BackendMissing(why);
  }
  return row;
}

exec::Machine machine_with_gpus() {
  exec::Machine machine = exec::read_sysfs(exec::SystemFiles(""));
  exec::ask_driver(machine);
  if (machine.gpus.empty()) {
    throw CannotRun("the driver has GPUs to compute with, but does not say which they are");
  }
  return machine;
}

GpusToMeasure gpus_to_measure(const exec::Machine& machine, int count, bool quick) {
  GpusToMeasure what = quick ? little_of_gpus() : all_of_gpus();
  const exec::DriverGpu& first = machine.gpus.front();
  what.count = count;
  what.formats = formats_of_gpu(first.sm);
  what.source =
      fmt::format("measured {} by twinrun calibrate --backend cuda on {}", today(), first.name);
  return what;
}

void check_it_builds(const TopologySpec& spec) {
  Diagnostics diagnostics;
  build_topology(spec, diagnostics);
  diagnostics.throw_if_errors();
}

void add_products(Table& table, const MeasuredGpus& found) {
  for (std::size_t i = 0; i < kDtypeNames.size(); ++i) {
    const double rate = best_product_rate(found.compute, static_cast<Dtype>(i));
    if (rate > 0) {
      table.rows.push_back({fmt::format("fastest product, {}", kDtypeNames[i]),
                            to_text(FlopRate{rate}), found.compute.spread_pct,
                            "training, one GPU"});
    }
  }
  const StreamingPoint* largest = nullptr;
  for (const StreamingPoint& point : found.compute.streaming) {
    if (point.kind == "copy" && (largest == nullptr || point.bytes > largest->bytes)) {
      largest = &point;
    }
  }
  if (largest != nullptr) {
    table.rows.push_back({fmt::format("copy of {} MiB", largest->bytes / (1 << 20)),
                          to_text(largest->rate), Cell(), "read and written, one GPU"});
  }
  table.rows.push_back(
      {"launch", to_text(found.compute.op_overhead), Cell(), "an op that moves next to nothing"});
}

void add_links(Table& table, const MeasuredGpus& found) {
  for (const FittedParameter& one : found.fit.parameters) {
    if (one.is_used) {
      table.rows.push_back(
          {one.parameter.name,
           fmt::format("{:.3g} {}", value_of(found.topology, one.parameter), one.parameter.unit),
           found.traffic_spread_pct,
           fmt::format("before: {:.4g}{}", one.before,
                       one.is_determined ? "" : "; only together with others")});
    }
  }
}

double share_taken_by_sums(const MeasuredGpus& found) {
  return found.slowdown > 1 ? 1 - 1 / found.slowdown : 0;
}

Table table_of_gpus(const MeasuredGpus& found) {
  Table table;
  table.columns = {{"what"},
                   {"value", "", Align::kRight},
                   {"spread_pct", "spread %", Align::kRight, 1},
                   {"how"}};
  add_products(table, found);
  add_links(table, found);
  if (found.slowdown > 0) {
    table.rows.push_back(
        {"compute beside sums", fmt::format("x {:.2f}", found.slowdown), Cell(),
         fmt::format("simulate with --sm-share {:.2f}", share_taken_by_sums(found))});
  }
  return table;
}

nlohmann::ordered_json traffic_json(const MeasuredGpus& found) {
  auto json = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < found.traffic.size(); ++i) {
    json.push_back({{"what", found.traffic[i].what},
                    {"measured_s", found.traffic[i].seconds},
                    {"simulated_s", found.predicted_s[i]}});
  }
  return json;
}

std::string text_of_gpus(const MeasuredGpus& found,
                         const std::string& source,
                         const std::string& out,
                         double took_s) {
  std::string text;
  for (const std::string& what : found.not_determined) {
    text += fmt::format("not determined: {}\n", what);
  }
  if (found.fit.held_out_rows > 0) {
    text += fmt::format(
        "{} messages, copies and large sums that the links were not fitted to: error before {:.1f} "
        "%, after {:.1f} % (worst {:.1f} %)\n",
        found.fit.held_out_rows, found.fit.held_out_before.median_pct,
        found.fit.held_out_after.median_pct, found.fit.held_out_after.worst_pct);
  }
  return text +
         fmt::format("{}\n{} in {:.0f} s; simulate with --topology {}\n", source, out, took_s, out);
}

}  // namespace

Output calibrate_gpus(Context& context, const MachineArguments& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const exec::BackendRow& backend = gpus_that_are_there();
  const exec::Machine machine = machine_with_gpus();
  Diagnostics diagnostics;
  const DescribedMachine described = describe_machine(context, machine, {}, diagnostics);
  context.report(diagnostics);
  const GpusToMeasure what = gpus_to_measure(machine, backend.device_count(), arguments.quick);
  Progress progress(context, "measuring the GPUs of this machine");
  const MeasuredGpus found =
      measure_gpus(run_on("cuda"), described.spec, what,
                   [&](std::string_view now, std::size_t done, std::size_t of) {
                     progress.update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(of),
                                     std::string(now));
                   });
  check_it_builds(found.topology);
  write_file(arguments.out, save_topology(found.topology), arguments.force);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Output output;
  Table table = table_of_gpus(found);
  output.json = {{"topology", arguments.out},
                 {"source", what.source},
                 {"gpus", what.count},
                 {"took_s", took.count()},
                 {"found", to_json(table)},
                 {"traffic", traffic_json(found)},
                 {"not_determined", found.not_determined}};
  if (found.slowdown > 0) {
    output.json["slowdown_beside_sums"] = found.slowdown;
    output.json["sm_share"] = share_taken_by_sums(found);
  }
  output.text = text_of_gpus(found, what.source, arguments.out, took.count());
  output.tables.push_back(std::move(table));
  return output;
}

}  // namespace twinrun::cli
