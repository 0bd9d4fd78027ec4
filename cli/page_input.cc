#include "cli/page_input.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/build_info.h"
#include "cli/comparison_text.h"
#include "core/base/diagnostics.h"
#include "core/io/source.h"
#include "core/trace/compare.h"
#include "report/comparison_data.h"
#include "report/headline.h"

namespace twinrun::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The result of a sweep; null when the folder holds none.
Json sweep_in(const std::string& folder) {
  const fs::path file = fs::path(folder) / "result.json";
  if (!fs::is_regular_file(file)) {
    return nullptr;
  }
  Json json = Json::parse(Source::of_file(file.string()).text(), nullptr, false);
  const bool is_sweep = json.is_object() && json.value("schema", "") == "twinrun/sweep/1" &&
                        json.contains("points") && json["points"].is_array();
  return is_sweep ? json : Json(nullptr);
}

// The last part of a path is enough, unless two share it.
std::vector<std::string> labels_of(const std::vector<std::string>& folders) {
  std::vector<std::string> labels;
  for (const std::string& folder : folders) {
    fs::path path(folder);
    path = path.has_filename() ? path : path.parent_path();
    labels.push_back(path.filename() == "." || path.empty() ? folder : path.filename().string());
  }
  std::vector<std::string> out = labels;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (std::count(labels.begin(), labels.end(), labels[i]) > 1) {
      out[i] = folders[i];
    }
  }
  return out;
}

std::string job_text_of(const RunFolder& run) {
  return run.job ? Source::of_file((fs::path(run.path) / "job.json").string()).text() : "";
}

ComparedRun compared(const RunFolder& run) {
  const Json memory = run.result.value("memory", Json::array());
  std::optional<double> fullest;
  for (const Json& device : memory) {
    fullest = std::max(fullest, std::optional(device.value("peak_bytes", 0.0)));
  }
  return {{run.plan, run.trace, run.warmup_steps()},
          run.result_number("t2_s"),
          run.result_number("samples_per_s"),
          fullest};
}

}  // namespace

std::string page_maker() {
  return fmt::format("twinrun {}{}", kVersion,
                     *kCommit == '\0' ? "" : fmt::format(" ({})", kCommit));
}

PageInput read_page_input(Context& context, const std::vector<std::string>& folders) {
  PageInput input;
  Diagnostics diagnostics;
  const std::vector<std::string> labels = labels_of(folders);
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (is_run_folder(folders[i])) {
      if (auto run = load_run_folder(folders[i], diagnostics)) {
        input.runs.push_back(std::make_unique<const RunFolder>(*std::move(run)));
        input.run_labels.push_back(labels[i]);
      }
      continue;
    }
    Json sweep = sweep_in(folders[i]);
    if (sweep.is_null()) {
      throw UsageError(fmt::format("{} holds neither a run nor a sweep", folders[i]),
                       "simulate, execute and sweep make such folders with --out DIR");
    }
    sweep["label"] = labels[i];
    sweep["headline"] = report::headline_of_sweep(sweep);
    input.sweeps.push_back(std::move(sweep));
  }
  diagnostics.throw_if_errors();
  context.report(diagnostics);
  return input;
}

void add_comparison(const Comparison& comparison,
                    const std::array<std::string, 2>& labels,
                    report::PageContent& content) {
  const std::vector<std::string> sentences =
      comparison_sentences(comparison, names_of(comparison, labels[0], labels[1]));
  content.comparison = report::comparison_data(comparison, sentences);
  content.headline = sentences.empty() ? "" : sentences.front();
}

report::PageContent page_content(const PageInput& input) {
  report::PageContent content;
  content.made_by = page_maker();
  for (std::size_t i = 0; i < input.runs.size(); ++i) {
    const RunFolder& run = *input.runs[i];
    content.runs.push_back(
        {input.run_labels[i], run.result, job_text_of(run), &run.plan, &run.topology, &run.trace});
    if (!run.trace.failure.empty()) {
      content.notes.push_back(
          fmt::format("{} ended early: {}.", input.run_labels[i], run.trace.failure));
    }
  }
  if (input.runs.size() == 2) {
    add_comparison(compare(compared(*input.runs[0]), compared(*input.runs[1])),
                   {input.run_labels[0], input.run_labels[1]}, content);
  }
  content.sweeps = input.sweeps;
  return content;
}

}  // namespace twinrun::cli
