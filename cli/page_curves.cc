#include "cli/page_curves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/progress.h"
#include "cli/verb.h"

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostDevices = 1024;

class CurveMaker {
 public:
  CurveMaker(JobSearch& search, std::size_t ops, const CurveLimits& limits)
      : search_(search),
        ops_(static_cast<double>(ops)),
        left_(limits.ops),
        here_(search.base().devices) {}

  // Each curve after the question that it answers, so that where lines meet can be marked.
  Json curves() {
    Json out;
    ask("batch_where_t1_equals_t2");
    out["batch"] = over_batch();
    ask("devices_where_scaling_stops");
    out["scaling"] = over_devices();
    ask("server_or_ring");
    out["devices"] = pair_over_devices();
    ask("bandwidth_where_server_and_ring_meet");
    out["bandwidth"] = pair_over_bandwidth();
    ask("bottleneck_link");
    ask("fits_memory");
    ask("fastest_strategy");
    return out;
  }

  // In the order of `explain`.
  [[nodiscard]] Json answers() const {
    Json out = Json::array();
    for (const Question& question : all_questions()) {
      if (const Json* const said = answer(question.name)) {
        out.push_back(*said);
      }
    }
    return out;
  }

  [[nodiscard]] const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  // Whether `runs` simulations of the job's size may still be made.
  bool spend(const std::string& what, double runs) {
    const double cost = runs * ops_;
    if (cost > left_) {
      skipped_.push_back(what);
      return false;
    }
    left_ -= cost;
    return true;
  }

  [[nodiscard]] double relative_size(std::size_t devices) const {
    return static_cast<double>(devices) / static_cast<double>(std::max<std::size_t>(1, here_));
  }

  // About how many simulations of the job's size a question takes.
  [[nodiscard]] static double runs_for(std::string_view question) {
    constexpr std::array<std::pair<std::string_view, double>, 7> kRuns = {{
        {"batch_where_t1_equals_t2", 40},
        {"devices_where_scaling_stops", 16},
        {"server_or_ring", 34},
        {"bandwidth_where_server_and_ring_meet", 34},
        {"bottleneck_link", 2},
        {"fits_memory", 4},
        {"fastest_strategy", 14},
    }};
    const auto* const found = std::find_if(kRuns.begin(), kRuns.end(),
                                           [&](const auto& row) { return row.first == question; });
    return found == kRuns.end() ? 40 : found->second;
  }

  void ask(std::string_view name) {
    for (const Question& question : all_questions()) {
      if (question.name == name && spend(fmt::format("\"{}\"", name), runs_for(name))) {
        answers_.push_back(answer_json(answered(search_, question)));
      }
    }
  }

  [[nodiscard]] const Json* answer(std::string_view question) const {
    for (const Json& one : answers_) {
      if (one["question"] == question) {
        return &one;
      }
    }
    return nullptr;
  }

  // A curve with what the answer to the same question says of it.
  Json curve(const char* question, double here, Json points) const {
    const Json* const said = answer(question);
    const bool has_value = said != nullptr && (*said)["value"].is_number();
    return {{"points", std::move(points)},
            {"here", here > 0 ? Json(here) : Json(nullptr)},
            {"crossing", has_value ? (*said)["value"] : Json(nullptr)},
            {"sentence", said != nullptr ? (*said)["answer"] : Json("")},
            {"assumed", said != nullptr ? (*said)["assumed"] : Json::array()}};
  }

  [[nodiscard]] std::int64_t micro_batches() const {
    const Training& training = search_.job().training;
    if (training.micro_batch_size && *training.micro_batch_size > 0) {
      return std::max<std::int64_t>(1, search_.base().local_batch / *training.micro_batch_size);
    }
    return training.gradient_accumulation.value_or(1);
  }

  // Powers of two around the job's own batch and where the two times meet; the latter two as well.
  [[nodiscard]] std::set<std::int64_t> batches() const {
    const std::int64_t parts = micro_batches();
    const std::int64_t here = std::max<std::int64_t>(1, search_.base().local_batch / parts);
    const Json* const said = answer("batch_where_t1_equals_t2");
    const bool meets = said != nullptr && (*said)["value"].is_number();
    const std::int64_t meet =
        meets ? std::max<std::int64_t>(1, (*said)["value"].get<std::int64_t>() / parts) : here;
    std::set<std::int64_t> out = {here, meet};
    const std::int64_t most = std::min<std::int64_t>(1 << 16, 4 * std::max(here, meet));
    for (std::int64_t batch = 1; batch <= most; batch *= 2) {
      out.insert(batch);
    }
    return out;
  }

  Json over_batch() {
    const std::set<std::int64_t> tried = batches();
    if (search_.base().t2_s.value_or(0) == 0 ||
        !spend("t1 and t2 over the batch", 2 * static_cast<double>(tried.size()))) {
      return nullptr;
    }
    Json points = Json::array();
    for (const std::int64_t batch : tried) {
      const auto run = search_.run(with_local_batch(search_.job(), micro_batches(), batch), true);
      if (run) {
        points.push_back({{"batch", batch * micro_batches()},
                          {"t1_s", run->t1_s},
                          {"t2_s", run->t2_s ? Json(*run->t2_s) : Json(nullptr)},
                          {"step_s", run->step_s},
                          {"fits", run->fits}});
      }
    }
    return curve("batch_where_t1_equals_t2", static_cast<double>(search_.base().local_batch),
                 std::move(points));
  }

  // Powers of two up to eight times what is there.
  [[nodiscard]] std::vector<std::size_t> device_counts(std::size_t first) const {
    const std::size_t available = search_.topology().compute_devices().size();
    std::vector<std::size_t> out;
    for (std::size_t count = first; count <= std::min(8 * available, kMostDevices); count *= 2) {
      out.push_back(count);
    }
    return out;
  }

