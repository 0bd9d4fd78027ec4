#include "report/topology_data.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twinrun::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBoxesOfTier = 40;
constexpr std::size_t kMostDetailedLinks = 3000;
constexpr std::size_t kMostListed = 40;

struct Carried {
  double bytes = 0;
  double busy_pct = 0;
};

class TopologyDrawing {
 public:
  TopologyDrawing(const Topology& topology, const Json& links) : topology_(topology) {
    if (links.is_array() && links.size() == topology.link_count()) {
      carried_.reserve(links.size());
      for (const Json& link : links) {
        carried_.push_back({link.value("bytes", 0.0), link.value("busy_pct", 0.0)});
      }
    }
  }

  Json json() {
    Json out;
    out["name"] = topology_.name();
    out["description"] = topology_.description();
    out["fabric"] = topology_.fabric_kind();
    out["knows_use"] = !carried_.empty() || topology_.link_count() == 0;
    out["machines"] = topology_.node_count();
    out["details"] = details();
    add_network(out);
    out["busiest"] = busiest();
    out["links"] = topology_.link_count();
    out["left_out"] = fmt::format("{}", fmt::join(left_out_, " "));
    return out;
  }

 private:
  [[nodiscard]] Carried carried(LinkId link) const {
    return carried_.empty() ? Carried{} : carried_[index_of(link)];
  }

  [[nodiscard]] double busiest_of(NodeId node) const {
    double most = 0;
    const auto count = topology_.shape(node).links.size();
    for (std::uint32_t i = 0; i < count; ++i) {
      most = std::max(most, carried(topology_.link_in(node, i)).busy_pct);
    }
    return most;
  }

