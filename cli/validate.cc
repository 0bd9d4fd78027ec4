#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/left_out_table.h"
#include "cli/predict_case.h"
#include "cli/prediction_errors.h"
#include "cli/progress.h"
#include "cli/verb.h"

// Predictions beside published measurements.

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWorstRowsExplained = 8;

struct ValidateOptions {
  std::string folder;
  std::vector<std::string> only;
  std::string leave_out;
  bool summary_only = false;
};

struct ReadFile {
  CaseFile cases;
  std::vector<CasePrediction> predictions;  // by row
};

struct FailedRow {
  std::string file;
  std::string row;
  std::string why;
};

std::vector<Source> case_sources(Context& context, const std::string& folder) {
  std::vector<Source> out = folder.empty() ? published_cases() : std::vector<Source>();
  if (!folder.empty()) {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
      if (entry.path().extension() == ".json") {
        out.push_back(Source::of_file(entry.path().string()));
      }
    }
    if (failed || out.empty()) {
      throw UsageError(fmt::format("{}: no folder with case files", folder),
                       "a case file is described by: twinrun schema case");
    }
    std::sort(out.begin(), out.end(),
              [](const Source& a, const Source& b) { return a.name() < b.name(); });
  }
  for (const Source& source : out) {
    context.remember(source);
  }
  return out;
}

bool is_wanted(const CaseFile& file, const std::vector<std::string>& only) {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& part) {
           return file.file.find(part) != std::string::npos || file.table == part;
         });
}

std::vector<ReadFile> read_files(Context& context, const ValidateOptions& options) {
  std::vector<CaseFile> files;
  Diagnostics diagnostics;
  for (const Source& source : case_sources(context, options.folder)) {
    files.push_back(read_case(source, diagnostics));
  }
  diagnostics.throw_if_errors();
  check_left_out(options.leave_out, files);
  std::vector<ReadFile> out;
  for (CaseFile& file : files) {
    if (is_wanted(file, options.only) && is_predicted(options.leave_out, file)) {
      const std::size_t rows = file.rows.size();
      out.push_back({std::move(file), std::vector<CasePrediction>(rows)});
    }
  }
  if (out.empty()) {
    throw UsageError("--only names no case file", "twinrun validate --summary lists them");
  }
  return out;
}

// Rows are independent: every core takes the next one that nobody has.
void predict_all(Context& context, const std::string& leave_out, std::vector<ReadFile>& files) {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t file = 0; file < files.size(); ++file) {
    for (std::size_t row = 0; row < files[file].predictions.size(); ++row) {
      places.emplace_back(file, row);
    }
  }
  Progress progress(context, "predicting");
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t done = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < places.size(); i = next++) {
      ReadFile& file = files[places[i].first];
      const std::size_t row = places[i].second;
      file.predictions[row] =
          predict_case(file.cases, file.cases.rows[row], left_out_for(leave_out, file.cases));
      const std::lock_guard lock(mutex);
      progress.update(static_cast<std::int64_t>(++done), static_cast<std::int64_t>(places.size()),
                      file.cases.name);
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 1; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    workers.emplace_back(work);
  }
  work();
}

const CasePrediction& prediction_named(const ReadFile& file, const std::string& name) {
  const auto row = std::find_if(file.cases.rows.begin(), file.cases.rows.end(),
                                [&](const CaseRow& one) { return one.name == name; });
  return file.predictions[static_cast<std::size_t>(row - file.cases.rows.begin())];
}

std::vector<ComparedRow> compare_rows(const ReadFile& file, std::vector<FailedRow>& failed) {
  std::vector<ComparedRow> out;
  for (std::size_t i = 0; i < file.cases.rows.size(); ++i) {
    const CaseRow& row = file.cases.rows[i];
    const CasePrediction& prediction = file.predictions[i];
    double reference = 1;
    std::string failure = prediction.failure;
    if (!row.relative_to.empty()) {
      const CasePrediction& other = prediction_named(file, row.relative_to);
      reference = other.value;
      failure = failure.empty() ? other.failure : failure;
    }
    if (!failure.empty()) {
      failed.push_back({file.cases.file, row.name, failure});
    } else if (row.relative_to != row.name) {  // the quotient of a row and itself says nothing
      out.push_back({file.cases.file, row.name, row.group, prediction.value / reference,
                     row.measured, more_is_better(file.cases.metric), prediction.because});
    }
  }
  return out;
}

Cell figure(double value) { return {value, fmt::format("{:.4g}", value)}; }

Cell signed_pct(double value) {
  const double size = std::abs(value);
  return {value, fmt::format("{:+.1f}", value),
          size <= 15   ? Tone::kGood
          : size <= 40 ? Tone::kWarning
                       : Tone::kBad};
}

