#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "core/topology/fabric.h"
#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

// Random specifications, right by construction.
class SpecMaker {
 public:
  explicit SpecMaker(std::uint32_t seed) : random_(seed) {}

  TopologySpec make() {
    DeviceSpec nic;
    nic.name = "n";
    nic.kind = VertexKind::kNic;
    nic.rate = {1e9};
    spec_.devices = {nic};
    spec_.templates = {board(), machine()};
    const std::int64_t groups = 1 + below(3);
    for (std::int64_t i = 0; i < groups; ++i) {
      NodesSpec nodes;
      nodes.template_name = "machine";
      nodes.count = 1 + below(6);
      nodes.name = below(2) == 0 ? "node" : "rack2-box";
      if (below(3) == 0) {
        nodes.nics = 1 + below(5);
      }
      if (below(3) == 0) {
        nodes.gpus = below(3);
      }
      spec_.nodes.push_back(nodes);
    }
    const auto kinds = fabric_kinds();
    spec_.fabric.emplace();
    spec_.fabric->kind = kinds[static_cast<std::size_t>(below(std::ssize(kinds)))].name;
    spec_.fabric->routing = below(2) == 0 ? RoutingRule::kEcmp : RoutingRule::kDModK;
    OverrideSpec change;
    change.vertices = {spec_.nodes[0].name + "*/cpu0"};
    change.compute_scale = 0.5;
    spec_.overrides = {change};
    if (std::size_t machines = machine_count(); machines == 1) {
      spec_.overrides[0].vertices = {"cpu0"};
    }
    return spec_;
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(n));
  }
  [[nodiscard]] std::size_t machine_count() const {
    std::int64_t count = 0;
    for (const NodesSpec& nodes : spec_.nodes) {
      count += nodes.count;
    }
    return static_cast<std::size_t>(count);
  }
  static PartSpec part(const char* name, VertexKind kind, std::int64_t count) {
    PartSpec made;
    made.name = name;
    made.kind = kind;
    made.count = count;
    return made;
  }
  LinkSpec link(const char* from, const char* to) {
    LinkSpec made;
    made.from = {from};
    made.to = {to};
    made.bandwidth = {1e9 * static_cast<double>(1 + below(50))};
    made.latency = {below(1000)};
    made.count = 1 + below(4);
    made.duplex = below(3) == 0 ? Duplex::kHalf : Duplex::kFull;
    return made;
  }
  TemplateSpec board() {
    TemplateSpec made;
    made.name = "board";
    made.parts = {part("gpu", VertexKind::kGpu, 1 + below(4)),
                  part("pcie", VertexKind::kPcieSwitch, 1)};
    made.links = {link("gpu*", "pcie0")};
    return made;
  }
  TemplateSpec machine() {
    TemplateSpec made;
    made.name = "machine";
    PartSpec boards = part(below(2) == 0 ? "" : "board", VertexKind::kGpu, 1 + below(3));
    boards.template_name = "board";
    PartSpec nics = part("nic", VertexKind::kNic, 1 + below(3));
    nics.device = "n";
    made.parts = {boards, part("cpu", VertexKind::kCpu, 1 + below(2)), nics, boards};
    made.links = {link(boards.name.empty() ? "pcie*" : "board*/pcie0", "cpu*"),
                  link("nic*", "cpu*")};
    return made;
  }

  std::mt19937 random_;
  TopologySpec spec_;
};

void expect_invariants(const Topology& topology) {
  std::unordered_set<std::string> names;
  for (std::size_t v = 0; v < topology.vertex_count(); ++v) {
    const VertexId vertex = id_at<VertexId>(v);
    const std::string name = topology.name(vertex);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(topology.find(name), vertex) << name;
  }
  std::vector<int> seen(topology.link_count(), 0);
  for (std::size_t v = 0; v < topology.vertex_count(); ++v) {
    for (const LinkId link : topology.links_from(id_at<VertexId>(v))) {
      EXPECT_EQ(index_of(topology.from(link)), v);
      ++seen[index_of(link)];
    }
  }
  for (std::size_t l = 0; l < topology.link_count(); ++l) {
    const LinkId link = id_at<LinkId>(l);
    EXPECT_EQ(seen[l], 1);
    const LinkId back = topology.reverse(link);
    ASSERT_LT(index_of(back), topology.link_count());
    EXPECT_EQ(topology.reverse(back), link);
    EXPECT_EQ(topology.from(back), topology.to(link));
    EXPECT_EQ(topology.to(back), topology.from(link));
    const LinkId owner = topology.capacity_owner(link);
    EXPECT_TRUE(owner == link || owner == back);
    EXPECT_EQ(topology.capacity_owner(owner), owner);
    EXPECT_GT(topology.bandwidth(link).bytes_per_s, 0);
  }
}

TEST(RandomSpecs, BuildWithoutComplaintsAndKeepTheInvariants) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const TopologySpec spec = SpecMaker(seed).make();
    Diagnostics diagnostics;
    const Topology topology = build_topology(spec, diagnostics);
    // Trimming GPUs may ask for more than a small board has; nothing else may be wrong.
    for (const Diagnostic& one : diagnostics.all()) {
      EXPECT_EQ(one.code, "E0306") << one.message;
    }
    if (diagnostics.has_errors()) {
      continue;
    }
    expect_invariants(topology);
    Router router(topology);
    const VertexId first = topology.vertex_in(id_at<NodeId>(0), 0);
    const VertexId last = topology.vertex_in(id_at<NodeId>(topology.node_count() - 1), 0);
    EXPECT_TRUE(router.route(first, last, seed)) << spec.fabric->kind;
  }
}

}  // namespace
}  // namespace twinrun