  // The busiest machines, as many as fit; in the topology's order.
  Json details() {
    std::vector<std::size_t> order(topology_.node_count());
    std::vector<double> busy(topology_.node_count());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
      busy[i] = busiest_of(id_at<NodeId>(i));
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return busy[a] > busy[b]; });
    std::vector<std::size_t> chosen;
    std::size_t links = 0;
    for (const std::size_t i : order) {
      links += topology_.shape(id_at<NodeId>(i)).links.size();
      if (!chosen.empty() && links > kMostDetailedLinks) {
        left_out_.push_back(fmt::format("The inside of the {} busiest of {} machines can be drawn.",
                                        chosen.size(), order.size()));
        break;
      }
      chosen.push_back(i);
    }
    std::sort(chosen.begin(), chosen.end());
    Json out = Json::array();
    for (const std::size_t i : chosen) {
      out.push_back(detail(id_at<NodeId>(i)));
    }
    return out;
  }

  Json detail(NodeId node) const {
    const NodeShape& shape = topology_.shape(node);
    Json vertices = Json::array();
    for (std::uint32_t i = 0; i < shape.vertices.size(); ++i) {
      const VertexId vertex = topology_.vertex_in(node, i);
      const DeviceSpec* const device = topology_.device(vertex);
      vertices.push_back(
          {shape.name_of(i), word(topology_.kind(vertex)), device == nullptr ? "" : device->name});
    }
    Json links = Json::array();
    for (std::uint32_t i = 0; i < shape.links.size(); ++i) {
      const LinkId link = topology_.link_in(node, i);
      const LinkId back = topology_.reverse(link);
      if (back == no_id<LinkId>() || index_of(link) < index_of(back)) {
        links.push_back(link_json(node, link, back));
      }
    }
    return {{"name", topology_.node_name(node)},
            {"template", shape.template_name},
            {"busy_pct", busiest_of(node)},
            {"vertices", std::move(vertices)},
            {"links", std::move(links)}};
  }

  [[nodiscard]] Json link_json(NodeId node, LinkId link, LinkId back) const {
    const std::uint32_t first = topology_.node(node).first_vertex;
    const auto use = [&](LinkId one) -> Json {
      if (one == no_id<LinkId>()) {
        return nullptr;
      }
      return {carried(one).bytes, carried(one).busy_pct};
    };
    return {index_of(topology_.from(link)) - first,
            index_of(topology_.to(link)) - first,
            word(topology_.link_kind(link)),
            to_gigabytes_per_second(topology_.bandwidth(link)),
            to_microseconds(topology_.latency(link)),
            topology_.bonded(link),
            use(link),
            use(back)};
  }

  // Machines and switches by the words they are named with: node, leaf, spine.
  [[nodiscard]] std::string tier_of(VertexId vertex) const {
    const NodeId node = topology_.node_of(vertex);
    if (node != no_id<NodeId>()) {
      return topology_.node_word(node);
    }
    std::string name = topology_.name(vertex);
    name.erase(std::find_if(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }),
               name.end());
    return name;
  }

  struct Box {
    std::string name;
    std::string tier;
    bool is_machine = false;
    std::size_t count = 0;
  };

  std::size_t box_of(VertexId vertex) {
    const NodeId node = topology_.node_of(vertex);
    const bool is_machine = node != no_id<NodeId>();
    const std::string tier = tier_of(vertex);
    const bool is_many = tier_sizes_[tier] > kMostBoxesOfTier;
    const std::string name = is_many      ? tier
                             : is_machine ? topology_.node_name(node)
                                          : topology_.name(vertex);
    const auto [found, is_new] = box_by_name_.emplace(name, boxes_.size());
    if (is_new) {
      boxes_.push_back({name, tier, is_machine, is_many ? tier_sizes_[tier] : 1});
    }
    return found->second;
  }

  void count_tiers() {
    for (std::size_t i = 0; i < topology_.node_count(); ++i) {
      ++tier_sizes_[topology_.node_word(id_at<NodeId>(i))];
    }
    for (std::size_t i = topology_.fabric_first_vertex(); i < topology_.vertex_count(); ++i) {
      ++tier_sizes_[tier_of(id_at<VertexId>(i))];
    }
    for (const auto& [tier, size] : tier_sizes_) {
      if (size > kMostBoxesOfTier) {
        left_out_.push_back(fmt::format(
            "The {} of tier \"{}\" are one box; its wires show the busiest.", size, tier));
      }
    }
  }

  void add_network(Json& out) {
    count_tiers();
    for (std::size_t i = 0; i < topology_.node_count(); ++i) {
      box_of(topology_.vertex_in(id_at<NodeId>(i), 0));
    }
    struct Wire {
      std::size_t links = 0;
      double gigabytes_per_s = 0;  // of one
      double bytes = 0;
      double busy_pct = 0;  // of the busiest
    };
    std::map<std::pair<std::size_t, std::size_t>, Wire> wires;
    for (std::size_t i = topology_.fabric_first_link(); i < topology_.link_count(); ++i) {
      const auto link = id_at<LinkId>(i);
      const std::size_t from = box_of(topology_.from(link));
      const std::size_t to = box_of(topology_.to(link));
      Wire& wire = wires[std::minmax(from, to)];
      ++wire.links;
      wire.gigabytes_per_s = to_gigabytes_per_second(topology_.bandwidth(link));
      wire.bytes += carried(link).bytes;
      wire.busy_pct = std::max(wire.busy_pct, carried(link).busy_pct);
    }
    out["boxes"] = Json::array();
    for (const Box& box : boxes_) {
      out["boxes"].push_back({{"name", box.name},
                              {"tier", box.tier},
                              {"is_machine", box.is_machine},
                              {"count", box.count}});
    }
    out["wires"] = Json::array();
    for (const auto& [ends, wire] : wires) {
      out["wires"].push_back(
          {ends.first, ends.second, wire.links, wire.gigabytes_per_s, wire.bytes, wire.busy_pct});
    }
  }

  [[nodiscard]] Json busiest() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < carried_.size(); ++i) {
      if (carried_[i].bytes > 0) {
        order.push_back(i);
      }
    }
    const std::size_t shown = std::min(order.size(), kMostListed);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown),
                      order.end(), [&](std::size_t a, std::size_t b) {
                        return std::pair(-carried_[a].busy_pct, a) <
                               std::pair(-carried_[b].busy_pct, b);
                      });
    Json out = Json::array();
    for (std::size_t i = 0; i < shown; ++i) {
      const auto link = id_at<LinkId>(order[i]);
      out.push_back({topology_.link_name(link), word(topology_.link_kind(link)),
                     to_gigabytes_per_second(topology_.bandwidth(link)), carried_[order[i]].bytes,
                     carried_[order[i]].busy_pct});
    }
    return out;
  }

  const Topology& topology_;
  std::vector<Carried> carried_;
  std::map<std::string, std::size_t> tier_sizes_;
  std::map<std::string, std::size_t> box_by_name_;
  std::vector<Box> boxes_;
  std::vector<std::string> left_out_;
};

}  // namespace

Json topology_data(const Topology& topology, const Json& links) {
  return TopologyDrawing(topology, links).json();
}

}  // namespace twinrun::report
