#include "exec/discover/hwloc_agreement.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun::exec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two nodes of two cores, 1 KiB each; a device at each node and one that does not say where it is.
Machine two_nodes(std::string reader) {
  Machine out;
  out.readers = {std::move(reader)};
  out.nodes = {{0, {0, 1}, {1024}, {}, {}}, {1, {2, 3}, {1024}, {}, {}}};
  for (const int node : {0, 1, -1}) {
    PciFunction function;
    function.bus_id = "0000:0" + std::to_string(node + 2) + ":00.0";
    function.numa_node = node;
    out.pci.push_back(function);
  }
  std::rotate(out.pci.begin(), out.pci.begin() + 2, out.pci.end());  // ascending
  return out;
}

struct Taken {
  Machine machine = two_nodes("sysfs");
  std::vector<std::string> warnings;
};

Taken take(const Machine& said) {
  Taken out;
  Diagnostics diagnostics;
  take_from_hwloc(said, out.machine, diagnostics);
  for (const Diagnostic& one : diagnostics.all()) {
    out.warnings.push_back(one.code + " " + one.message);
  }
  return out;
}

TEST(HwlocAgreement, TwoThatAgreeAddCachesAndPlaces) {
  Machine said = two_nodes("hwloc");
  said.nodes[1].cache = {77};
  said.pci[0].numa_node = 1;  // of which /sys says nothing
  const Taken taken = take(said);
  EXPECT_THAT(taken.warnings, IsEmpty());
  EXPECT_THAT(taken.machine.readers, ElementsAre("sysfs", "hwloc"));
  EXPECT_EQ(taken.machine.nodes, said.nodes);
  EXPECT_EQ(taken.machine.pci, said.pci);
}

TEST(HwlocAgreement, WhatHwlocDoesNotKnowStays) {
  Machine said = two_nodes("hwloc");
  said.nodes[0].memory = {};
  said.pci = {said.pci[1]};
  said.pci[0].numa_node = -1;
  const Taken taken = take(said);
  EXPECT_THAT(taken.warnings, IsEmpty());
  EXPECT_EQ(taken.machine.nodes, two_nodes("").nodes);
  EXPECT_EQ(taken.machine.pci, two_nodes("").pci);
}

TEST(HwlocAgreement, DifferencesAreOneWarningAndHwlocsWordsStand) {
  Machine said = two_nodes("hwloc");
  said.nodes[0].cores = {0, 2};
  said.nodes[1].cores = {1, 3};
  said.nodes[1].memory = {4096};
  said.pci[1].numa_node = 1;
  const Taken taken = take(said);
  EXPECT_THAT(
      taken.warnings,
      ElementsAre("W0224 hwloc and /sys differ about the cores of NUMA node 0, the cores of "
                  "NUMA node 1, the memory of NUMA node 1, and 1 more: hwloc's words are "
                  "taken"));
  EXPECT_EQ(taken.machine.nodes, said.nodes);
  EXPECT_EQ(taken.machine.pci, said.pci);
}

TEST(HwlocAgreement, OtherNodesAreADifference) {
  Machine said = two_nodes("hwloc");
  said.nodes.pop_back();
  EXPECT_THAT(take(said).warnings, ElementsAre(HasSubstr("about which NUMA nodes there are")));
  said.nodes[0].number = 1;
  EXPECT_EQ(take(said).machine.nodes, said.nodes);
}

}  // namespace
}  // namespace twinrun::exec
