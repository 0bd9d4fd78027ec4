#include "cli/time_to_accuracy.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "cli/comma_list.h"
#include "core/io/source.h"

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kLaw = "critical:";

// The first of these keys that a row has, as a number.
std::optional<double> number_in(const Json& row, std::initializer_list<const char*> keys) {
  for (const char* const key : keys) {
    if (const auto found = row.find(key); found != row.end() && found->is_number()) {
      return found->get<double>();
    }
  }
  return std::nullopt;
}

std::optional<double> samples_in(const Json& row, double batch, std::int64_t dataset_samples) {
  if (const auto steps = number_in(row, {"steps", "steps_to_target"})) {
    return *steps * batch;
  }
  if (const auto samples = number_in(row, {"samples", "samples_to_target"})) {
    return samples;
  }
  const auto epochs = number_in(row, {"epochs", "epochs_to_converge_mean"});
  if (epochs && dataset_samples == 0) {
    throw UsageError("the table counts epochs, and the job does not say how long one is",
                     "add --set training.dataset_samples=1281167");
  }
  return epochs ? std::optional(*epochs * static_cast<double>(dataset_samples)) : std::nullopt;
}

// "resnet" of a table is about resnet50, and "resnet50" about resnet.
bool is_about(const std::string& benchmark, const std::string& model) {
  return model.starts_with(benchmark) || benchmark.starts_with(model);
}

struct Candidate {
  std::size_t devices = 0;
  std::int64_t batch = 0;
  std::int64_t accumulation = 1;  // passes a step, where the batch does not fit at once
  double steps = 0;
  double seconds = 0;
  [[nodiscard]] double device_hours() const {
    return seconds * static_cast<double>(devices) / 3600;
  }
};

struct FittingRun {
  std::int64_t passes = 1;
  double step_s = 0;
};

// A batch that is too large for the devices goes through them in several passes.
std::optional<FittingRun> fewest_passes(JobSearch& search,
                                        std::size_t devices,
                                        std::int64_t batch) {
  constexpr std::int64_t kMostPasses = 64;
  Job job = search.job();
  job.training.local_batch_size.reset();
  job.training.micro_batch_size.reset();
  job.training.global_batch_size = batch;
  for (std::int64_t passes = 1; passes <= kMostPasses; passes *= 2) {
    if (batch % (static_cast<std::int64_t>(devices) * passes) != 0) {
      return std::nullopt;
    }
    job.training.gradient_accumulation =
        passes > 1 ? std::optional(passes) : search.job().training.gradient_accumulation;
    const auto figures = search.run_on(devices, job);
    if (!figures) {
      return std::nullopt;
    }
    if (figures->fits) {
      return FittingRun{passes, figures->step_s};
    }
  }
  return std::nullopt;
}

std::vector<Candidate> candidates(JobSearch& search, const StepsToTarget& law) {
  std::vector<Candidate> out;
  const std::size_t here = search.topology().compute_devices().size();
  for (std::size_t devices = 1; devices <= 8 * here; devices *= 2) {
    for (const std::int64_t batch : law.batches()) {
      const auto steps = law.steps(static_cast<double>(batch));
      if (!steps) {
        continue;
      }
      if (const auto run = fewest_passes(search, devices, batch)) {
        out.push_back({devices, batch, run->passes, *steps, *steps * run->step_s});
      }
    }
  }
  return out;
}

std::string duration_text(double seconds) {
  return seconds < 120    ? fmt::format("{:.1f} s", seconds)
         : seconds < 7200 ? fmt::format("{:.1f} minutes", seconds / 60)
                          : fmt::format("{:.1f} hours", seconds / 3600);
}

Answer answer_of(const std::string& question,
                 const char* word,
                 const Candidate& best,
                 double price) {
  Answer answer{question, "", nullptr, "", {}};
  answer.answer = fmt::format(
      "{}: a global batch of {} on {} device{}{} reaches the target in {} ({:.0f} steps, {:.1f} "
      "device-hours{}).",
      word, best.batch, best.devices, best.devices == 1 ? "" : "s",
      best.accumulation > 1 ? fmt::format(" in {} passes a step", best.accumulation) : "",
      duration_text(best.seconds), best.steps, best.device_hours(),
      price > 0 ? fmt::format(", {:.2f} in money", best.device_hours() * price) : "");
  answer.value = {{"global_batch_size", best.batch},
                  {"devices", best.devices},
                  {"gradient_accumulation", best.accumulation},
                  {"steps", best.steps},
                  {"time_s", best.seconds},
                  {"device_hours", best.device_hours()},
                  {"cost", price > 0 ? Json(best.device_hours() * price) : Json(nullptr)}};
  return answer;
}

// Of one device: its own, or its share of the machine's.
double price_of_device(const Topology& topology) {
  const std::vector<VertexId> devices = topology.compute_devices();
  if (devices.empty()) {
    return 0;
  }
  const DeviceSpec* const spec = topology.device(devices.front());
  const NodeShape& shape = topology.shape(topology.node_of(devices.front()));
  const auto per_node =
      static_cast<double>(devices.size()) / static_cast<double>(topology.node_count());
  return (spec != nullptr ? spec->price_per_hour : 0) + shape.price_per_hour / per_node;
}

}  // namespace

