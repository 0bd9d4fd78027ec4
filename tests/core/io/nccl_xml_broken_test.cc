#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "core/io/nccl_xml.h"

namespace twinrun {
namespace {

std::string system(const std::string& inside) {
  return "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" "
         "modelid=\"85\">" +
         inside + "</cpu></system>";
}

std::string gpu(const std::string& attributes) {
  return "<pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"8 GT/s\" " + attributes +
         "/>";
}

std::string nested(int depth) {
  std::string out;
  for (int i = 0; i < depth; ++i) {
    out += "<pci busid=\"0000:" + std::to_string(i) + "\">";
  }
  for (int i = 0; i < depth; ++i) {
    out += "</pci>";
  }
  return out;
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) {
    out += text;
  }
  return out;
}

struct Broken {
  const char* what;
  std::string text;
  const char* code;
};

class BrokenNcclXml : public testing::TestWithParam<Broken> {};

TEST_P(BrokenNcclXml, IsRefusedWithItsCode) {
  Diagnostics diagnostics;
  try {
    (void)import_nccl_xml(Source::of_text("broken.xml", GetParam().text), {}, diagnostics);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    const auto& all = error.diagnostics().all();
    const auto first = std::find_if(all.begin(), all.end(), [](const Diagnostic& one) {
      return one.severity == Severity::kError;
    });
    ASSERT_NE(first, all.end());
    EXPECT_EQ(first->code, GetParam().code);
    EXPECT_FALSE(first->help.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(
    NcclXml,
    BrokenNcclXml,
    testing::Values(
        Broken{"Empty", "", "E0310"},
        Broken{"Spaces", std::string(1 << 20, ' '), "E0310"},
        Broken{"NotXml", "{\"schema\": 1}", "E0310"},
        Broken{"CutShort", system(gpu("")).substr(0, 90), "E0310"},
        Broken{"TagsCross", "<system version=\"1\"><cpu></system></cpu>", "E0310"},
        Broken{"GraphFile", "<graphs version=\"1\"><graph/></graphs>", "E0311"},
        Broken{"Hwloc", "<topology version=\"2.0\"/>", "E0311"},
        Broken{"VersionTwo", "<system version=\"2\"><cpu/></system>", "E0312"},
        Broken{"NoVersion", "<system><cpu/></system>", "E0312"},
        Broken{"TooLarge", std::string(100'000'001, ' '), "E0313"},
        Broken{"TooManyElements", system(repeated("<pci/>", 6000)), "E0313"},
        Broken{"TooManyCpus", "<system version=\"1\">" + repeated("<cpu/>", 300) + "</system>",
               "E0313"},
        Broken{"TooDeep", system(nested(100)), "E0314"},
        Broken{"MuchTooDeep", system(nested(100'000)), "E0314"},
        Broken{"NoBusId", system("<pci class=\"0x030200\"/>"), "E0315"},
        Broken{"WidthIsNoNumber", system(gpu("link_width=\"wide\"")), "E0315"},
        Broken{"WidthIsNegative", system(gpu("link_width=\"-1\"")), "E0315"},
        Broken{"WidthIsHuge", system(gpu("link_width=\"99999999999999999999\"")), "E0315"},
        Broken{"BusIdTwice", system(gpu("") + gpu("")), "E0316"},
        Broken{"NoCpu", "<system version=\"1\"/>", "E0317"},
        Broken{"NothingBelow", system(""), "E0317"},
        Broken{"EntityBomb",
               "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>" +
                   system("&b;&b;&b;"),
               "E0317"}),
    [](const auto& one) { return std::string(one.param.what); });

TEST(NcclXml, AllMistakesOfAFileAreReportedAtOnce) {
  Diagnostics diagnostics;
  try {
    (void)import_nccl_xml(
        Source::of_text("broken.xml", system(gpu("link_width=\"x\"") + gpu("") + "<pci/>")), {},
        diagnostics);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().error_count(), 3U);
  }
}

TEST(NcclXml, NcclsOwnLimitsAreOnlyWarnedAbout) {
  std::string many;
  for (int i = 0; i < 300; ++i) {
    many += "<pci busid=\"" + std::to_string(1000 + i) +
            ":00:00.0\" class=\"0x020000\" link_speed=\"8 GT/s\"/>";
  }
  Diagnostics diagnostics;
  const TopologySpec spec =
      import_nccl_xml(Source::of_text("many.xml", system(many)), {}, diagnostics);
  EXPECT_EQ(diagnostics.all().front().code, "W0210");
  EXPECT_EQ(spec.templates.front().parts.back().count, 300);
}

TEST(NcclXml, HostsOfADomainBecomeOneNode) {
  const std::string two_hosts =
      "<system version=\"1\">"
      "<cpu host_hash=\"0x1\" numaid=\"0\" arch=\"arm64\">" +
      gpu("") +
      "</cpu>"
      "<cpu host_hash=\"0x2\" numaid=\"0\" arch=\"arm64\"/></system>";
  Diagnostics diagnostics;
  const TopologySpec spec =
      import_nccl_xml(Source::of_text("hosts.xml", two_hosts), {"", "a10", {}, ""}, diagnostics);
  EXPECT_EQ(diagnostics.all().front().code, "W0213");
  for (const LinkSpec& link : spec.templates.front().links) {
    EXPECT_NE(link.kind, LinkKind::kSocket);
  }
}

}  // namespace
}  // namespace twinrun
