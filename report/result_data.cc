#include "report/result_data.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostGroups = 64;
constexpr std::size_t kMostSteps = 2000;

// Neighbours that differ in nothing but their name become one.
Json grouped(const Json& devices, const std::vector<std::string>& apart) {
  const auto essence = [&](Json device) {
    for (const std::string& key : apart) {
      device.erase(key);
    }
    return device;
  };
  Json out = Json::array();
  Json last;
  for (const Json& device : devices) {
    Json now = essence(device);
    const std::string name = device.value("device", "");
    if (!out.empty() && now == last) {
      Json& group = out.back();
      group["count"] = group["count"].get<int>() + 1;
      group["last_device"] = name;
      continue;
    }
    if (out.size() == kMostGroups) {
      break;
    }
    Json group = device;
    group["count"] = 1;
    group["last_device"] = name;
    out.push_back(std::move(group));
    last = std::move(now);
  }
  return out;
}

struct CollectiveSum {
  Json shown;
  std::size_t count = 0;
  double time_s = 0;
};

// By what was done to how many bytes over how many ranks.
Json summed_collectives(const Json& collectives) {
  std::vector<CollectiveSum> sums;
  std::unordered_map<std::string, std::size_t> known;
  for (const Json& one : collectives) {
    Json key;
    for (const char* const part : {"kind", "algorithm", "protocol", "ranks", "bytes"}) {
      key[part] = one.value(part, Json(nullptr));
    }
    const auto [found, is_new] = known.emplace(key.dump(), sums.size());
    if (is_new) {
      key["bottleneck"] = one.value("bottleneck", Json(nullptr));
      key["busbw_GBps"] = one.value("busbw_GBps", Json(nullptr));
      key["op"] = one.value("op", Json(nullptr));
      sums.push_back({std::move(key)});
    }
    CollectiveSum& sum = sums[found->second];
    ++sum.count;
    sum.time_s += one.value("time_s", 0.0);
  }
  std::stable_sort(sums.begin(), sums.end(), [](const CollectiveSum& a, const CollectiveSum& b) {
    return a.time_s > b.time_s;
  });
  Json out = Json::array();
  for (std::size_t i = 0; i < std::min(sums.size(), kMostGroups); ++i) {
    Json row = std::move(sums[i].shown);
    row["count"] = sums[i].count;
    row["mean_time_s"] = sums[i].time_s / static_cast<double>(sums[i].count);
    row["total_time_s"] = sums[i].time_s;
    out.push_back(std::move(row));
  }
  return out;
}

// The last so many, where there are more.
Json capped(const Json& list) {
  const std::size_t first = list.size() - std::min(list.size(), kMostSteps);
  return Json(std::vector<Json>(list.begin() + static_cast<std::ptrdiff_t>(first), list.end()));
}

}  // namespace

Json result_data(const Json& result) {
  Json out;
  for (const auto& [key, value] : result.items()) {
    if (key == "links" || key == "critical_path" || key == "rows") {
      continue;
    }
    if (key == "memory") {
      out[key] = grouped(value, {"device", "at_op", "at_s"});
    } else if (key == "devices_detail") {
      out[key] = grouped(value, {"device"});
    } else if (key == "collectives") {
      out[key] = summed_collectives(value);
    } else {
      out[key] = value.is_array() ? capped(value) : value;
    }
  }
  return out;
}

}  // namespace twinrun::report
