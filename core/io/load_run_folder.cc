#include "core/io/load_run_folder.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/io/json_tree.h"
#include "core/io/load_plan.h"
#include "core/io/load_topology.h"
#include "core/io/load_trace.h"
#include "core/topology/build_topology.h"

namespace twinrun {
namespace {

// One file after the other, each with its own complaints, so that one that cannot be read does not
// hide what is wrong with the next.
class FolderReader {
 public:
  FolderReader(std::string path, Diagnostics& diagnostics)
      : path_(std::move(path)), diagnostics_(diagnostics) {}

  [[nodiscard]] std::string file(const char* name) const {
    return (std::filesystem::path(path_) / name).string();
  }
  [[nodiscard]] bool has(const char* name) const {
    std::error_code ignored;
    return std::filesystem::exists(file(name), ignored);
  }
  [[nodiscard]] Source source(const char* name) const { return Source::of_file(file(name)); }

  // Complains and says false when a file that every run has is missing.
  bool expects(const char* name, const char* help) {
    if (has(name)) {
      return true;
    }
    diagnostics_.error("E0805", {file(name), "", -1, false},
                       fmt::format("the run in {} has no {}", path_, name), help);
    return false;
  }

  std::optional<LoadedJob> job() {
    return has("job.json") ? std::optional(read_job(source("job.json"), {}, diagnostics_))
                           : std::nullopt;
  }
  TopologySpec topology_spec() {
    const JsonDocument document = JsonDocument::read(source("topology.json"), diagnostics_);
    return document.root() ? read_topology(document.root(), diagnostics_) : TopologySpec{};
  }
  nlohmann::ordered_json result() {
    const JsonDocument document = JsonDocument::read(source("result.json"), diagnostics_);
    if (document.root() && !document.root().is_object()) {
      diagnostics_.error("E0202", document.root().place(), "expected a result as an object {…}");
    }
    return document.root() ? to_tree(document.root()) : nlohmann::ordered_json::object();
  }

 private:
  std::string path_;
  Diagnostics& diagnostics_;
};

bool has_all_files(FolderReader& folder) {
  // Every one is asked for, so that all that are missing are named at once.
  const bool has_plan = folder.expects("plan.json", "run it again with --out");
  const bool has_topology = folder.expects("topology.json", "run it again with --out");
  const bool has_trace = folder.expects("trace.json", "run it again with --out and this version");
  const bool has_result = folder.expects(
      "result.json", "it is written last: the run did not end, or wrote to a full disk");
  return has_plan && has_topology && has_trace && has_result;
}

}  // namespace

std::int64_t RunFolder::warmup_steps() const {
  const auto found = result.find("warmup_steps");
  return found != result.end() && found->is_number_integer() && *found >= 0
             ? found->get<std::int64_t>()
             : 0;
}

std::optional<double> RunFolder::result_number(const std::string& key) const {
  const auto found = result.find(key);
  return found != result.end() && found->is_number() ? std::optional(found->get<double>())
                                                     : std::nullopt;
}

bool is_run_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(std::filesystem::path(path) / "plan.json", ignored);
}

std::optional<RunFolder> load_run_folder(const std::string& path, Diagnostics& diagnostics) {
  FolderReader folder(path, diagnostics);
  if (!has_all_files(folder)) {
    return std::nullopt;
  }
  const std::size_t before = diagnostics.error_count();
  std::optional<LoadedJob> job = folder.job();
  TopologySpec spec = folder.topology_spec();
  nlohmann::ordered_json result = folder.result();
  if (diagnostics.error_count() > before) {
    return std::nullopt;
  }
  Topology topology = build_topology(spec, diagnostics);
  std::optional<Plan> plan = load_valid_plan(
      folder.source("plan.json"),
      [&](std::string_view name) { return topology.find(name).has_value(); }, diagnostics);
  if (!plan || diagnostics.error_count() > before) {
    return std::nullopt;
  }
  std::optional<Trace> trace = load_trace(folder.source("trace.json"), *plan, diagnostics);
  if (!trace) {
    return std::nullopt;
  }
  return RunFolder{path,
                   std::move(job),
                   std::move(spec),
                   std::move(topology),
                   *std::move(plan),
                   *std::move(trace),
                   std::move(result)};
}

}  // namespace twinrun
