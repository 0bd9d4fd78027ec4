#include "cli/calibrate_from.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/collective.h"
#include "cli/compare_input.h"
#include "cli/measured_rows.h"
#include "cli/today.h"
#include "cli/topology_input.h"
#include "cli/verb.h"
#include "core/base/diagnostics.h"
#include "core/calibrate/fit_topology.h"
#include "core/io/load_run_folder.h"
#include "core/io/save_topology.h"
#include "core/io/source.h"
#include "core/topology/build_topology.h"

namespace twinrun::cli {
namespace {

constexpr std::array<std::string_view, 4> kMeasuredFormats = {"run", "nccl-tests", "nvbandwidth",
                                                              "kineto"};
constexpr std::size_t kFewestRows = 5;  // then one of them is held out

struct MeasuredInputs {
  std::string format;
  std::vector<std::string> files;
};

// Folders of runs alone need no word before them.
MeasuredInputs inputs_of(const FromArguments& arguments) {
  MeasuredInputs inputs{arguments.from.front(), {arguments.from.begin() + 1, arguments.from.end()}};
  if (is_run_folder(inputs.format)) {
    return {"run", arguments.from};
  }
  check_word("format to calibrate from", inputs.format, kMeasuredFormats);
  if (inputs.files.empty()) {
    throw UsageError(fmt::format("--from {} needs a file", inputs.format),
                     "twinrun calibrate --from nccl-tests all_reduce.txt --topology dgx-a100 -o "
                     "calibrated.json");
  }
  return inputs;
}

TopologySpec topology_to_correct(Context& context,
                                 const FromArguments& arguments,
                                 const MeasuredInputs& inputs) {
  if (!arguments.topology.empty()) {
    return load_topology_and_spec(context, arguments.topology).spec;
  }
  if (inputs.format != "run") {
    throw UsageError("--topology is required: what is to be corrected", "--topology dgx-a100");
  }
  Diagnostics diagnostics;
  const auto run = load_run_folder(inputs.files.front(), diagnostics);
  diagnostics.throw_if_errors();
  return run->topology_spec;
}

Topology topology_of(const TopologySpec& spec) {
  Diagnostics diagnostics;
  Topology topology = build_topology(spec, diagnostics);
  diagnostics.throw_if_errors();
  return topology;
}

std::vector<MeasuredRow> nccl_rows(Context& context,
                                   const FromArguments& arguments,
                                   const std::string& file,
                                   const Topology& topology) {
  Diagnostics diagnostics;
  NcclTestsOutput output = read_nccl_tests(context.source(file), diagnostics);
  diagnostics.throw_if_errors();
  if (!arguments.collective.empty()) {
    output.collective = arguments.collective;
  }
  if (output.collective.empty()) {
    throw UsageError(fmt::format("{} does not say which collective it measured", file),
                     "--collective all_reduce");
  }
  check_word("collective", output.collective, kCollectiveWords);
  return rows_of_nccl_tests(output, topology);
}

std::vector<MeasuredRow> measured_in_file(Context& context,
                                          const FromArguments& arguments,
                                          const MeasuredInputs& inputs,
                                          const std::string& file,
                                          const Topology& topology) {
  if (inputs.format == "nccl-tests") {
    return nccl_rows(context, arguments, file, topology);
  }
  if (inputs.format == "nvbandwidth") {
    Diagnostics diagnostics;
    const NvbandwidthOutput output = read_nvbandwidth(context.source(file), diagnostics);
    diagnostics.throw_if_errors();
    return rows_of_nvbandwidth(output, topology);
  }
  return rows_of_run(read_compare_input(context, file, std::nullopt));
}

std::vector<MeasuredRow> measured_in_files(Context& context,
                                           const FromArguments& arguments,
                                           const MeasuredInputs& inputs,
                                           const Topology& topology) {
  std::vector<MeasuredRow> rows;
  for (const std::string& file : inputs.files) {
    std::vector<MeasuredRow> more = measured_in_file(context, arguments, inputs, file, topology);
    std::move(more.begin(), more.end(), std::back_inserter(rows));
  }
  if (rows.size() < kFewestRows) {
    throw CannotRun(
        fmt::format("{} measured times are too few: {} are needed, so that one can be held out",
                    rows.size(), kFewestRows));
  }
  return rows;
}

std::string source_text(const MeasuredInputs& inputs) {
  return fmt::format("calibrated {} by twinrun calibrate --from {}", today(), inputs.format);
}

std::string state_of(const FittedParameter& one) {
  return !one.is_used        ? "no row depends on it"
         : one.is_determined ? ""
                             : "not determined: only together with others";
}

Table parameter_table(const TopologyFit& fit) {
  Table table;
  table.columns = {{"parameter"},
                   {"before", "", Align::kRight},
                   {"after", "", Align::kRight},
                   {"unit"},
                   {"determined"}};
  for (const FittedParameter& one : fit.parameters) {
    if (one.is_used) {
      table.rows.push_back({one.parameter.name, Cell(one.before, fmt::format("{:.4g}", one.before)),
                            Cell(one.after, fmt::format("{:.4g}", one.after)), one.parameter.unit,
                            one.is_determined ? "yes" : "only together with others"});
    }
  }
  return table;
}

std::vector<std::string> undetermined_by(const TopologyFit& fit) {
  std::vector<std::string> out;
  for (const FittedParameter& one : fit.parameters) {
    if (const std::string state = state_of(one); !state.empty()) {
      out.push_back(fmt::format("{}: {}", one.parameter.name, state));
    }
  }
  return out;
}

nlohmann::ordered_json error_json(const FitError& error) {
  return {{"median_pct", error.median_pct}, {"worst_pct", error.worst_pct}};
}

nlohmann::ordered_json rows_json(const TopologyFit& fit, const std::vector<MeasuredRow>& rows) {
  auto json = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    json.push_back({{"what", rows[i].what},
                    {"measured_s", rows[i].seconds},
                    {"before_s", fit.before_s[i]},
                    {"after_s", fit.after_s[i]},
                    {"held_out", is_held_out(i)}});
  }
  return json;
}

Output fit_output(const TopologyFit& fit,
                  const std::vector<MeasuredRow>& rows,
                  const std::string& out) {
  Output output;
  Table table = parameter_table(fit);
  output.json = {{"topology", out},
                 {"rows", rows.size()},
                 {"held_out_rows", fit.held_out_rows},
                 {"held_out_before", error_json(fit.held_out_before)},
                 {"held_out_after", error_json(fit.held_out_after)},
                 {"fitted_after", error_json(fit.fitted_after)},
                 {"measured", rows_json(fit, rows)},
                 {"parameters", to_json(table)},
                 {"not_determined", undetermined_by(fit)}};
  const auto unused = std::count_if(fit.parameters.begin(), fit.parameters.end(),
                                    [](const FittedParameter& one) { return !one.is_used; });
  output.text = fmt::format(
      "{} rows, {} of them held out; error of those before {:.1f} % (worst {:.1f} %), after {:.1f} "
      "% (worst {:.1f} %)\n"
      "{} numbers of the topology stay as they are: no row depends on them (--format json lists "
      "them)\n"
      "{}; simulate with --topology {}\n",
      rows.size(), fit.held_out_rows, fit.held_out_before.median_pct, fit.held_out_before.worst_pct,
      fit.held_out_after.median_pct, fit.held_out_after.worst_pct, unused, out, out);
  output.tables.push_back(std::move(table));
  return output;
}

}  // namespace

Output calibrate_from(Context& context, const FromArguments& arguments) {
  const MeasuredInputs inputs = inputs_of(arguments);
  const TopologySpec spec = topology_to_correct(context, arguments, inputs);
  const std::vector<MeasuredRow> rows =
      measured_in_files(context, arguments, inputs, topology_of(spec));
  std::vector<double> measured;
  std::transform(rows.begin(), rows.end(), std::back_inserter(measured),
                 [](const MeasuredRow& row) { return row.seconds; });
  const TopologyFit fit = fit_topology(
      spec, measured, [&](const TopologySpec& tried) { return predicted_s(rows, tried); },
      source_text(inputs));
  write_file(arguments.out, save_topology(fit.topology), arguments.force);
  return fit_output(fit, rows, arguments.out);
}

}  // namespace twinrun::cli