StepsToTarget StepsToTarget::parse(const std::string& argument,
                                   const std::string& model,
                                   std::int64_t dataset_samples) {
  StepsToTarget out;
  if (argument.starts_with(kLaw)) {
    out.read_law(argument);
  } else {
    out.read_rows(argument, model, dataset_samples);
  }
  return out;
}

void StepsToTarget::read_law(const std::string& text) {
  for (const std::string& part : comma_separated(std::string_view(text).substr(kLaw.size()))) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string key = part.substr(0, equals);
    double value = 0;
    const char* const end = part.data() + part.size();
    std::from_chars(part.data() + std::min(equals + 1, part.size()), end, value);
    (key == "steps" ? law_steps_ : law_batch_) = key == "steps" || key == "batch" ? value : 0;
  }
  if (!(law_steps_ > 0 && law_batch_ > 0)) {
    throw UsageError(fmt::format("--time-to-accuracy {}: not a law", text),
                     "write critical:steps=5000,batch=4000: the fewest steps, and the batch that "
                     "needs twice as many");
  }
  about_ = fmt::format("steps = {:g} · (1 + {:g} / batch), the critical-batch-size law", law_steps_,
                       law_batch_);
}

void StepsToTarget::read_rows(const std::string& file,
                              const std::string& model,
                              std::int64_t dataset_samples) {
  const Json root = Json::parse(Source::of_argument(file).text(), nullptr, false);
  const Json rows = root.is_object() ? root.value("rows", Json::array()) : root;
  for (const Json& row : rows.is_array() ? rows : Json::array()) {
    const auto batch =
        row.is_object() ? number_in(row, {"global_batch", "batch", "minibatch"}) : std::nullopt;
    const bool is_other = row.is_object() && row.contains("benchmark") &&
                          row["benchmark"].is_string() &&
                          !is_about(row["benchmark"].get<std::string>(), model);
    const auto samples =
        batch && !is_other ? samples_in(row, *batch, dataset_samples) : std::nullopt;
    if (samples) {
      points_.push_back({*batch, *samples / *batch});
    }
  }
  if (points_.empty()) {
    throw UsageError(fmt::format("{} has no rows about {}", file, model),
                     "rows with a batch (global_batch) and steps, samples or epochs; or "
                     "critical:steps=…,batch=…");
  }
  std::sort(points_.begin(), points_.end(),
            [](const Point& a, const Point& b) { return a.batch < b.batch; });
  about_ = fmt::format("{} rows of {}, between them on a logarithmic scale", points_.size(), file);
}

std::set<std::int64_t> StepsToTarget::batches() const {
  constexpr std::int64_t kSmallest = 16;
  constexpr std::int64_t kLargest = std::int64_t{1} << 20;
  std::set<std::int64_t> out;
  for (std::int64_t batch = kSmallest; batch <= kLargest; batch *= 2) {
    out.insert(batch);
  }
  for (const Point& point : points_) {
    out.insert(static_cast<std::int64_t>(point.batch));
  }
  return out;
}

std::optional<double> StepsToTarget::steps(double global_batch) const {
  if (law_steps_ > 0) {
    return law_steps_ * (1 + law_batch_ / global_batch);
  }
  const auto above =
      std::lower_bound(points_.begin(), points_.end(), global_batch,
                       [](const Point& point, double batch) { return point.batch < batch; });
  if (above == points_.end() || (above == points_.begin() && above->batch > global_batch)) {
    return std::nullopt;
  }
  if (above->batch == global_batch) {
    return above->steps;
  }
  const Point& below = *std::prev(above);
  const double way = std::log(global_batch / below.batch) / std::log(above->batch / below.batch);
  return std::exp(std::log(below.steps) + way * (std::log(above->steps) - std::log(below.steps)));
}

std::vector<Answer> time_to_accuracy(JobSearch& search, const StepsToTarget& law) {
  const std::vector<Candidate> all = candidates(search, law);
  const std::vector<std::string> assumed = {
      law.about(),
      "powers of two for devices and, beside those of a table, for "
      "batches; only what fits"};
  if (all.empty()) {
    return {{"time_to_accuracy_soonest",
             "No batch of the law fits any number of devices that was tried.", nullptr, "",
             assumed}};
  }
  const auto soonest = std::min_element(
      all.begin(), all.end(),
      [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
  const auto cheapest = std::min_element(
      all.begin(), all.end(),
      [](const Candidate& a, const Candidate& b) { return a.device_hours() < b.device_hours(); });
  const double price = price_of_device(search.topology());
  std::vector<Answer> answers = {
      answer_of("time_to_accuracy_soonest", "Soonest", *soonest, price),
      answer_of("time_to_accuracy_cheapest", "Cheapest", *cheapest, price)};
  for (Answer& answer : answers) {
    answer.assumed = assumed;
  }
  return answers;
}

}  // namespace twinrun::cli