Table rows_table(std::string title, std::span<const ComparedRow> rows) {
  Table table;
  table.title = std::move(title);
  table.columns = {{.name = "file", .only_for_programs = true},
                   {.name = "row"},
                   {.name = "predicted", .align = Align::kRight},
                   {.name = "measured", .align = Align::kRight},
                   {.name = "error_pct", .title = "error %", .align = Align::kRight},
                   {.name = "group", .only_for_programs = true},
                   {.name = "because", .title = "predicted so because of"}};
  for (const ComparedRow& row : rows) {
    table.rows.push_back({row.file, row.row, figure(row.predicted), figure(row.measured),
                          signed_pct(row.error_pct()), row.group, row.because});
  }
  return table;
}

Json worst_json(const ErrorSummary& summary, std::span<const ComparedRow> rows) {
  if (!summary.worst) {
    return nullptr;
  }
  const ComparedRow& worst = rows[*summary.worst];
  return {{"file", worst.file}, {"row", worst.row}, {"error_pct", worst.error_pct()}};
}

Json summary_json(const ErrorSummary& summary, std::span<const ComparedRow> rows) {
  const auto known = [&](double value) { return summary.rows > 0 ? Json(value) : Json(nullptr); };
  return {{"rows", summary.rows},
          {"median_abs_error_pct", known(summary.median_abs_error_pct)},
          {"p90_abs_error_pct", known(summary.p90_abs_error_pct)},
          {"worst", worst_json(summary, rows)},
          {"pairs", summary.pairs},
          {"winner_right_pct", summary.pairs > 0
                                   ? Json(100.0 * static_cast<double>(summary.pairs_right) /
                                          static_cast<double>(summary.pairs))
                                   : Json(nullptr)},
          {"rank_correlation",
           summary.rank_correlation ? Json(*summary.rank_correlation) : Json(nullptr)}};
}

std::vector<Cell> summary_cells(const std::string& name,
                                const ErrorSummary& summary,
                                std::span<const ComparedRow> rows) {
  const auto pct = [](double value) { return Cell(value, fmt::format("{:.1f}", value)); };
  std::vector<Cell> cells = {name, summary.rows};
  if (summary.rows == 0) {
    cells.resize(8);
    return cells;
  }
  cells.push_back(pct(summary.median_abs_error_pct));
  cells.push_back(pct(summary.p90_abs_error_pct));
  cells.push_back(signed_pct(rows[*summary.worst].error_pct()));
  cells.push_back(summary.pairs);
  cells.push_back(summary.pairs > 0 ? pct(100.0 * static_cast<double>(summary.pairs_right) /
                                          static_cast<double>(summary.pairs))
                                    : Cell());
  cells.push_back(summary.rank_correlation ? Cell(*summary.rank_correlation,
                                                  fmt::format("{:.3f}", *summary.rank_correlation))
                                           : Cell());
  return cells;
}

// The files, then all of them together, steps and collectives apart.
struct Report {
  std::vector<ComparedRow> all;
  std::vector<ComparedRow> steps;
  std::vector<ComparedRow> collectives;
  std::vector<FailedRow> failed;
  Table summary;
  std::vector<Table> tables;
  Json files = Json::array();
};

void add_file(const ReadFile& file, Report& report) {
  const std::vector<ComparedRow> rows = compare_rows(file, report.failed);
  const ErrorSummary summary = summarize(rows);
  const CaseFile& cases = file.cases;
  const std::string unit(kCaseMetricWords[static_cast<std::size_t>(cases.metric)]);
  report.tables.push_back(
      rows_table(fmt::format("{} ({}), {}", cases.name, cases.table, unit), rows));
  report.summary.rows.push_back(summary_cells(cases.name, summary, rows));
  Json one = {{"file", cases.file},
              {"name", cases.name},
              {"table", cases.table},
              {"citation", cases.citation},
              {"assumed", cases.assumed},
              {"left_out", cases.left_out},
              {"metric", unit}};
  one.update(summary_json(summary, rows));
  report.files.push_back(std::move(one));
  std::vector<ComparedRow>& kind = cases.is_collective ? report.collectives : report.steps;
  kind.insert(kind.end(), rows.begin(), rows.end());
  report.all.insert(report.all.end(), rows.begin(), rows.end());
}

std::vector<ComparedRow> worst_rows(std::vector<ComparedRow> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const ComparedRow& a, const ComparedRow& b) {
    return std::abs(a.error_pct()) > std::abs(b.error_pct());
  });
  rows.resize(std::min(rows.size(), kWorstRowsExplained));
  return rows;
}

std::string in_words(const ComparedRow& row) {
  const bool is_more = row.predicted > row.measured;
  const bool is_faster = is_more == row.more_is_better;
  return fmt::format(
      "{}: predicted {:.4g}, measured {:.4g}: {:.0f} % too {}. The prediction is {}.", row.row,
      row.predicted, row.measured, std::abs(row.error_pct()), is_faster ? "fast" : "slow",
      row.because);
}

