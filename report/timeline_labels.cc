#include "report/timeline_labels.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "core/trace/slice_text.h"
#include "core/trace/steps.h"

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMicroBatch = "/mb";

struct MicroBatch {
  std::size_t begin = std::string_view::npos;  // of the digits
  std::size_t end = 0;
  std::int64_t number = -1;
};

MicroBatch find_micro_batch(std::string_view id) {
  for (std::size_t at = id.find(kMicroBatch); at != std::string_view::npos;
       at = id.find(kMicroBatch, at + 1)) {
    MicroBatch found{at + kMicroBatch.size()};
    const char* const first = id.data() + found.begin;
    const char* const last = id.data() + id.size();
    const auto [rest, error] = std::from_chars(first, last, found.number);
    if (error == std::errc() && found.number >= 0 &&
        (rest == last || *rest == '@' || *rest == '/')) {
      found.end = static_cast<std::size_t>(rest - id.data());
      return found;
    }
  }
  return {};
}

// The id from after its step on.
std::string_view after_step(std::string_view id) {
  return step_of(id) ? id.substr(id.find('/') + 1) : id;
}

OpCategory category_of_compute(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, OpCategory>, 4> kPhases = {{
      {"forward", OpCategory::kForward},
      {"backward", OpCategory::kBackward},
      {"recompute", OpCategory::kRecompute},
      {"update", OpCategory::kUpdate},
  }};
  for (const auto& [word, category] : kPhases) {
    if (name.starts_with(word)) {
      return category;
    }
  }
  return OpCategory::kCompute;
}

std::int64_t bytes_of(const Plan& plan, OpId op) {
  switch (plan.kind(op)) {
    case OpKind::kCompute:
      return plan.compute(op).bytes.count;
    case OpKind::kCopy:
      return plan.copy(op).bytes.count;
    case OpKind::kSend:
    case OpKind::kRecv:
      return plan.message(op).bytes.count;
    case OpKind::kCollective:
      return plan.collective(op).bytes.count;
    case OpKind::kHost:
    case OpKind::kMarker:
      return 0;
  }
  return 0;
}

}  // namespace

OpCategory category_of(const Plan& plan, OpId op) {
  switch (plan.kind(op)) {
    case OpKind::kCompute:
      return category_of_compute(after_step(plan.id(op)));
    case OpKind::kCopy:
      return OpCategory::kCopy;
    case OpKind::kSend:
    case OpKind::kRecv:
      return OpCategory::kMessage;
    case OpKind::kCollective:
      return OpCategory::kCollective;
    case OpKind::kHost:
    case OpKind::kMarker:
      return OpCategory::kHost;
  }
  return OpCategory::kHost;
}

std::int64_t micro_batch_of(std::string_view id) { return find_micro_batch(id).number; }

std::string TimelineLabels::more_about(OpId op) const {
  const auto name = [&](DeviceId device) { return plan_.device_name(device); };
  switch (plan_.kind(op)) {
    case OpKind::kCopy:
      return fmt::format("copy to {}", name(plan_.copy(op).to));
    case OpKind::kSend:
      return fmt::format("send to {}", name(plan_.message(op).peer));
    case OpKind::kRecv:
      return fmt::format("receive from {}", name(plan_.message(op).peer));
    case OpKind::kCollective:
      break;
    case OpKind::kCompute:
    case OpKind::kHost:
    case OpKind::kMarker:
      return std::string(name_of(plan_.kind(op)));
  }
  const std::size_t ranks = plan_.instance_ops(plan_.collective(op).instance).size();
  std::string text = fmt::format("{} over {} ranks", name_of(plan_.shape(op).kind), ranks);
  if (const CollectiveRun* const run = run_of(plan_, trace_, op); run != nullptr) {
    text += run->algorithm.empty() ? "" : ", " + run->algorithm;
    text += run->protocol.empty() ? "" : " " + run->protocol;
    text += run->bottleneck.empty() ? "" : ", limited by " + run->bottleneck;
  }
  return text;
}

TimelineLabels::Found TimelineLabels::find(OpId op, std::string_view owner) {
  std::string_view id = after_step(plan_.id(op));
  const bool is_owned = !owner.empty() && id.size() > owner.size() && id.ends_with(owner);
  if (is_owned) {
    id.remove_suffix(owner.size() - 1);  // keeps the '@'
  }
  const MicroBatch micro =
      id.find('#') == std::string_view::npos ? find_micro_batch(id) : MicroBatch{};
  const bool has_micro = micro.number >= 0;
  const std::string name =
      has_micro ? fmt::format("{}#{}", id.substr(0, micro.begin), id.substr(micro.end))
                : std::string(id);
  const double flops = plan_.kind(op) == OpKind::kCompute ? plan_.compute(op).flops : 0;
  const std::string more = more_about(op);
  const std::int64_t bytes = bytes_of(plan_, op);
  const auto [found, is_new] =
      known_.emplace(fmt::format("{}\n{}\n{}\n{}", name, bytes, flops, more),
                     static_cast<std::uint32_t>(rows_.size()));
  if (is_new) {
    rows_.push_back(
        {name, static_cast<int>(category_of(plan_, op)), bytes, flops, more, has_micro ? 1 : 0});
    bytes_ += found->first.size() + 16;
  }
  return {found->second, micro.number};
}

}  // namespace twinrun::report
