#include "core/topology/node_shape.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

PartSpec part(std::string name, std::int64_t count, VertexKind kind = VertexKind::kGpu) {
  PartSpec made;
  made.name = std::move(name);
  made.count = count;
  made.kind = kind;
  return made;
}

PartSpec nested(std::string name, std::int64_t count, std::string template_name) {
  PartSpec made = part(std::move(name), count);
  made.template_name = std::move(template_name);
  return made;
}

LinkSpec link(std::string from, std::string to, Pairing pairing = Pairing::kAll) {
  LinkSpec made;
  made.from = {std::move(from)};
  made.to = {std::move(to)};
  made.bandwidth = {1e9};
  made.pairing = pairing;
  return made;
}

TemplateSpec box(std::string name, std::vector<PartSpec> parts, std::vector<LinkSpec> links = {}) {
  TemplateSpec made;
  made.name = std::move(name);
  made.parts = std::move(parts);
  made.links = std::move(links);
  return made;
}

NodesSpec machines_of(std::string template_name) {
  NodesSpec nodes;
  nodes.template_name = std::move(template_name);
  return nodes;
}

struct Made {
  std::optional<NodeShape> shape;
  std::string said;
};

Made make(std::vector<TemplateSpec> templates, const NodesSpec& nodes) {
  TopologySpec spec;
  spec.templates = std::move(templates);
  Diagnostics diagnostics;
  Made made{ShapeMaker(spec, diagnostics).make(nodes), ""};
  made.said = complaints(diagnostics);
  return made;
}

NodeShape shape_of(std::vector<TemplateSpec> templates, const NodesSpec& nodes) {
  Made made = make(std::move(templates), nodes);
  EXPECT_EQ(made.said, "");
  return made.shape.value_or(NodeShape{});
}

std::vector<std::string> names(const NodeShape& shape) {
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < shape.vertices.size(); ++i) {
    out.push_back(shape.name_of(i));
  }
  return out;
}

// "gpu0>gpu1" for every direction of every link.
std::vector<std::string> wires(const NodeShape& shape) {
  std::vector<std::string> out;
  for (const NodeShape::Link& one : shape.links) {
    out.push_back(shape.name_of(one.from) + ">" + shape.name_of(one.to));
  }
  return out;
}

TEST(NodeShape, NestedTemplatesContinueTheNumbering) {
  const NodeShape shape =
      shape_of({box("half", {part("gpu", 2), part("pcie", 1, VertexKind::kPcieSwitch)},
                    {link("gpu*", "pcie0")}),
                box("whole", {part("gpu", 1), nested("", 2, "half")})},
               machines_of("whole"));
  EXPECT_THAT(names(shape), ElementsAre("gpu0", "gpu1", "gpu2", "pcie0", "gpu3", "gpu4", "pcie1"));
  EXPECT_THAT(wires(shape), ElementsAre("gpu1>pcie0", "pcie0>gpu1", "gpu2>pcie0", "pcie0>gpu2",
                                        "gpu3>pcie1", "pcie1>gpu3", "gpu4>pcie1", "pcie1>gpu4"));
}

TEST(NodeShape, NamedNestingKeepsInnerNumbersAndContinuesItsOwn) {
  const NodeShape shape =
      shape_of({box("half", {part("gpu", 2)}),
                box("whole", {nested("board", 2, "half"), nested("board", 1, "half")},
                    {link("board0/gpu1", "board[1-2]/gpu0")})},
               machines_of("whole"));
  EXPECT_THAT(names(shape), ElementsAre("board0/gpu0", "board0/gpu1", "board1/gpu0", "board1/gpu1",
                                        "board2/gpu0", "board2/gpu1"));
  EXPECT_THAT(wires(shape), ElementsAre("board0/gpu1>board1/gpu0", "board1/gpu0>board0/gpu1",
                                        "board0/gpu1>board2/gpu0", "board2/gpu0>board0/gpu1"));
}