void put_worst(const std::vector<ComparedRow>& rows, Output& output) {
  output.json["explained"] = Json::array();
  std::string& note = output.tables.back().note;
  note = "\nThe rows that are farthest off:\n";
  for (const ComparedRow& row : worst_rows(rows)) {
    const std::string text = in_words(row);
    note += fmt::format("  {}\n", text);
    output.json["explained"].push_back(
        {{"file", row.file}, {"row", row.row}, {"error_pct", row.error_pct()}, {"text", text}});
  }
}

void put_failed(const std::vector<FailedRow>& failed, Output& output) {
  output.json["failed"] = Json::array();
  std::string& note = output.tables.back().note;
  for (const FailedRow& row : failed) {
    note += fmt::format("could not be predicted: {}, {}: {}\n", row.file, row.row, row.why);
    output.json["failed"].push_back({{"file", row.file}, {"row", row.row}, {"why", row.why}});
  }
}

Json cases_json(const std::vector<ComparedRow>& rows) { return to_json(rows_table("", rows)); }

Output output_of(Report report, const ValidateOptions& options) {
  Output output;
  output.rows_key = "cases";
  report.summary.columns = {
      {.name = "name", .title = "table"},
      {.name = "rows", .align = Align::kRight},
      {.name = "median_abs_error_pct", .title = "median %", .align = Align::kRight},
      {.name = "p90_abs_error_pct", .title = "p90 %", .align = Align::kRight},
      {.name = "worst_error_pct", .title = "worst %", .align = Align::kRight},
      {.name = "pairs", .align = Align::kRight},
      {.name = "winner_right_pct", .title = "winner right %", .align = Align::kRight},
      {.name = "rank_correlation", .title = "order", .align = Align::kRight}};
  report.summary.has_rule = true;
  output.json["cases"] = cases_json(report.all);
  const ErrorSummary all = summarize(report.all);
  output.json["summary"] = summary_json(all, report.all);
  for (const auto& [name, rows] :
       {std::pair("steps", &report.steps), std::pair("collectives", &report.collectives)}) {
    const ErrorSummary part = summarize(*rows);
    output.json["summary"][name] = summary_json(part, *rows);
    report.summary.rows.push_back(summary_cells(fmt::format("all {}", name), part, *rows));
  }
  report.summary.rows.push_back(summary_cells("all", all, report.all));
  output.json["files"] = std::move(report.files);
  if (!options.summary_only) {
    output.tables = std::move(report.tables);
  }
  output.tables.push_back(std::move(report.summary));
  put_worst(report.all, output);
  put_failed(report.failed, output);
  return output;
}

// The summary of the same rows with nothing left out, to set beside.
void put_left_out(Context& context,
                  const ValidateOptions& options,
                  std::vector<ReadFile>& files,
                  Output& output) {
  if (options.leave_out.empty()) {
    return;
  }
  std::vector<const CaseFile*> cases;
  cases.reserve(files.size());
  for (const ReadFile& file : files) {
    cases.push_back(&file.cases);
  }
  predict_all(context, "", files);
  std::vector<ComparedRow> rows;
  std::vector<FailedRow> failed;
  for (const ReadFile& file : files) {
    const std::vector<ComparedRow> more = compare_rows(file, failed);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  const ErrorSummary known = summarize(rows);
  output.json["leave_out"] = options.leave_out;
  output.json["with_nothing_left_out"] = summary_json(known, rows);
  output.tables.back().note += left_out_note(options.leave_out, cases) +
                               fmt::format("With nothing left out: median {:.1f} %, p90 {:.1f} %\n",
                                           known.median_abs_error_pct, known.p90_abs_error_pct);
}

Output run_validate(Context& context, const ValidateOptions& options) {
  std::vector<ReadFile> files = read_files(context, options);
  predict_all(context, options.leave_out, files);
  Report report;
  for (const ReadFile& file : files) {
    add_file(file, report);
  }
  Output output = output_of(std::move(report), options);
  put_left_out(context, options, files, output);
  return output;
}

}  // namespace

Run add_validate(CLI::App& app) {
  const auto options = std::make_shared<ValidateOptions>();
  app.add_option("DIR", options->folder,
                 "a folder of case files; those of the program when left out")
      ->type_name("DIR");
  app.add_option("--only", options->only,
                 "tables, or parts of file names; may be given several times")
      ->type_name("NAME");
  app.add_option("--leave-out", options->leave_out,
                 "predict this table by curves that were fitted without it; each: all of them so")
      ->type_name("TABLE");
  app.add_flag("--summary", options->summary_only, "leave the single rows out");
  return [options](Context& context) { return run_validate(context, *options); };
}

}  // namespace twinrun::cli
