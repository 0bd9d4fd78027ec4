#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/answers.h"
#include "cli/job_figures.h"
#include "cli/progress.h"
#include "cli/sweep_grid.h"
#include "cli/sweep_table.h"
#include "cli/verb.h"
#include "core/topology/build_topology.h"

namespace twinrun::cli {
namespace {

namespace fs = std::filesystem;

struct SweepOptions {
  std::string job;
  std::vector<std::string> set;
  std::int64_t threads = 0;
  std::int64_t steps = 0;
  std::string out;
  bool resume = false;
  std::string shard = "1/1";
};

// What makes a point's result the same: the job, the grid and the number of steps.
std::uint64_t fingerprint(const Source& source, const SweepOptions& options) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&](std::string_view text) {
    for (const char c : text) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  };
  add(source.text());
  for (const std::string& set : options.set) {
    add(set);
  }
  add(std::to_string(options.steps));
  return hash;
}

class Sweep {
 public:
  Sweep(Context& context, const SweepOptions& options)
      : options_(options),
        source_(context.source(options.job)),
        shard_(parse_shard(options.shard, [](const char* name) { return std::getenv(name); })) {
    for (const std::string& set : options.set) {
      axes_.push_back(parse_axis(set));
    }
    hash_ = fingerprint(source_, options);
    points_.resize(point_count(axes_));
    if (!options.out.empty()) {
      open_folder();
    }
  }

  SweepResult run(Context& context) {
    Progress progress(context, "sweeping " + options_.job);
    std::vector<std::size_t> todo;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (i % shard_.count == shard_.index && points_[i].is_null()) {
        todo.push_back(i);
      }
    }
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::size_t done = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < todo.size(); i = next++) {
        nlohmann::ordered_json result = point(todo[i]);
        const std::lock_guard lock(mutex);
        points_[todo[i]] = std::move(result);
        progress.update(static_cast<std::int64_t>(++done), static_cast<std::int64_t>(todo.size()));
      }
    };
    std::vector<std::jthread> threads;
    for (std::int64_t i = 1; i < thread_count(); ++i) {
      threads.emplace_back(work);
    }
    work();
    threads.clear();
    if (!options_.out.empty()) {
      read_points();  // the last shard to end has them all
    }
    return {axes_, points_, todo.size()};
  }

 private:
  [[nodiscard]] std::int64_t thread_count() const {
    return options_.threads > 0 ? options_.threads
                                : std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  }
  [[nodiscard]] fs::path file_of(std::size_t point) const {
    return fs::path(options_.out) / "points" / fmt::format("{:06}.json", point);
  }

  // Results that are there are taken over when they belong to the same sweep.
  void open_folder() {
    const fs::path head = fs::path(options_.out) / "sweep.json";
    nlohmann::ordered_json known = {{"schema", "twinrun/sweep/1"},
                                    {"job", options_.job},
                                    {"set", options_.set},
                                    {"points", points_.size()},
                                    {"fingerprint", fmt::format("{:016x}", hash_)}};
    if (!fs::exists(head)) {
      fs::create_directories(fs::path(options_.out) / "points");
      write_file(head.string(), known.dump(2) + "\n", true);
      return;
    }
    const auto there =
        nlohmann::ordered_json::parse(Source::of_file(head.string()).text(), nullptr, false);
    if (there.value("fingerprint", "") != known["fingerprint"]) {
      throw UsageError(fmt::format("{} holds another sweep", options_.out),
                       "give another --out, or remove that folder");
    }
    if (!options_.resume && shard_.count == 1) {
      throw UsageError(fmt::format("{} holds this sweep already", options_.out),
                       "add --resume to go on with it");
    }
    read_points();
  }

  // Those that are in the folder and not here: of a run before, or of the other shards.
  void read_points() {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (points_[i].is_null() && fs::exists(file_of(i))) {
        const auto point = nlohmann::ordered_json::parse(
            Source::of_file(file_of(i).string()).text(), nullptr, false);
        points_[i] = point.is_discarded() ? nlohmann::ordered_json() : point;
      }
    }
  }

  nlohmann::ordered_json point(std::size_t number) {
    nlohmann::ordered_json out = {{"point", number}};
    const std::vector<JobOverride> overrides = point_overrides(axes_, number);
    for (const JobOverride& one : overrides) {
      out["set"][one.path] = one.value;
    }
    Diagnostics diagnostics;
    std::optional<JobFigures> figures;
    try {
      figures = simulate(overrides, diagnostics);
    } catch (const CannotRun& error) {
      out["error"] = error.what();
    } catch (const InputError& error) {
      out["error"] = first_error(error.diagnostics());
    }
    if (figures) {
      add_figures(*figures, out);
    } else if (!out.contains("error")) {
      out["error"] = first_error(diagnostics);
    }
    if (!options_.out.empty()) {
      write_file(file_of(number).string(), out.dump() + "\n", true);
    }
    return out;
  }

  std::optional<JobFigures> simulate(const std::vector<JobOverride>& overrides,
                                     Diagnostics& diagnostics) {
    LoadedJob loaded = read_job(source_, {.overrides = overrides}, diagnostics);
    if (diagnostics.has_errors()) {
      return std::nullopt;
    }
    resolve_auto(loaded);
    const Topology topology = build_topology(loaded.topology, diagnostics);
    if (diagnostics.has_errors()) {
      return std::nullopt;
    }
    return job_figures(loaded.job, loaded.model, topology,
                       {.communication_alone = true, .steps = options_.steps}, diagnostics);
  }

  static std::string first_error(const Diagnostics& diagnostics) {
    for (const Diagnostic& one : diagnostics.all()) {
      if (one.severity == Severity::kError) {
        return fmt::format("{}: {}{}", one.code, one.message,
                           one.help.empty() ? "" : "; " + one.help);
      }
    }
    return "not known why";
  }

  const SweepOptions& options_;
  Source source_;
  Shard shard_;
  std::vector<SweepAxis> axes_;
  std::uint64_t hash_ = 0;
  std::vector<nlohmann::ordered_json> points_;  // null: not there yet
};

Output run_sweep(Context& context, const SweepOptions& options) {
  if (options.set.empty()) {
    throw UsageError("a sweep varies something",
                     "add --set training.local_batch_size=1,2,4,8; several make a grid");
  }
  const SweepResult result = Sweep(context, options).run(context);
  Output output = sweep_output(result);
  if (!options.out.empty()) {
    const fs::path out = options.out;
    write_file((out / "result.json").string(), output.json.dump(2) + "\n", true);
    write_file((out / "result.csv").string(), to_csv(output.tables.front()), true);
    context.say(fmt::format("sweep: {}", (out / "result.csv").string()));
  }
  return output;
}

}  // namespace

Run add_sweep(CLI::App& app) {
  const auto options = std::make_shared<SweepOptions>();
  app.add_option("job", options->job, "a job file, or - for standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--set", options->set,
                 "a key and its values: training.local_batch_size=1,2,4; several make a grid")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUES");
  app.add_option("--jobs", options->threads, "points at a time; all cores when left out")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  app.add_option("--steps", options->steps, "steps to simulate of each point")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  app.add_option("--out", options->out, "a folder that keeps every point as it is done")
      ->type_name("DIR");
  app.add_flag("--resume", options->resume, "go on with the sweep in --out");
  app.add_option("--shard", options->shard,
                 "only a part of the points, for several machines with one folder: 2/4; auto: by "
                 "mpirun, srun or a Slurm array")
      ->type_name("I/N|auto");
  return [options](Context& context) { return run_sweep(context, *options); };
}

}  // namespace twinrun::cli