TEST(NodeShape, EachPairsInOrderAndInBlocks) {
  const NodeShape shape = shape_of(
      {box("m", {part("gpu", 4), part("pcie", 2, VertexKind::kPcieSwitch)},
           {link("gpu*", "pcie*", Pairing::kEach), link("pcie*", "gpu*", Pairing::kEach)})},
      machines_of("m"));
  EXPECT_THAT(wires(shape), ElementsAre("gpu0>pcie0", "pcie0>gpu0", "gpu1>pcie0", "pcie0>gpu1",
                                        "gpu2>pcie1", "pcie1>gpu2", "gpu3>pcie1", "pcie1>gpu3",
                                        "pcie0>gpu0", "gpu0>pcie0", "pcie0>gpu1", "gpu1>pcie0",
                                        "pcie1>gpu2", "gpu2>pcie1", "pcie1>gpu3", "gpu3>pcie1"));
}

TEST(NodeShape, AllAgainstThemselvesIsAMeshWithEachPairOnce) {
  const NodeShape shape =
      shape_of({box("m", {part("gpu", 3)}, {link("gpu*", "gpu*")})}, machines_of("m"));
  EXPECT_THAT(wires(shape), ElementsAre("gpu0>gpu1", "gpu1>gpu0", "gpu0>gpu2", "gpu2>gpu0",
                                        "gpu1>gpu2", "gpu2>gpu1"));
}

TEST(NodeShape, DuplexDecidesReverseAndCapacity) {
  LinkSpec full = link("gpu0", "gpu1");
  LinkSpec half = link("gpu0", "gpu2");
  half.duplex = Duplex::kHalf;
  half.count = 3;
  LinkSpec simplex = link("gpu1", "gpu2");
  simplex.duplex = Duplex::kSimplex;
  const NodeShape shape =
      shape_of({box("m", {part("gpu", 3)}, {full, half, simplex})}, machines_of("m"));
  ASSERT_THAT(wires(shape),
              ElementsAre("gpu0>gpu1", "gpu1>gpu0", "gpu0>gpu2", "gpu2>gpu0", "gpu1>gpu2"));
  std::vector<std::uint32_t> reverse;
  std::vector<std::uint32_t> owner;
  std::vector<double> bandwidth;
  for (const NodeShape::Link& one : shape.links) {
    reverse.push_back(one.reverse);
    owner.push_back(one.capacity_owner);
    bandwidth.push_back(one.bandwidth.bytes_per_s);
  }
  EXPECT_THAT(reverse, ElementsAre(1, 0, 3, 2, 4));
  EXPECT_THAT(owner, ElementsAre(0, 1, 2, 2, 4));
  EXPECT_THAT(bandwidth, ElementsAre(1e9, 1e9, 3e9, 3e9, 1e9));
}

std::vector<TemplateSpec> machine_with_nics() {
  LinkSpec bus = link("nic0", "cpu0");
  bus.duplex = Duplex::kHalf;
  return {box("m",
              {part("gpu", 3), part("cpu", 1, VertexKind::kCpu), part("nic", 2, VertexKind::kNic)},
              {link("gpu*", "cpu0"), bus, link("nic1", "gpu0")})};
}

TEST(TrimShape, FewerGpusAreTheFirstOnesAndTakeTheirLinksAlong) {
  NodesSpec nodes = machines_of("m");
  nodes.gpus = 1;
  nodes.nics = 1;
  const NodeShape shape = shape_of(machine_with_nics(), nodes);
  EXPECT_THAT(names(shape), ElementsAre("gpu0", "cpu0", "nic0"));
  EXPECT_THAT(wires(shape), ElementsAre("gpu0>cpu0", "cpu0>gpu0", "nic0>cpu0", "cpu0>nic0"));
  EXPECT_EQ(shape.links[2].reverse, 3U);
  EXPECT_EQ(shape.links[3].reverse, 2U);
  EXPECT_EQ(shape.links[2].capacity_owner, 2U);
  EXPECT_EQ(shape.links[3].capacity_owner, 2U);
}

TEST(TrimShape, MoreNicsSitWhereTheOthersDoInTurn) {
  NodesSpec nodes = machines_of("m");
  nodes.nics = 5;
  const NodeShape shape = shape_of(machine_with_nics(), nodes);
  EXPECT_THAT(names(shape),
              ElementsAre("gpu0", "gpu1", "gpu2", "cpu0", "nic0", "nic1", "nic2", "nic3", "nic4"));
  const std::vector<std::string> all = wires(shape);
  EXPECT_THAT(
      std::vector(all.begin() + 10, all.end()),
      ElementsAre("nic2>cpu0", "cpu0>nic2", "nic3>gpu0", "gpu0>nic3", "nic4>cpu0", "cpu0>nic4"));
  EXPECT_EQ(shape.links[11].capacity_owner, 10U);  // half duplex as its model
  EXPECT_EQ(shape.links[13].capacity_owner, 13U);
}

