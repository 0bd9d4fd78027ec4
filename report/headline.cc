#include "report/headline.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/units.h"

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kWorthSaying = 0.02;  // of a step

double number(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

std::string time_text(double seconds) {
  return to_text(Time{static_cast<std::int64_t>(std::llround(seconds * 1e12))});
}

std::string bytes_text(double bytes) { return to_text(Bytes{std::llround(bytes)}); }

std::string devices_text(double count) {
  return count == 1 ? "one device" : fmt::format("{:.0f} devices", count);
}

std::string step_sentence(const Json& result) {
  const double devices = number(result, "devices");
  std::string text = fmt::format("A step takes {}", time_text(number(result, "step_s")));
  if (const double rate = number(result, "samples_per_s"); rate > 0) {
    text += fmt::format(": {} samples/s on {}",
                        rate < 100 ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate),
                        devices_text(devices));
  }
  if (const double share = number(result, "scaling_efficiency_pct"); share > 0 && devices > 1) {
    text += fmt::format(", {:.1f} % of {:.0f} times one", share, devices);
  }
  return text + ".";
}

// The largest part of a step that is not compute.
std::string lost_sentence(const Json& result) {
  constexpr std::pair<const char*, const char*> kLost[] = {
      {"recompute", "recomputing activations"},
      {"exposed_communication", "communication that nothing hides"},
      {"bubble", "pipeline bubble"},
      {"imbalance", "waiting for others that have more to do"},
      {"input_wait", "waiting for input"},
      {"server_wait", "waiting for servers"},
      {"update", "the update"},
      {"host", "the host"},
      {"idle", "idle"},
  };
  const auto parts = result.find("breakdown_s");
  const double step = number(result, "step_s");
  if (parts == result.end() || !parts->is_object() || step <= 0) {
    return "";
  }
  double most = 0;
  const char* what = "";
  for (const auto& [key, words] : kLost) {
    if (const double seconds = number(*parts, key); seconds > most) {
      most = seconds;
      what = words;
    }
  }
  if (most < kWorthSaying * step) {
    return number(result, "t2_s") > 0 ? " Compute hides nearly all communication." : "";
  }
  return fmt::format(" {:.0f} % of it is {}.", 100 * most / step, what);
}

std::string bounds_sentence(const Json& result) {
  const double t1 = number(result, "t1_s");
  const double t2 = number(result, "t2_s");
  if (t1 <= 0 || t2 <= 0) {
    return "";
  }
  return fmt::format(" Compute alone takes {} (t1), communication alone {} (t2).", time_text(t1),
                     time_text(t2));
}

std::string memory_sentence(const Json& result) {
  double fullest = 0;
  const Json* worst = nullptr;
  const Json devices = result.value("memory", Json::array());
  for (const Json& device : devices) {
    if (device.value("fits", Json(nullptr)) == Json(false) &&
        number(device, "peak_bytes") > fullest) {
      fullest = number(device, "peak_bytes");
      worst = &device;
    }
  }
  if (worst == nullptr) {
    return "";
  }
  return fmt::format(" It does not fit: {} needs {} and has {}.", worst->value("device", ""),
                     bytes_text(fullest), bytes_text(number(*worst, "capacity_bytes")));
}

std::string set_text(const Json& point) {
  std::vector<std::string> parts;
  const Json set = point.value("set", Json::object());
  for (const auto& [path, value] : set.items()) {
    const std::size_t dot = path.rfind('.');
    parts.push_back(fmt::format("{} = {}", dot == std::string::npos ? path : path.substr(dot + 1),
                                value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string headline_of_run(const Json& result) {
  return step_sentence(result) + lost_sentence(result) + bounds_sentence(result) +
         memory_sentence(result);
}

std::string headline_of_two(const Json& a, const Json& b) {
  const double first = number(a, "step_s");
  const double second = number(b, "step_s");
  const auto name = [](const Json& result) {
    return result.value("source", "") == "executed" ? "executed" : "simulated";
  };
  std::string text = fmt::format("A step takes {} {} and {} {}", time_text(first), name(a),
                                 time_text(second), name(b));
  if (second > 0) {
    const double error = 100 * (first / second - 1);
    const bool is_prediction = name(a) != name(b);
    text += std::abs(error) < 0.05
                ? ": the same"
                : fmt::format(": the {} is {:.1f} % {}", is_prediction ? "prediction" : "first",
                              std::abs(error), error < 0 ? "too short" : "too long");
    if (!is_prediction && std::abs(error) >= 0.05) {
      text.resize(text.rfind("% ") + 2);
      text += error < 0 ? "shorter" : "longer";
    }
  }
  return text + ".";
}

std::string headline_of_sweep(const Json& sweep) {
  const Json points = sweep.value("points", Json::array());
  std::size_t failed = 0;
  std::size_t too_large = 0;
  for (const Json& point : points) {
    failed += point.contains("step_s") ? 0U : 1U;
    too_large += point.value("fits", Json(true)) == Json(false) ? 1U : 0U;
  }
  const Json best = sweep.value("best", Json::object()).value("samples_per_s", Json::object());
  std::string text =
      best.contains("value")
          ? fmt::format("Of {} points, {} is fastest: {:.0f} samples/s.", points.size(),
                        set_text(best), number(best, "value"))
          : fmt::format("None of {} points could be simulated and fits.", points.size());
  if (too_large > 0) {
    text += fmt::format(" {} do not fit into memory.", too_large);
  }
  if (failed > 0) {
    text += fmt::format(" {} cannot be carried out.", failed);
  }
  return text;
}

}  // namespace twinrun::report
