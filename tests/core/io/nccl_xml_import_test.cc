#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/io/nccl_xml.h"
#include "core/io/render_diagnostics.h"
#include "core/io/save_topology.h"
#include "tests/core/io/nccl_fixtures.h"

namespace twinrun {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Imported {
  TopologySpec spec;
  Diagnostics diagnostics;

  [[nodiscard]] const TemplateSpec& machine() const { return spec.templates.front(); }
  [[nodiscard]] std::vector<std::string> codes() const {
    std::vector<std::string> out;
    for (const Diagnostic& one : diagnostics.all()) {
      out.push_back(one.code);
    }
    return out;
  }
  [[nodiscard]] std::vector<std::string> parts() const {
    std::vector<std::string> out;
    for (const PartSpec& part : machine().parts) {
      out.push_back(std::to_string(part.count) + " " + part.name +
                    (part.device.empty() ? "" : " " + part.device));
    }
    return out;
  }
  // "gpu* - nvswitch0 nvlink 18 x 20.6GB/s"
  [[nodiscard]] std::vector<std::string> links(LinkKind kind) const {
    std::vector<std::string> out;
    for (const LinkSpec& link : machine().links) {
      if (link.kind == kind) {
        out.push_back(link.from.front() + " - " + link.to.front() + " " +
                      std::to_string(link.count) + " x " + exact_text(link.bandwidth));
      }
    }
    return out;
  }
};

Imported import_own(const std::string& name, const ImportOptions& options = {}) {
  Imported out;
  out.spec = import_nccl_xml(Source::of_file(own_fixture(name)), options, out.diagnostics);
  return out;
}

TEST(NcclXmlImport, GpusAreNumberedByDevCpusByNumaNodeNicsByDev) {
  const Imported one = import_own("nvswitch_two_nics.xml");
  EXPECT_EQ(one.spec.name, "two-gpus");
  EXPECT_THAT(one.codes(), IsEmpty());
  EXPECT_THAT(one.parts(), ElementsAre("2 gpu h100-sxm5", "2 cpu cpu-intel-143", "2 pcie",
                                       "2 nic nic-400g-1.5us", "1 nvswitch"));
  EXPECT_THAT(one.machine().parts[0].ids, ElementsAre("0000:12:00.0", "0000:82:00.0"));
  EXPECT_THAT(one.machine().parts[1].ids, ElementsAre("0", "1"));
  EXPECT_THAT(one.machine().parts[3].ids,
              ElementsAre("0000:13:00.0/0x1/mlx5_0", "0000:83:00.0/0x2/mlx5_1"));
}

TEST(NcclXmlImport, NvswitchesAreOneVertexWithAllLinks) {
  const Imported one = import_own("nvswitch_two_nics.xml");
  EXPECT_THAT(one.links(LinkKind::kNvlink), ElementsAre("gpu* - nvswitch0 18 x 20.6GB/s"));
  EXPECT_THAT(one.machine().parts[4].ids, ElementsAre("0000:05:00.0+0000:06:00.0"));
}

TEST(NcclXmlImport, PcieSpeedsAndSocketsAreThoseOfNccl) {
  const Imported one = import_own("nvswitch_two_nics.xml");
  EXPECT_THAT(
      one.links(LinkKind::kPcie),
      ElementsAre("gpu0 - pcie0 1 x 48GB/s", "gpu1 - pcie1 1 x 48GB/s", "nic0 - pcie0 1 x 48GB/s",
                  "nic1 - pcie1 1 x 48GB/s", "pcie0 - cpu0 1 x 48GB/s", "pcie1 - cpu1 1 x 48GB/s"));
  EXPECT_EQ(one.machine().links.front().line_rate, gigabytes_per_second(63));
  EXPECT_THAT(one.links(LinkKind::kSocket), ElementsAre("cpu0 - cpu1 1 x 22GB/s"));
  EXPECT_EQ(one.machine().p2p, PathClass::kPxb);
  EXPECT_EQ(one.machine().gpu_direct, PathClass::kPxb);
}

TEST(NcclXmlImport, LinksBetweenGpusAreListedOnce) {
  const Imported one = import_own("gpu_to_gpu.xml");
  EXPECT_THAT(one.links(LinkKind::kNvlink),
              ElementsAre("gpu0 - gpu1 2 x 20GB/s", "gpu0 - gpu2 1 x 20GB/s"));
  EXPECT_THAT(one.links(LinkKind::kPcie),
              ElementsAre("gpu[0-1] - cpu0 1 x 12GB/s", "gpu2 - cpu1 1 x 6GB/s"));
  EXPECT_THAT(one.links(LinkKind::kSocket), ElementsAre("cpu0 - cpu1 1 x 10GB/s"));
  EXPECT_THAT(one.codes(), ElementsAre("W0203"));  // sm 70 alone: some V100
}

TEST(NcclXmlImport, SlowVirtualBridgeIsWarnedAboutWithItsPlace) {
  const Imported one = import_own("virtual_bridge.xml", {"", "h100-sxm5", {}, ""});
  ASSERT_THAT(one.codes(), ElementsAre("W0205"));
  const auto located = locate(one.diagnostics, [](const std::string& file) {
    return std::optional(Source::of_file(file));
  });
  EXPECT_EQ(located.front().line, 3U);
  EXPECT_EQ(located.front().column, 5U);
  EXPECT_EQ(one.diagnostics.all().front().message,
            "bridge 0000:65:00.0 reports 2.5 GT/s x1 (0.2 GB/s)");
  EXPECT_EQ(one.diagnostics.all().front().help,
            "virtual bridge of a VM? give the physical tree with NCCL_TOPO_FILE, or "
            "--assume-bridge gen5x16");
  EXPECT_THAT(one.links(LinkKind::kPcie), testing::Contains("pcie0 - cpu0 1 x 0.1875GB/s"));
}

TEST(NcclXmlImport, SlowBridgeTakesTheAssumedSpeed) {
  const Imported one = import_own("virtual_bridge.xml", {"", "h100-sxm5", {}, "gen5x16"});
  EXPECT_THAT(one.codes(), IsEmpty());
  EXPECT_THAT(one.links(LinkKind::kPcie),
              ElementsAre("gpu0 - pcie0 1 x 48GB/s", "gpu1 - pcie1 1 x 48GB/s",
                          "pcie0 - cpu0 1 x 48GB/s", "pcie1 - cpu0 1 x 48GB/s"));
  EXPECT_EQ(one.machine().links[2].source, "user: --assume-bridge gen5x16; latency: rule of thumb");
  EXPECT_THROW(import_own("virtual_bridge.xml", {"", "", {}, "fast"}), UsageError);
}

TEST(NcclXmlImport, ClassesAloneGiveGpusAndNicsAndQuestions) {
  const Imported one = import_own("classes_only.xml");
  EXPECT_THAT(one.codes(), testing::UnorderedElementsAre("W0211", "W0202", "W0201"));
  EXPECT_THAT(one.parts(),
              ElementsAre("2 gpu gpu-unknown", "1 cpu cpu-amd-1", "1 pcie", "1 nic nic-10g"));
  EXPECT_THAT(one.machine().parts[0].ids, ElementsAre("0001:00:00.0", "0002:00:00.0"));
  EXPECT_THAT(one.links(LinkKind::kPcie),
              ElementsAre("gpu0 - cpu0 1 x 24GB/s", "gpu1 - cpu0 1 x 48GB/s",
                          "nic0 - cpu0 1 x 12GB/s", "pcie0 - cpu0 1 x 6GB/s"));
  EXPECT_EQ(one.machine().p2p, PathClass::kSys) << "AMD with at most two GPUs";
}

TEST(NcclXmlImport, QuestionsAreAnsweredByOptions) {
  const Imported one =
      import_own("classes_only.xml", {"mine", "a10", parse_bandwidth("200Gb/s"), ""});
  EXPECT_THAT(one.codes(), ElementsAre("W0211"));
  EXPECT_EQ(one.spec.name, "mine");
  EXPECT_THAT(one.parts(), ElementsAre("2 gpu a10", "1 cpu cpu-amd-1", "1 pcie", "1 nic nic-200g"));
}

TEST(NcclXmlImport, OddNvlinksAreLeftOutOrCompletedWithAWarning) {
  const Imported one = import_own("nvlink_traps.xml");
  EXPECT_THAT(one.codes(),
              testing::UnorderedElementsAre("W0212", "W0206", "W0207", "W0208", "W0203"));
  EXPECT_THAT(
      one.links(LinkKind::kNvlink),
      testing::UnorderedElementsAre("gpu0 - gpu1 3 x 20GB/s", "gpu* - nvswitch0 5 x 20GB/s"));
  EXPECT_EQ(one.machine().gpu_direct, PathClass::kLoc) << "every GPU says gdr=0";
}

TEST(NcclXmlImport, PortsOfOneDeviceOrGuidAreOneNic) {
  const Imported one = import_own("nic_ports.xml");
  EXPECT_THAT(one.parts(), ElementsAre("1 cpu cpu-intel-106", "1 nic nic-300g", "1 nic nic-50g",
                                       "1 nic nic-10g", "1 nic nic-100g"));
  EXPECT_THAT(one.machine().parts[1].ids, ElementsAre("0000:61:00.0/0xa1/a0+a1"));
  EXPECT_THAT(one.machine().parts[2].ids, ElementsAre("0000:62:00.0+0000:62:00.1/0xb0+0xb1/b0+b1"));
  EXPECT_THAT(one.links(LinkKind::kPcie),
              ElementsAre("nic0 - cpu0 1 x 24GB/s", "nic[1-2] - cpu0 1 x 6GB/s",
                          "nic3 - cpu0 1 x 5000GB/s"));
  EXPECT_THAT(one.codes(), testing::UnorderedElementsAre("W0212", "W0202", "W0201", "W0211"));
}

TEST(NcclXmlImport, TwoLevelsOfABroadcomSwitchAreOneVertex) {
  const Imported one = import_own("broadcom_switch.xml");
  EXPECT_THAT(one.machine().parts[2].ids, ElementsAre("0000:01:00.0+0000:03:00.0+0000:0a:00.0",
                                                      "0000:05:00.0", "0000:41:00.0"));
  EXPECT_THAT(one.links(LinkKind::kPcie),
              ElementsAre("gpu0 - pcie1 1 x 24GB/s", "gpu1 - pcie2 1 x 24GB/s",
                          "nic0 - pcie0 1 x 24GB/s", "pcie[0,2] - cpu0 1 x 24GB/s",
                          "pcie1 - pcie0 1 x 24GB/s", "pcie2 - pcie0 1 x 5000GB/s"));
}

TEST(NcclXmlImport, ChipToChipLinksJoinGpuAndCpu) {
  const Imported one = import_own("chip_to_chip.xml");
  EXPECT_THAT(one.links(LinkKind::kC2c), ElementsAre("gpu0 - cpu0 10 x 44.712GB/s"));
  EXPECT_THAT(one.links(LinkKind::kSocket), ElementsAre("cpu0 - cpu1 1 x 6GB/s"));
  EXPECT_EQ(one.machine().gpu_direct, PathClass::kPhb);
}

// The counts are those of the machines' documentation.
struct Expected {
  std::string file;
  std::vector<std::string> parts;
  std::vector<std::string> codes;
};

TEST(NcclXmlImport, RealFilesImport) {
  const std::vector<Expected> files = {
      {"nccl_topo_dgx_a100.xml",
       {"8 gpu a100-sxm4-40gb", "6 cpu cpu-amd-49", "12 pcie", "4 nic nic-200g", "1 nic nic-300g",
        "4 nic nic-200g", "1 nic nic-300g", "1 nvswitch"},
       {}},
      {"nccl_topo_azure_ndv2.xml",
       {"8 gpu gpu-unknown", "2 cpu cpu-intel-85", "1 nic nic-10g"},
       {"W0202", "W0201"}},
      {"nccl_topo_azure_ndv4.xml",
       {"8 gpu gpu-unknown", "4 cpu cpu-amd-49", "4 pcie", "8 nic nic-10g"},
       {"W0202", "W0201"}},
      {"nccl_topo_azure_ndv5.xml",
       {"8 gpu gpu-unknown", "2 cpu cpu-intel-143", "8 pcie", "8 nic nic-10g"},
       {"W0202", "W0201"}},
      {"nccl_topo_azure_ncv4.xml",
       {"4 gpu a100-pcie-80gb", "4 cpu cpu-amd-1", "1 nic nic-100g"},
       {"W0211", "W0206", "W0206", "W0206", "W0206"}}};
  if (xml_files(foreign_folder()).empty()) {
    GTEST_SKIP() << "no foreign files: set TWINRUN_FIXTURES to the folder that has them";
  }
  for (const Expected& expected : files) {
    Imported one;
    one.spec = import_nccl_xml(Source::of_file(foreign_folder() + "/" + expected.file), {},
                               one.diagnostics);
    EXPECT_EQ(one.parts(), expected.parts) << expected.file;
    EXPECT_EQ(one.codes(), expected.codes) << expected.file;
  }
}

}  // namespace
}  // namespace twinrun