TEST(TrimShape, MoreGpusThanThereAreIsRefused) {
  NodesSpec nodes = machines_of("m");
  nodes.gpus = 4;
  EXPECT_EQ(make(machine_with_nics(), nodes).said, "E0306 : a \"m\" has 3 GPUs, not 4\n");
}

TEST(TrimShape, NicsCannotBeAddedWhereThereIsNone) {
  NodesSpec nodes = machines_of("m");
  nodes.nics = 2;
  EXPECT_EQ(make({box("m", {part("gpu", 1)})}, nodes).said,
            "E0306 : a \"m\" has no NIC, so it cannot have 2 of them\n");
  nodes.nics = 0;
  EXPECT_EQ(make({box("m", {part("gpu", 1)})}, nodes).said, "");
}

std::vector<TemplateSpec> cpu_machine() {
  return {box("c", {part("cpu", 2, VertexKind::kCpu), part("mem", 1, VertexKind::kMemory)},
              {link("cpu*", "cpu*"), link("mem0", "cpu*")})};
}

TEST(TrimShape, MoreCpuDevicesAreJoinedAsTheFirstAre) {
  NodesSpec nodes = machines_of("c");
  nodes.devices = 4;
  const NodeShape shape = shape_of(cpu_machine(), nodes);
  EXPECT_THAT(names(shape), ElementsAre("cpu0", "cpu1", "cpu2", "cpu3", "mem0"));
  std::vector<std::string> forward;
  for (std::size_t i = 0; i < shape.links.size(); i += 2) {
    forward.push_back(wires(shape)[i]);
  }
  EXPECT_THAT(forward, UnorderedElementsAre("cpu0>cpu1", "cpu0>cpu2", "cpu0>cpu3", "cpu1>cpu2",
                                            "cpu1>cpu3", "cpu2>cpu3", "mem0>cpu0", "mem0>cpu1",
                                            "mem0>cpu2", "mem0>cpu3"));
}

TEST(TrimShape, FewerCpuDevicesKeepTheFirst) {
  NodesSpec nodes = machines_of("c");
  nodes.devices = 1;
  EXPECT_THAT(names(shape_of(cpu_machine(), nodes)), ElementsAre("cpu0", "mem0"));
}

TEST(TrimShape, MoreCpuDevicesOfAGpuMachineAreRefused) {
  NodesSpec nodes = machines_of("m");
  nodes.devices = 9;
  EXPECT_EQ(make(machine_with_nics(), nodes).said, "E0306 : a \"m\" cannot have 9 CPU devices\n");
}

TEST(ShapeMaker, TemplateInsideItselfIsRefusedWithTheCircle) {
  EXPECT_EQ(make({box("a", {nested("", 2, "a"), nested("", 2, "a")})}, machines_of("a")).said,
            "E0302 : template \"a\" contains itself: a > a\n"
            "E0302 : template \"a\" contains itself: a > a\n");
  EXPECT_EQ(make({box("a", {nested("", 1, "b")}), box("b", {nested("x", 1, "c")}),
                  box("c", {nested("", 1, "b")})},
                 machines_of("a"))
                .said,
            "E0302 : template \"b\" contains itself: a > b > c > b\n");
}

TEST(ShapeMaker, NestingDeeperThanSixteenIsRefused) {
  std::vector<TemplateSpec> chain;
  for (int i = 0; i < 20; ++i) {
    chain.push_back(box("t" + std::to_string(i), {nested("", 1, "t" + std::to_string(i + 1))}));
  }
  chain.push_back(box("t20", {part("gpu", 1)}));
  EXPECT_EQ(make(chain, machines_of("t0")).said.substr(0, 41),
            "E0302 : templates nest deeper than 16: t0");
  EXPECT_EQ(names(shape_of(chain, machines_of("t5"))).size(), 1U);
}

