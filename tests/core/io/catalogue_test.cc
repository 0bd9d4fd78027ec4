#include "core/io/catalogue.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

// contract.md, "Catalogue names, topologies".
const std::vector<std::string> kContractNames = {
    "pcie-2x2080ti", "pcie-8gpu",   "d2l-cluster", "k80-cloud", "dgx1-p100",
    "dgx1-v100",     "dgx2",        "dgx-a100",    "dgx-h100",  "hgx-b200",
    "p3.2xlarge",    "p3.16xlarge", "p4d",         "p5",        "cpu"};

TEST(Catalogue, HasEveryNameOfTheContract) {
  EXPECT_THAT(catalogue_topology_names(), testing::IsSupersetOf(kContractNames));
  EXPECT_FALSE(catalogue_topology("devices"));
  EXPECT_FALSE(catalogue_topology("../topologies/cpu"));
}

class EveryMachine : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static int gpus() {
    int count = 0;
    const Topology topology = topology_of(GetParam());
    for (const NodeShape::Vertex& vertex : topology.shape(id_at<NodeId>(0)).vertices) {
      count += vertex.kind == VertexKind::kGpu ? 1 : 0;
    }
    return count;
  }
};

TEST_P(EveryMachine, BuildsWithoutComplaintsAndHasARouteBetweenAnyTwoDevices) {
  for (const char* expression : {"", ":nodes=3"}) {
    const Topology topology = topology_of(GetParam() + expression);
    Router router(topology);
    for (const VertexId a : topology.compute_devices()) {
      for (const VertexId b : topology.compute_devices()) {
        EXPECT_TRUE(router.route(a, b)) << topology.name(a) << " " << topology.name(b);
      }
    }
  }
}

TEST_P(EveryMachine, TakesTheKeysOfTheContract) {
  const std::string nodes = GetParam() + ":nodes=4";
  for (const char* more :
       {",nics=1", ",nics=3", ",nics=20", ",nic=10Gb/s", ",nics=2,nic=400Gb/s",
        ",oversubscription=2", ",oversubscription=0.5", ",fabric=single-switch",
        ",fabric=leaf-spine", ",fabric=fat-tree", ",fabric=rail-optimized", ",fabric=ring",
        ",fabric=torus", ",fabric=fat-tree,oversubscription=4",
        ",oversubscription=2,fabric=leaf-spine", ",fabric=rail-optimized,oversubscription=2"}) {
    const Topology topology = topology_of(nodes + more);
    Router router(topology);
    const std::vector<VertexId> devices = topology.compute_devices();
    EXPECT_TRUE(router.route(devices.front(), devices.back())) << more;
  }
  for (int kept = gpus(); kept > 0; --kept) {
    const Topology topology = topology_of(nodes + ",gpus=" + std::to_string(kept));
    int found = 0;
    for (const NodeShape::Vertex& vertex : topology.shape(id_at<NodeId>(0)).vertices) {
      found += vertex.kind == VertexKind::kGpu ? 1 : 0;
    }
    EXPECT_EQ(found, kept);
  }
}

TEST_P(EveryMachine, NicSetsTheSpeedOfEveryWireFromAMachine) {
  const Topology topology = topology_of(GetParam() + ":nodes=4,nic=8GB/s");
  for (std::size_t l = topology.fabric_first_link(); l < topology.link_count(); ++l) {
    const LinkId link = id_at<LinkId>(l);
    if (topology.kind(topology.from(link)) != VertexKind::kSwitch) {
      EXPECT_EQ(topology.bandwidth(link).bytes_per_s, 8e9) << topology.link_name(link);
    }
  }
}

TEST_P(EveryMachine, NumbersSayTheirSource) {
  Diagnostics diagnostics;
  const TopologySpec spec = read_topology_argument(GetParam(), diagnostics);
  EXPECT_NE(spec.source, "");
  EXPECT_NE(spec.description, "");
  EXPECT_NE(spec.fabric->source, "");
  for (const DeviceSpec& device : spec.devices) {
    EXPECT_NE(device.source, "") << device.name;
  }
  for (const TemplateSpec& one : spec.templates) {
    for (const LinkSpec& link : one.links) {
      EXPECT_NE(link.source, "") << one.name << " " << link.from[0] << " " << link.to[0];
    }
    EXPECT_TRUE((one.price_per_hour == 0 && one.watts == 0) || !one.source.empty()) << one.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Registered,
                         EveryMachine,
                         testing::ValuesIn(catalogue_topology_names()),
                         [](const auto& one) {
                           std::string name = one.param;
                           for (char& c : name) {
                             c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace twinrun
