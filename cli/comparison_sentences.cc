#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cli/breakdown_json.h"
#include "cli/comparison_text.h"

// A comparison in sentences.

namespace twinrun::cli {
namespace {

std::string seconds_of(double seconds) {
  return to_text(Time{std::llround(std::abs(seconds) * 1e12)});
}
std::string signed_seconds(double seconds) {
  return fmt::format("{}{}", seconds < 0 ? "-" : "+", seconds_of(seconds));
}
std::string share_text(double part, double whole) {
  return fmt::format("{:.0f} %", whole == 0 ? 0 : 100 * part / whole);
}

using Parts = std::vector<std::pair<std::string, double>>;

// The largest of them, as many as matter: "imbalance +491 us (87 %), compute -307 us (-54 %)". Of
// parts that nearly cancel each other a share says nothing, and is left out.
std::string largest_text(Parts parts, double whole, std::size_t most) {
  constexpr double kSmallestShare = 0.05;
  constexpr double kLargestShare = 4;
  const auto size = [](double seconds) { return std::llround(std::abs(seconds) * 1e12); };
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const auto& x, const auto& y) { return size(x.second) > size(y.second); });
  const double largest = parts.empty() ? 0 : std::abs(parts.front().second);
  const bool has_shares = largest <= kLargestShare * std::abs(whole);
  const double smallest = kSmallestShare * (has_shares ? std::abs(whole) : largest);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, parts.size()); ++i) {
    if (std::abs(parts[i].second) < smallest) {
      break;
    }
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", parts[i].first,
                        signed_seconds(parts[i].second),
                        has_shares ? fmt::format(" ({})", share_text(parts[i].second, whole)) : "");
  }
  return text;
}

Parts breakdown_parts(const Comparison& comparison) {
  const auto a = breakdown_json(comparison.a_breakdown);
  const auto b = breakdown_json(comparison.b_breakdown);
  Parts parts;
  for (const auto& [name, seconds] : a.items()) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    parts.emplace_back(std::move(words), b[name].get<double>() - seconds.get<double>());
  }
  return parts;
}

// What people would call the same: both figures look alike, and what is left is rounding.
bool is_as_long(const Comparison& comparison) {
  constexpr double kAlike = 5e-4;
  return std::abs(comparison.b.step_s - comparison.a.step_s) <= kAlike * comparison.a.step_s;
}

// "Executed, a step takes 2 ms (10 %) longer than simulated: …", "In B a step takes …".
std::string step_sentence(const Comparison& comparison, const CompareNames& names) {
  const double difference = comparison.b.step_s - comparison.a.step_s;
  if (is_as_long(comparison)) {
    return fmt::format("A step takes {} in both{}.", seconds_of(comparison.a.step_s),
                       difference == 0 ? "" : fmt::format(", {} apart", seconds_of(difference)));
  }
  std::string begin = names.b_title;
  begin.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(begin.front())));
  const bool are_letters = names.a_title == "A";
  const std::string how_much = fmt::format(
      "{} a step takes {} ({:.1f} %) {} than {}{}", are_letters ? "In B" : begin + ",",
      seconds_of(difference), 100 * std::abs(difference) / std::max(1e-12, comparison.a.step_s),
      difference > 0 ? "longer" : "less", are_letters ? "in " : "", names.a_title);
  const std::string parts = largest_text(breakdown_parts(comparison), difference, 4);
  return how_much + (parts.empty() ? "." : fmt::format(": {}.", parts));
}

// With its rank where there is one that has nearly all of it: a straggler.
std::string where_text(const NameDifference& name) {
  return name.ranks > 1 && name.is_mostly_on_one ? name.most_on : name.name;
}

// The device that nearly all of it is on, though others might have been: a straggler. "" when there
// is none.
std::string straggler(const Comparison& comparison) {
  constexpr double kNearlyAll = 0.9;
  constexpr double kFartherApart = 1.5;
  const auto apart = [](const DeviceDifference& device) {
    return device.a && device.b ? device.b->compute_s - device.a->compute_s : 0;
  };
  double mean = 0;
  for (const DeviceDifference& device : comparison.devices) {
    mean += apart(device) / static_cast<double>(comparison.devices.size());
  }
  for (const DeviceDifference& device : comparison.devices) {
    if (!device.a || !device.b) {
      return "";  // a run of which not every rank is known
    }
    const bool has_it = device.on_path_s / comparison.step_difference_s >= kNearlyAll;
    if (has_it && std::abs(apart(device)) > kFartherApart * std::abs(mean)) {
      return device.device;
    }
  }
  return "";
}

Parts phase_parts(const Comparison& comparison) {
  Parts parts;
  for (const GroupDifference& phase : comparison.phases) {
    parts.emplace_back(phase.name, phase.b.on_path_s - phase.a.on_path_s);
  }
  return parts;
}

// By layer and bucket along the path of the slower run; by phase along the paths of both where none
// of them stands out, or where the other run does not have them.
std::string path_sentence(const Comparison& comparison, const CompareNames& names) {
  constexpr std::size_t kMost = 4;
  if (comparison.step_difference_s == 0 || is_as_long(comparison)) {
    return "";
  }
  std::string text;
  if (is_explained_by_ops(comparison)) {
    Parts parts = {{"waiting", comparison.waiting_difference_s}};
    for (const NameDifference& name : comparison.names) {
      parts.emplace_back(where_text(name), name.on_path_s);
    }
    text = largest_text(std::move(parts), comparison.step_difference_s, kMost);
  }
  const std::string& slower = comparison.b_is_slower ? names.b_title : names.a_title;
  std::string begin = fmt::format("Along the critical path of {}", slower);
  if (text.empty()) {
    begin = "Along their critical paths";
    text = largest_text(phase_parts(comparison), comparison.step_difference_s, kMost);
  }
  const std::string device = straggler(comparison);
  return text.empty() ? ""
                      : fmt::format("{}: {}{}.", begin, text,
                                    device.empty() ? "" : ", nearly all of it on " + device);
}

