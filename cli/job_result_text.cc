#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/job_result.h"

// A job's result as people read it: one line for each question, a word in front.
//
//   plan    ddp · 8 ranks of dgx1-v100 · resnet50 · batch 8 × 32 · fp32
//   memory  peak 4.10 GiB of 16 GiB on gpu0
//           activations 3.70 GiB   parameters 97.5 MiB …
//   step    116 ms ± 0.3 %   2207 samples/s   98.8 % of 8 times one device   MFU 35.2 %
//           compute 113 ms  exposed communication 1.4 ms …

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string seconds_text(double seconds) { return to_text(Time{std::llround(seconds * 1e12)}); }

std::string line(std::string_view word, const std::string& text) {
  return fmt::format("{:<8}{}\n", word, text);
}

// "· 2 stages" and the like: only what is there.
std::string degrees_text(const Layout& layout) {
  std::string text;
  const auto add = [&](std::int64_t degree, std::string_view what) {
    if (degree > 1) {
      text += fmt::format(" · {} {}", degree, what);
    }
  };
  add(layout.tensor, "tensor ranks");
  add(layout.stages, "stages");
  add(layout.virtual_stages, "chunks a stage");
  const bool is_split = layout.tensor > 1 || layout.stages > 1 || layout.shards > 1;
  add(is_split ? layout.replicas : 1, "replicas");
  if (layout.zero_stage > 0) {
    text += fmt::format(" · ZeRO-{} over {}", layout.zero_stage, layout.shards);
  }
  return text;
}

std::string plan_line(const RunInput& input, const Json& json) {
  const RunInput::FromJob& job = *input.job;
  const Training& training = job.loaded.job.training;
  const Layout& layout = job.layout;
  std::string batch = layout.replicas > 1
                          ? fmt::format("batch {} × {}", layout.replicas, layout.local_batch)
                          : fmt::format("batch {}", layout.global_batch);
  if (layout.micro_batches > 1) {
    batch += fmt::format(" in {} micro-batches", layout.micro_batches);
  }
  std::string text = fmt::format(
      "{} · {} rank{} of {}{} · {} · {} · {} · {}", json["layout"]["strategy"].get<std::string>(),
      layout.ranks(), layout.ranks() == 1 ? "" : "s", input.topology.name(), degrees_text(layout),
      job.loaded.job.model_name, batch, name_of(training.dtype),
      kOptimizerWords[static_cast<std::size_t>(training.optimizer)]);
  if (training.recompute != Recompute::kNone) {
    text += fmt::format(" · {} recompute",
                        kRecomputeWords[static_cast<std::size_t>(training.recompute)]);
  }
  return line("plan", text);
}

