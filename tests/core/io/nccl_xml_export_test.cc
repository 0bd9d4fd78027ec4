#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/io/nccl_xml.h"
#include "core/io/save_topology.h"
#include "tests/core/io/nccl_fixtures.h"

namespace twinrun {
namespace {

void expect_round_trip(const std::string& file) {
  Diagnostics diagnostics;
  const ImportOptions options{"same-name", "", {}, ""};
  const TopologySpec first = import_nccl_xml(Source::of_file(file), options, diagnostics);
  Diagnostics of_export;
  const std::string xml = export_nccl_xml(first, of_export);
  EXPECT_TRUE(of_export.all().empty()) << file << ": " << of_export.all().front().message;
  const TopologySpec again =
      import_nccl_xml(Source::of_text("again.xml", xml), options, diagnostics);
  EXPECT_EQ(save_topology(again), save_topology(first)) << file << "\n" << xml;
}

TEST(NcclXmlExport, ImportExportImportGivesTheSameTopology) {
  const std::vector<std::string> files = xml_files(own_fixture(""));
  ASSERT_GE(files.size(), 8U);
  for (const std::string& file : files) {
    expect_round_trip(file);
  }
}

TEST(NcclXmlExport, RealFilesComeBackTheSame) {
  const std::vector<std::string> files = xml_files(foreign_folder());
  if (files.empty()) {
    GTEST_SKIP() << "no foreign files: set TWINRUN_FIXTURES to the folder that has them";
  }
  for (const std::string& file : files) {
    expect_round_trip(file);
  }
}

TopologySpec small() {
  TopologySpec spec;
  TemplateSpec box;
  box.name = "box";
  const auto part = [&](const char* name, VertexKind kind, const char* device, std::int64_t count) {
    PartSpec one;
    one.name = name;
    one.kind = kind;
    one.device = device;
    one.count = count;
    box.parts.push_back(one);
  };
  part("gpu", VertexKind::kGpu, "t4", 2);
  part("cpu", VertexKind::kCpu, "host", 1);
  LinkSpec link;
  link.from = {"gpu*"};
  link.to = {"cpu0"};
  link.bandwidth = gigabytes_per_second(12.2);
  link.latency = microseconds(0.4);
  box.links.push_back(link);
  spec.templates.push_back(box);
  spec.nodes.push_back({});
  spec.nodes.back().template_name = "box";
  return spec;
}

TEST(NcclXmlExport, WhatTheFormatCannotSayIsWarnedAbout) {
  TopologySpec spec = small();
  spec.templates.front().p2p = PathClass::kLoc;
  Diagnostics diagnostics;
  const std::string xml = export_nccl_xml(spec, diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 2U);
  EXPECT_EQ(diagnostics.all()[0].code, "W0312");
  EXPECT_EQ(diagnostics.all()[1].message, "a PCIe link of 12.2 GB/s becomes gen3 x16");
  EXPECT_THAT(xml, testing::HasSubstr("sm=\"75\""));
}

TEST(NcclXmlExport, SeveralNodesAreRefused) {
  TopologySpec spec = small();
  spec.nodes.front().count = 2;
  Diagnostics diagnostics;
  EXPECT_THROW((void)export_nccl_xml(spec, diagnostics), InputError);
}

TEST(NcclXmlExport, NestedTemplatesAreRefused) {
  TopologySpec spec = small();
  spec.templates.front().parts.front().template_name = "inner";
  Diagnostics diagnostics;
  EXPECT_THROW((void)export_nccl_xml(spec, diagnostics), InputError);
}

}  // namespace
}  // namespace twinrun