// What lies within the spread of the steps may be gone next time.
std::string spread_sentence(const Comparison& comparison) {
  const MetricDifference& step = comparison.metrics.front();
  const double spread = std::max(step.a_deviation, step.b_deviation);
  const double difference = std::abs(comparison.b.step_s - comparison.a.step_s);
  return !is_as_long(comparison) && difference <= spread
             ? fmt::format("That is within the spread of the steps, ± {}.", seconds_of(spread))
             : "";
}

std::string parting_sentence(const Comparison& comparison, const CompareNames& names) {
  const PathParting& parting = comparison.paths.parting;
  if (comparison.paths.a.empty() || comparison.paths.b.empty()) {
    return "";
  }
  if (parting.are_same) {
    return fmt::format("The critical paths are the same {} ops.", parting.common);
  }
  const auto next = [](const std::string& op) { return op.empty() ? "its end" : op; };
  std::string text = parting.after.empty()
                         ? std::string("The critical paths part at once")
                         : fmt::format("The critical paths part after {} common ops, at {}",
                                       parting.common, parting.after);
  text += fmt::format(": {} goes on with {}, {} with {}", names.a_title, next(parting.next_in_a),
                      names.b_title, next(parting.next_in_b));
  return text +
         (parting.meet_at.empty() ? "." : fmt::format("; they meet at {}.", parting.meet_at));
}

std::string incomplete_sentence(const RunSummary& run, const std::string& title) {
  if (run.failure.empty() && run.incomplete_steps == 0) {
    return "";
  }
  const std::string why = run.failure.empty() ? "" : fmt::format(" ({})", run.failure);
  return fmt::format("{} did not run to its end{}: {} whole {} of it compared.", title, why,
                     run.steps, run.steps == 1 ? "step is" : "steps are");
}

// Ops that neither side shares with the other, where that is most of them.
std::string join_sentence(const Comparison& comparison, const CompareNames& names) {
  std::size_t by_size = 0;
  for (const CollectiveDifference& collective : comparison.collectives) {
    by_size += collective.joined_by == JoinedBy::kOrderAndSize ? 1U : 0U;
  }
  const std::size_t only_a = comparison.only_in_a.size() + comparison.only_in_a_left_out;
  const std::size_t only_b = comparison.only_in_b.size() + comparison.only_in_b_left_out;
  std::string text;
  if (by_size > 0) {
    text = fmt::format("{} collectives are joined by rank, kind, size and order. ", by_size);
  }
  if (only_a + only_b > 0) {
    text += fmt::format("{} ops are only in {}, {} only in {}; they are compared by phase.", only_a,
                        names.a_title, only_b, names.b_title);
  }
  return text;
}

bool is_prediction(const Comparison& comparison) {
  return comparison.a.source == "simulated" && comparison.b.source != "simulated";
}

}  // namespace

bool is_explained_by_ops(const Comparison& comparison) {
  return comparison.joined_path_share >= 0.5;
}

CompareNames names_of(const Comparison& comparison, const std::string& a, const std::string& b) {
  const bool are_alike = comparison.a.source == comparison.b.source;
  return {a, b, are_alike ? "A" : comparison.a.source, are_alike ? "B" : comparison.b.source};
}

std::vector<std::string> comparison_sentences(const Comparison& comparison,
                                              const CompareNames& names) {
  std::vector<std::string> out;
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) {
      out.push_back(std::move(sentence));
    }
  };
  if (comparison.a.steps > 0 && comparison.b.steps > 0) {
    add(step_sentence(comparison, names));
    add(spread_sentence(comparison));
    add(path_sentence(comparison, names));
    add(parting_sentence(comparison, names));
  }
  add(incomplete_sentence(comparison.a, names.a_title));
  add(incomplete_sentence(comparison.b, names.b_title));
  add(join_sentence(comparison, names));
  return out;
}

std::string comparison_advice(const Comparison& comparison, const CompareNames& names) {
  constexpr double kGoodEnough = 0.05;
  const double difference = std::abs(comparison.b.step_s - comparison.a.step_s);
  const bool is_one_input = names.b.find(',') == std::string::npos;  // not PLAN,TRACE
  if (!is_prediction(comparison) || !is_one_input || comparison.b.steps == 0 ||
      difference <= kGoodEnough * comparison.b.step_s) {
    return "";
  }
  return fmt::format("suggest: twinrun calibrate --from {} {} -o calibrated.json",
                     comparison.b.source == "imported" ? "kineto" : "run", names.b);
}

std::string checks_text(const std::vector<CompareCheck>& checks) {
  std::string out;
  std::size_t passed = 0;
  for (const CompareCheck& check : checks) {
    passed += check.has_passed ? 1U : 0U;
    if (!check.has_passed) {
      out += check.difference_pct
                 ? fmt::format("check failed: {} differs by {:.1f} %, more than {:g} % ({})\n",
                               check.metric, std::abs(*check.difference_pct), check.limit_pct,
                               check.rule)
                 : fmt::format("check failed: {} cannot be compared\n", check.metric);
    }
  }
  return out + (passed > 0 ? fmt::format("{} of {} checks passed\n", passed, checks.size()) : "");
}

}  // namespace twinrun::cli