std::string memory_lines(const Json& json) {
  const Json* fullest = nullptr;
  for (const Json& device : json["memory"]) {
    if (fullest == nullptr || device["peak_bytes"] > (*fullest)["peak_bytes"]) {
      fullest = &device;
    }
  }
  if (fullest == nullptr || (*fullest)["peak_bytes"] == 0) {
    return "";
  }
  std::vector<std::pair<std::int64_t, std::string>> parts;
  for (const auto& [name, bytes] : (*fullest)["parts"].items()) {
    if (bytes > 0) {
      parts.emplace_back(bytes.get<std::int64_t>(), name);
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const Json& capacity = (*fullest)["capacity_bytes"];
  const std::string peak =
      fmt::format("peak {}{} on {}", to_text(Bytes{(*fullest)["peak_bytes"].get<std::int64_t>()}),
                  capacity.is_null() ? "" : " of " + to_text(Bytes{capacity.get<std::int64_t>()}),
                  (*fullest)["device"].get<std::string>());
  std::string text;
  for (const auto& [bytes, name] : parts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "   ", name, to_text(Bytes{bytes}));
  }
  return line("memory", peak) + line("", text);
}

// Of the steps that count, around their mean.
double spread_pct(const Json& json, std::int64_t warmup_steps) {
  const Json& each = json["step_s_each"];
  const double mean = json["step_s"].get<double>();
  const std::size_t first = std::min(static_cast<std::size_t>(warmup_steps), each.size() - 1);
  double squares = 0;
  for (std::size_t i = first; i < each.size(); ++i) {
    squares += std::pow(each[i].get<double>() - mean, 2);
  }
  const auto count = static_cast<double>(each.size() - first);
  return mean > 0 ? 100 * std::sqrt(squares / count) / mean : 0;
}

std::string step_lines(const Json& json, std::int64_t warmup_steps, std::size_t ranks) {
  std::string text = seconds_text(json["step_s"].get<double>());
  const bool is_common = !json.contains("worker_step_s");
  if (const double spread = spread_pct(json, warmup_steps); is_common && spread >= 0.05) {
    text += fmt::format(" ± {:.1f} %", spread);
  }
  if (!json["samples_per_s"].is_null()) {
    text += fmt::format("   {:.5g} samples/s", json["samples_per_s"].get<double>());
  }
  if (!json["scaling_efficiency_pct"].is_null() && ranks > 1) {
    text += fmt::format("   {:.1f} % of {} times one device",
                        json["scaling_efficiency_pct"].get<double>(), ranks);
  }
  if (!json["mfu_pct"].is_null()) {
    text += fmt::format("   {:.3g} TFLOP/s each, MFU {:.1f} %",
                        json["tflops_per_device"].get<double>(), json["mfu_pct"].get<double>());
  }
  std::string parts;
  for (const auto& [name, seconds] : json["breakdown_s"].items()) {
    if (seconds.get<double>() >= 0.0005 * json["step_s"].get<double>()) {
      std::string words = name;
      std::replace(words.begin(), words.end(), '_', ' ');
      parts += fmt::format("{}{} {}", parts.empty() ? "" : "   ", words,
                           seconds_text(seconds.get<double>()));
    }
  }
  return line("step", text) + (parts.empty() ? "" : line("", parts));
}

// Workers that do not wait for each other: how far they are apart.
std::string worker_line(const Json& json) {
  if (!json.contains("worker_step_s")) {
    return "";
  }
  std::vector<double> seconds;
  for (const Json& worker : json["worker_step_s"]) {
    if (!worker.is_null()) {
      seconds.push_back(worker.get<double>());
    }
  }
  if (seconds.empty()) {
    return "";
  }
  const auto [fastest, slowest] = std::minmax_element(seconds.begin(), seconds.end());
  return line("workers",
              fmt::format("{} at their own pace: a step takes {} on the fastest, {} on "
                          "the slowest",
                          seconds.size(), seconds_text(*fastest), seconds_text(*slowest)));
}

// "0: 12 %  1: 88 %": which share of the gradients was how stale, as far as a line is long.
std::string staleness_line(const Json& json) {
  constexpr std::size_t kMostShares = 8;
  if (!json.contains("staleness")) {
    return "";
  }
  const Json& histogram = json["staleness"]["histogram"];
  double count = 0;
  std::size_t kinds = 0;
  for (const Json& gradients : histogram) {
    count += gradients.get<double>();
    kinds += gradients > 0 ? 1U : 0U;
  }
  std::string text = fmt::format("weights are {:.3g} updates old on average, {} at most",
                                 json["staleness"]["mean"].get<double>(),
                                 json["staleness"]["max"].get<std::int64_t>());
  for (std::size_t i = 0; i < histogram.size() && kinds <= kMostShares; ++i) {
    if (histogram[i] > 0) {
      text += fmt::format("   {}: {:.0f} %", i, 100 * histogram[i].get<double>() / count);
    }
  }
  return line("stale", text);
}

std::string bound_line(const Json& json) {
  std::string text = fmt::format("t1 {}", seconds_text(json["t1_s"].get<double>()));
  if (!json["t2_s"].is_null()) {
    text += fmt::format("   t2 {}   max {}   sum {}", seconds_text(json["t2_s"].get<double>()),
                        seconds_text(json["max_t1_t2_s"].get<double>()),
                        seconds_text(json["sum_t1_t2_s"].get<double>()));
  }
  if (!json["overlap_pct"].is_null()) {
    text +=
        fmt::format("   {:.1f} % of communication is hidden", json["overlap_pct"].get<double>());
  }
  return line("bounds", text);
}

std::string epoch_line(const Json& json) {
  if (json["epoch_s"].is_null()) {
    return "";
  }
  std::string text = seconds_text(json["epoch_s"].get<double>());
  if (!json["cost_per_epoch"].is_null()) {
    text += fmt::format("   costs {:.2f}", json["cost_per_epoch"].get<double>());
  }
  if (!json["energy_per_epoch_J"].is_null()) {
    text += fmt::format("   {:.3g} kWh", json["energy_per_epoch_J"].get<double>() / 3.6e6);
  }
  return line("epoch", text);
}

}  // namespace

std::string job_text(const RunFacts& facts, const RunInput& input, const Json& json) {
  const std::string& name = input.job->loaded.job.name;
  return (name.empty() ? "" : name + "\n") + plan_line(input, json) + memory_lines(json) +
         step_lines(json, facts.warmup_steps, input.job->layout.ranks()) + worker_line(json) +
         staleness_line(json) + bound_line(json) + epoch_line(json);
}

}  // namespace twinrun::cli