TEST(ShapeMaker, EveryUnknownNameIsReported) {
  EXPECT_EQ(make({box("m", {nested("", 1, "x"), nested("", 1, "y")})}, machines_of("m")).said,
            "E0301 : there is no template \"x\"\nE0301 : there is no template \"y\"\n");
  EXPECT_EQ(make({box("m", {part("gpu", 1)}, {link("gpu0", "gpx0"), link("cpu*", "gpu0")})},
                 machines_of("m"))
                .said,
            "E0304 : no part of template \"m\" is named \"gpx0\"\n"
            "E0304 : no part of template \"m\" is named \"cpu*\"\n");
  EXPECT_EQ(make({}, machines_of("m")).said, "E0301 : there is no template \"m\"\n");
}

TEST(ShapeMaker, PairsThatDoNotDivideAreRefused) {
  EXPECT_EQ(make({box("m", {part("gpu", 8), part("pcie", 3, VertexKind::kPcieSwitch)},
                      {link("gpu*", "pcie*", Pairing::kEach)})},
                 machines_of("m"))
                .said,
            "E0305 : cannot pair 8 with 3 one by one\n");
}

TEST(ShapeMaker, ALinkToItselfIsRefused) {
  for (const Pairing pairing : {Pairing::kAll, Pairing::kEach}) {
    EXPECT_EQ(
        make({box("m", {part("gpu", 1)}, {link("gpu0", "gpu*", pairing)})}, machines_of("m")).said,
        "E0305 : the link would join a part with itself\n");
  }
}

class TooMany : public testing::Test {
 protected:
  void TearDown() override { EXPECT_LT(timer_.seconds(), 0.5); }
  WorkTimer timer_;
};

TEST_F(TooMany, GpusOfOneMachine) {
  EXPECT_EQ(make({box("m", {part("gpu", 1'000'000'000)})}, machines_of("m")).said,
            "E0303 : a machine would have 1000000000 parts, more than 200000\n");
}

TEST_F(TooMany, NestedCopiesWhoseProductOverflows) {
  EXPECT_EQ(make({box("a", {part("gpu", 100'000)}), box("b", {nested("", 1'000'000'000, "a")}),
                  box("c", {nested("", 1'000'000'000, "b")})},
                 machines_of("c"))
                .said,
            "E0303 : a machine would have 100000000000000 parts, more than 200000\n");
}

TEST_F(TooMany, EmptyTemplatesNestedTenFoldAtEachLevel) {
  std::vector<TemplateSpec> laughs;
  for (int i = 0; i < 15; ++i) {
    laughs.push_back(box("t" + std::to_string(i),
                         std::vector<PartSpec>(10, nested("", 10, "t" + std::to_string(i + 1)))));
  }
  laughs.push_back(box("t15", {}));
  EXPECT_EQ(make(laughs, machines_of("t0")).said, "");
}

TEST_F(TooMany, LinksOfAMesh) {
  EXPECT_EQ(make({box("m", {part("gpu", 100'000)}, {link("gpu*", "gpu*")})}, machines_of("m")).said,
            "E0303 : a machine would have 10000000000 links, more than 1000000\n");
}

TEST_F(TooMany, CpuDevices) {
  NodesSpec nodes = machines_of("c");
  nodes.devices = 1'000'000;
  EXPECT_EQ(make(cpu_machine(), nodes).said,
            "E0303 : a machine would have 1000000 parts, more than 200000\n");
}

TEST_F(TooMany, Machines) {
  TopologySpec spec;
  spec.templates = {box("m", {part("gpu", 8)})};
  spec.nodes = {machines_of("m")};
  for (const std::int64_t count : {1'000'000'000L, 500'001L}) {
    spec.nodes[0].count = count;
    Diagnostics diagnostics;
    build_topology(spec, diagnostics);
    EXPECT_EQ(complaints(diagnostics),
              "E0303 : with " + std::to_string(count) +
                  " machines of 8 parts and 0 links a topology would have more than 4000000 parts "
                  "or 16000000 links\n");
  }
}

TEST_F(TooMany, NestedCopiesAreLinearInTheirNumber) {
  const NodeShape shape = shape_of(
      {box("a", {part("gpu", 1)}), box("b", {nested("", 100'000, "a")})}, machines_of("b"));
  EXPECT_EQ(shape.name_of(99'999), "gpu99999");
}

}  // namespace
}  // namespace twinrun