  // Of the counts, as many as may be simulated, small ones first.
  std::vector<std::size_t> affordable(const std::string& what,
                                      const std::vector<std::size_t>& counts,
                                      double runs_each) {
    std::vector<std::size_t> out;
    for (const std::size_t count : counts) {
      const std::string skipped = fmt::format("{} for {} and more devices", what, count);
      if (!spend(out.empty() ? what : skipped, runs_each * relative_size(count))) {
        break;
      }
      out.push_back(count);
    }
    return out;
  }

  std::optional<double> samples_per_s(const char* strategy, std::size_t devices) {
    Job job = with_strategy(search_.job(), strategy, 0);
    job.training.global_batch_size.reset();
    job.training.local_batch_size = search_.base().local_batch;
    const auto run = search_.run_on(devices, job);
    return run ? std::optional(run->samples_per_s) : std::nullopt;
  }

  static Json pair_point(double at, std::optional<double> server, std::optional<double> ring) {
    return {{"at", at},
            {"server_samples_per_s", server ? Json(*server) : Json(nullptr)},
            {"ring_samples_per_s", ring ? Json(*ring) : Json(nullptr)}};
  }

  Json pair_over_devices() {
    Json points = Json::array();
    for (const std::size_t count :
         affordable("server and ring over devices", device_counts(2), 2)) {
      const auto server = samples_per_s("parameter_server", count);
      const auto ring = samples_per_s("ddp", count);
      if (server || ring) {
        points.push_back(pair_point(static_cast<double>(count), server, ring));
      }
    }
    Json out = curve("server_or_ring", static_cast<double>(here_), std::move(points));
    out["crossing"] = nullptr;  // the answer is a word
    return out;
  }

  Json pair_over_bandwidth() {
    constexpr int kDoublings = 5;  // each way
    const double rate = to_gigabytes_per_second(network_rate(search_.topology()));
    if (rate <= 0 || !spend("server and ring over bandwidth", 2 * (2 * kDoublings + 1))) {
      return nullptr;
    }
    const std::int64_t batch = search_.base().global_batch;
    const Job server = with_strategy(search_.job(), "parameter_server", batch);
    const Job ring = with_strategy(search_.job(), "ddp", batch);
    Json points = Json::array();
    for (int doubling = -kDoublings; doubling <= kDoublings; ++doubling) {
      const double factor = std::ldexp(1.0, doubling);
      const TopologySpec spec = with_scaled_network(search_.topology_spec(), factor);
      const auto speed = [&](const Job& job) {
        const auto run = search_.run(job, spec);
        return run ? std::optional(run->samples_per_s) : std::nullopt;
      };
      const auto a = speed(server);
      const auto b = speed(ring);
      if (a || b) {
        points.push_back(pair_point(factor * rate, a, b));
      }
    }
    return curve("bandwidth_where_server_and_ring_meet", rate, std::move(points));
  }

  Json over_devices() {
    const Training& training = search_.job().training;
    const bool is_strong = !training.local_batch_size && training.global_batch_size;
    Json points = Json::array();
    double ideal_of_one = 0;
    for (const std::size_t count : affordable("scaling", device_counts(1), 1)) {
      Job job = search_.job();
      if (!is_strong) {
        job.training.local_batch_size = search_.base().local_batch;
        job.training.global_batch_size.reset();
      }
      const auto run = search_.run_on(count, job);
      if (!run) {
        continue;
      }
      const auto devices = static_cast<double>(count);
      ideal_of_one = ideal_of_one > 0 ? ideal_of_one : run->samples_per_s / devices;
      points.push_back({{"devices", count},
                        {"samples_per_s", run->samples_per_s},
                        {"ideal_samples_per_s", ideal_of_one * devices},
                        {"fits", run->fits}});
    }
    return curve("devices_where_scaling_stops", static_cast<double>(here_), std::move(points));
  }

  JobSearch& search_;
  double ops_;
  double left_;
  std::size_t here_;
  Json answers_ = Json::array();
  std::vector<std::string> skipped_;
};

}  // namespace

void add_curves(JobSearch& search,
                std::size_t ops,
                const CurveLimits& limits,
                report::PageContent& content) {
  CurveMaker maker(search, ops, limits);
  content.curves = maker.curves();
  content.answers = maker.answers();
  if (!maker.skipped().empty()) {
    content.notes.push_back(fmt::format(
        "Left out because simulating them would take long: {}. `--curves all` has them.",
        fmt::join(maker.skipped(), "; ")));
  }
}

void add_curves_of_runs(Context& context,
                        const PageInput& input,
                        const std::string& how_much,
                        report::PageContent& content) {
  constexpr std::array<std::string_view, 3> kWords = {"auto", "all", "none"};
  const std::size_t word = check_word("choice of curves", how_much, kWords);
  if (word == 2 || input.runs.empty()) {
    return;
  }
  for (const auto& run : input.runs) {
    if (!run->job) {
      continue;
    }
    Progress progress(context, "simulating curves");
    std::int64_t runs = 0;
    CurveLimits limits;
    limits.ops = word == 1 ? 1e18 : limits.ops;
    try {
      JobSearch search(*run->job, [&] { progress.update(++runs, 0); });
      add_curves(search, run->plan.size(), limits, content);
      content.curves["simulations"] = runs;
    } catch (const InputError&) {
      content.notes.emplace_back(
          "The job of this run cannot be simulated here, so there are no curves.");
    }
    return;
  }
  content.notes.emplace_back(
      "This run was made from a plan. Curves over batch, devices and bandwidth need a job.");
}

}  // namespace twinrun::cli
