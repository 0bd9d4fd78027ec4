#include "cli/comparison_json.h"

#include <optional>
#include <string_view>
#include <vector>

#include "cli/breakdown_json.h"

namespace twinrun::cli {
namespace {

using Json = nlohmann::ordered_json;

Json known(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }
Json known(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string_view name_of(JoinedBy how) {
  switch (how) {
    case JoinedBy::kNothing:
      return "nothing";
    case JoinedBy::kName:
      return "name";
    case JoinedBy::kOrderAndSize:
      return "order and size";
  }
  return "";
}

std::string_view name_of(MetricUnit unit) {
  switch (unit) {
    case MetricUnit::kSeconds:
      return "s";
    case MetricUnit::kPerSecond:
      return "1/s";
    case MetricUnit::kPercent:
      return "%";
    case MetricUnit::kBytes:
      return "B";
  }
  return "";
}

Json run_json(const RunSummary& run) {
  return {{"name", run.name},
          {"source", run.source},
          {"steps", run.steps},
          {"incomplete_steps", run.incomplete_steps},
          {"step_s", run.steps > 0 ? Json(run.step_s) : Json(nullptr)},
          {"failure", known(run.failure)}};
}

Json metrics_json(const std::vector<MetricDifference>& metrics) {
  Json out = Json::array();
  for (const MetricDifference& metric : metrics) {
    const bool both = metric.a && metric.b;
    out.push_back({{"name", metric.name},
                   {"a", known(metric.a)},
                   {"b", known(metric.b)},
                   {"difference_pct", known(metric.difference_pct)},
                   {"difference", both ? Json(*metric.b - *metric.a) : Json(nullptr)},
                   {"unit", name_of(metric.unit)},
                   {"a_deviation", metric.a_deviation},
                   {"b_deviation", metric.b_deviation}});
  }
  return out;
}

Json op_json(const OpDifference& op) {
  const bool both = op.joined_by != JoinedBy::kNothing;
  const auto there = [&](double value) { return both || value != 0 ? Json(value) : Json(nullptr); };
  return {{"op", op.name},
          {"a_s", there(op.a_s)},
          {"b_s", there(op.b_s)},
          {"difference_s", op.b_s - op.a_s},
          {"share_of_error_pct", known(op.share_pct)},
          {"kind", name_of(op.kind)},
          {"phase", name_of(op.phase)},
          {"on_path_s", op.on_path_s},
          {"a_waiting_s", there(op.a_waiting_s)},
          {"b_waiting_s", there(op.b_waiting_s)},
          {"joined_by", name_of(op.joined_by)}};
}

Json name_json(const NameDifference& name) {
  return {{"name", name.name},
          {"ranks", name.ranks},
          {"a_s", name.a_s},
          {"b_s", name.b_s},
          {"difference_s", name.b_s - name.a_s},
          {"share_of_error_pct", known(name.share_pct)},
          {"on_path_s", name.on_path_s},
          {"a_waiting_s", name.a_waiting_s},
          {"b_waiting_s", name.b_waiting_s},
          {"most_on", name.most_on}};
}

Json waits_json(const std::vector<WaitDifference>& waits) {
  Json out = Json::array();
  for (const WaitDifference& wait : waits) {
    out.push_back({{"before", known(wait.before)},
                   {"a_s", wait.a_s},
                   {"b_s", wait.b_s},
                   {"difference_s", wait.on_path_s},
                   {"share_of_error_pct", known(wait.share_pct)}});
  }
  return out;
}

Json breakdown_rows(const Comparison& comparison) {
  const Json a = breakdown_json(comparison.a_breakdown);
  const Json b = breakdown_json(comparison.b_breakdown);
  Json out = Json::array();
  for (const auto& [part, seconds] : a.items()) {
    const double of_a = seconds.get<double>();
    const double of_b = b[part].get<double>();
    out.push_back({{"part", part}, {"a_s", of_a}, {"b_s", of_b}, {"difference_s", of_b - of_a}});
  }
  return out;
}

Json groups_json(const std::vector<GroupDifference>& groups) {
  const auto times = [](const GroupTimes& group) {
    return Json{{"ops", group.ops},
                {"working_s", group.working_s},
                {"waiting_s", group.waiting_s},
                {"on_path_s", group.on_path_s}};
  };
  Json out = Json::array();
  for (const GroupDifference& group : groups) {
    out.push_back({{"name", group.name},
                   {"a", times(group.a)},
                   {"b", times(group.b)},
                   {"working_difference_s", group.b.working_s - group.a.working_s},
                   {"on_path_difference_s", group.b.on_path_s - group.a.on_path_s}});
  }
  return out;
}

Json devices_json(const std::vector<DeviceDifference>& devices) {
  const auto times = [](const std::optional<DeviceTimes>& device) {
    return device ? Json{{"compute_s", device->compute_s},
                         {"communication_s", device->communication_s},
                         {"exposed_s", device->exposed_s},
                         {"waiting_s", device->waiting_s},
                         {"idle_s", device->idle_s}}
                  : Json(nullptr);
  };
  Json out = Json::array();
  for (const DeviceDifference& device : devices) {
    out.push_back({{"device", device.device},
                   {"device_in_b", known(device.device_in_b)},
                   {"on_path_s", device.on_path_s},
                   {"a", times(device.a)},
                   {"b", times(device.b)}});
  }
  return out;
}

Json collectives_json(const std::vector<CollectiveDifference>& collectives) {
  const auto times = [](const std::optional<CollectiveTimes>& run) {
    return run ? Json{{"op", run->name},
                      {"start_s", run->start_s},
                      {"time_s", run->time_s},
                      {"waiting_s", run->waiting_s},
                      {"algorithm", known(run->algorithm)},
                      {"protocol", known(run->protocol)},
                      {"bottleneck", known(run->bottleneck)}}
               : Json(nullptr);
  };
  Json out = Json::array();
  for (const CollectiveDifference& collective : collectives) {
    const bool both = collective.a && collective.b;
    out.push_back(
        {{"op", collective.a ? collective.a->name : collective.b->name},
         {"kind", twinrun::name_of(collective.kind)},
         {"bytes", collective.bytes},
         {"ranks", collective.ranks},
         {"joined_by", name_of(collective.joined_by)},
         {"difference_s", both ? Json(collective.b->time_s - collective.a->time_s) : Json(nullptr)},
         {"a", times(collective.a)},
         {"b", times(collective.b)}});
  }
  return out;
}

Json links_json(const std::vector<LinkDifference>& links) {
  const auto use = [](const std::optional<LinkUse>& link) {
    return link ? Json{{"bytes", link->bytes}, {"busy_pct", link->busy_pct}} : Json(nullptr);
  };
  Json out = Json::array();
  for (const LinkDifference& link : links) {
    out.push_back({{"link", link.link},
                   {"a", use(link.a)},
                   {"b", use(link.b)},
                   {"collectives_a_s", link.limited_a_s},
                   {"collectives_b_s", link.limited_b_s},
                   {"difference_s", link.limited_b_s - link.limited_a_s}});
  }
  return out;
}

Json path_rows(const std::vector<PathOp>& path) {
  Json out = Json::array();
  for (const PathOp& op : path) {
    out.push_back({{"op", op.op},
                   {"device", op.device},
                   {"phase", name_of(op.phase)},
                   {"start_s", op.start_s},
                   {"end_s", op.end_s}});
  }
  return out;
}

Json paths_json(const ComparedPaths& paths) {
  const PathParting& parting = paths.parting;
  return {{"same", parting.are_same},
          {"common_ops", parting.common},
          {"part_after", known(parting.after)},
          {"next_in_a", known(parting.next_in_a)},
          {"next_in_b", known(parting.next_in_b)},
          {"meet_again_at", known(parting.meet_at)},
          {"a", path_rows(paths.a)},
          {"b", path_rows(paths.b)}};
}

}  // namespace

Json comparison_json(const Comparison& comparison) {
  Json json;
  json["schema"] = "twinrun/comparison/1";
  json["a"] = run_json(comparison.a);
  json["b"] = run_json(comparison.b);
  json["metrics"] = metrics_json(comparison.metrics);
  json["step_difference_s"] = comparison.step_difference_s;
  json["explained_along"] = comparison.b_is_slower ? "critical path of b" : "critical path of a";
  json["joined_path_pct"] = 100 * comparison.joined_path_share;
  json["ops"] = Json::array();
  for (const OpDifference& op : comparison.ops) {
    json["ops"].push_back(op_json(op));
  }
  json["ops_left_out"] = comparison.ops_left_out;
  json["names"] = Json::array();
  for (const NameDifference& name : comparison.names) {
    json["names"].push_back(name_json(name));
  }
  json["names_left_out"] = comparison.names_left_out;
  json["waiting"] = {{"difference_s", comparison.waiting_difference_s},
                     {"share_of_error_pct", known(comparison.waiting_share_pct)}};
  json["waits"] = waits_json(comparison.waits);
  json["only_in_a"] = comparison.only_in_a;
  json["only_in_b"] = comparison.only_in_b;
  json["only_in_a_left_out"] = comparison.only_in_a_left_out;
  json["only_in_b_left_out"] = comparison.only_in_b_left_out;
  json["breakdown"] = breakdown_rows(comparison);
  json["kinds"] = groups_json(comparison.kinds);
  json["phases"] = groups_json(comparison.phases);
  json["devices"] = devices_json(comparison.devices);
  json["collectives"] = collectives_json(comparison.collectives);
  json["links"] = links_json(comparison.links);
  json["critical_path"] = paths_json(comparison.paths);
  return json;
}

}  // namespace twinrun::cli
