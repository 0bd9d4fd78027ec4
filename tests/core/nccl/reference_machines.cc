#include "tests/core/nccl/reference_machines.h"

namespace twinrun {
namespace {

using enum NcclAlgorithm;
using enum NcclProtocol;

NcclSearchGraph plain_tree(
    int channels, double intra, double inter, NcclPath intra_path, NcclPath inter_path) {
  return search_graph(channels, intra, inter, intra_path, inter_path, true);
}

}  // namespace

NcclSearchGraph search_graph(int channels,
                             double intra,
                             double inter,
                             NcclPath intra_path,
                             NcclPath inter_path,
                             bool plain) {
  return {channels, intra, inter, intra_path, inter_path, plain, true, 0};
}

NcclSearchGraph nvlink_graph(int channels, double intra, double inter) {
  return search_graph(channels, intra, inter, NcclPath::kNvl);
}

NcclSystem machines(int sm, int gpus, int nodes, NcclCpu cpu) {
  NcclSystem system;
  system.ranks = gpus * nodes;
  system.nodes = nodes;
  system.sm = sm;
  system.cpu = cpu;
  return system;
}

NcclSearchGraphs both(const NcclSearchGraph& ring, const NcclSearchGraph& tree) {
  return {ring, tree, {}, {}};
}

const std::vector<ReferenceMachine>& nvlink_machines() {
  static const std::vector<ReferenceMachine> rows = {
      {"DGX-1 P100",
       machines(60, 8, 1),
       both(nvlink_graph(4, 18, 18), nvlink_graph(4, 18, 18)),
       8,
       {{{kRing, kLl, 15.0, .1},
         {kRing, kLl, 18.2, .1},
         {kRing, kLl, 66.0, .1},
         {kRing, kSimple, 464, 1},
         {kRing, kSimple, 6581, 1}}}},
      {"DGX-1 P100 x2",
       machines(60, 8, 2),
       both(nvlink_graph(4, 12, 12), nvlink_graph(4, 18, 12)),
       8,
       {{{kTree, kLl, 25.3, .1},
         {kTree, kLl, 37.7, .1},
         {kRing, kLl, 122, 1},
         {kTree, kSimple, 816, 1},
         {kTree, kSimple, 9098, 1}}}},
      {"DGX-1 V100",
       machines(70, 8, 1),
       both(nvlink_graph(6, 20, 20), nvlink_graph(6, 20, 20)),
       12,
       {{{kRing, kLl, 15.0, .1},
         {kRing, kLl, 17.9, .1},
         {kRing, kLl128, 57.2, .1},
         {kRing, kSimple, 301, 1},
         {kRing, kSimple, 3971, 1}}}},
      {"DGX-1 V100 x2",
       machines(70, 8, 2),
       both(nvlink_graph(4, 12, 12), nvlink_graph(4, 20, 12)),
       8,
       {{{kTree, kLl, 25.3, .1},
         {kTree, kLl, 36.5, .1},
         {kTree, kLl128, 99.2, .1},
         {kTree, kLl128, 589, 1},
         {kTree, kLl128, 7829, 1}}}},
      {"DGX-1 V100 x4",
       machines(70, 8, 4),
       both(nvlink_graph(4, 12, 12), nvlink_graph(4, 20, 12)),
       8,
       {{{kTree, kLl, 35.4, .1},
         {kTree, kLl, 56.0, .1},
         {kTree, kLl128, 159, 1},
         {kRing, kLl128, 881, 1},
         {kRing, kSimple, 11373, 1}}}},
      {"DGX A100",
       machines(80, 8, 1, NcclCpu::kAmd),
       both(nvlink_graph(12, 20, 20), nvlink_graph(12, 20, 20)),
       24,
       {{{kRing, kLl, 15.0, .1},
         {kRing, kLl, 16.3, .1},
         {kRing, kLl, 35.9, .1},
         {kRing, kLl128, 174, 1},
         {kRing, kSimple, 2013, 1}}}},
      {"DGX A100 x2",
       machines(80, 8, 2, NcclCpu::kAmd),
       both(nvlink_graph(8, 24, 24), nvlink_graph(8, 30, 24)),
       16,
       {{{kTree, kLl, 25.3, .1},
         {kTree, kLl, 34.9, .1},
         {kTree, kLl128, 70.3, .1},
         {kRing, kLl128, 275, 1},
         {kRing, kSimple, 2908, 1}}}},
      {"DGX A100 x16",
       machines(80, 8, 16, NcclCpu::kAmd),
       both(nvlink_graph(8, 24, 24), nvlink_graph(8, 30, 24)),
       16,
       {{{kTree, kLl, 55.3, .1},
         {kTree, kLl, 66.7, .1},
         {kTree, kLl128, 126, 1},
         {kTree, kLl128, 379, 1},
         {kRing, kLl128, 3911, 1}}}},
  };
  return rows;
}

const std::vector<ReferenceMachine>& nvls_machines() {
  static const NcclSearchGraph plain48 = plain_tree(8, 48, 48, NcclPath::kNvl, NcclPath::kPix);
  static const std::vector<ReferenceMachine> rows = {
      {"DGX H100",
       machines(90, 8, 1),
       {nvlink_graph(12, 30, 30), nvlink_graph(12, 30, 30), nvlink_graph(8, 40, 60), {}},
       24,
       {{{kRing, kLl, 15.0, .1},
         {kRing, kLl, 15.8, .1},
         {kRing, kLl, 28.0, .1},
         {kNvls, kSimple, 86.7, .1},
         {kNvls, kSimple, 1012, 1}}}},
      {"DGX H100 x2",
       machines(90, 8, 2),
       {nvlink_graph(8, 48, 48), plain48, nvlink_graph(8, 40, 48), {}},
       16,
       {{{kTree, kLl, 25.3, .1},
         {kTree, kLl, 31.8, .1},
         {kTree, kLl128, 62.5, .1},
         {kNvlsTree, kSimple, 135, 1},
         {kNvlsTree, kSimple, 1157, 1}}}},
      {"DGX H100 x16",
       machines(90, 8, 16),
       {nvlink_graph(8, 48, 48), plain48, nvlink_graph(8, 40, 48), {}},
       16,
       {{{kTree, kLl, 55.3, .1},
         {kTree, kLl, 67.8, .1},
         {kTree, kLl128, 117, 1},
         {kNvlsTree, kSimple, 284, 1},
         {kNvlsTree, kSimple, 1656, 1}}}},
      {"DGX B200",
       machines(100, 8, 1),
       {nvlink_graph(16, 45, 45), nvlink_graph(16, 40, 40), nvlink_graph(8, 90, 90), {}},
       32,
       {{{kRing, kLl, 15.0, .1},
         {kRing, kLl, 15.4, .1},
         {kRing, kLl, 21.5, .1},
         {kNvls, kSimple, 65.8, .1},
         {kNvls, kSimple, 677, 1}}}},
  };
  return rows;
}

const std::vector<ReferenceMachine>& pcie_machines() {
  const auto pcie = [](int channels, double speed, NcclPath path) {
    return search_graph(channels, speed, speed, path);
  };
  using enum NcclPath;
  static const std::vector<ReferenceMachine> rows = {
      {"4 sm61, one switch",
       machines(61, 4, 1),
       both(pcie(1, 12, kPix), pcie(1, 12, kPix)),
       2,
       {{{kRing, kLl, 12.9, .1},
         {kRing, kLl, 29.0, .1},
         {kRing, kSimple, 174, 1},
         {kRing, kSimple, 2140, 1},
         {kRing, kSimple, 33597, 1}}}},
      {"8 sm61, Broadwell",
       machines(61, 8, 1),
       both(pcie(1, 6, kSys), pcie(1, 6, kSys)),
       2,
       {{{kRing, kLl, 21.2, .1},
         {kRing, kLl, 58.8, .1},
         {kRing, kSimple, 394, 1},
         {kRing, kSimple, 4982, 1},
         {kRing, kSimple, 78382, 1}}}},
      {"4 sm61, Skylake",
       machines(61, 4, 1),
       both(pcie(1, 10, kSys), pcie(1, 10, kSys)),
       2,
       {{{kRing, kLl, 12.9, .1},
         {kRing, kLl, 32.3, .1},
         {kRing, kSimple, 200, 1},
         {kRing, kSimple, 2559, 1},
         {kRing, kSimple, 40308, 1}}}},
      {"2 RTX 4090",
       machines(89, 2, 1, NcclCpu::kAmd),
       both(pcie(2, 12, kPhb), pcie(2, 20, kPhb)),
       4,
       {{{kRing, kLl, 8.7, .1},
         {kRing, kLl, 14.1, .1},
         {kRing, kSimple, 63.5, .1},
         {kRing, kSimple, 719, 1},
         {kRing, kSimple, 11205, 1}}}},
      {"8 RTX 4090",
       machines(89, 8, 1, NcclCpu::kAmd),
       both(pcie(1, 15, kSys), pcie(1, 15, kSys)),
       2,
       {{{kRing, kLl, 20.8, .1},
         {kRing, kLl, 35.9, .1},
         {kRing, kSimple, 211, 1},
         {kRing, kSimple, 2046, 1},
         {kRing, kSimple, 31406, 1}}}},
  };
  return rows;
}

const std::vector<ReferenceMachine>& single_gpu_machines() {
  using enum NcclPath;
  static const NcclSearchGraphs v100 =
      both(search_graph(1, 10, 10, kLoc, kPix), plain_tree(1, 20, 10, kLoc, kPix));
  static const NcclSearchGraphs a10 =
      both(search_graph(1, 3, 3, kLoc, kPhb), plain_tree(1, 6, 3, kLoc, kPhb));
  static const std::vector<ReferenceMachine> rows = {
      {"V100 x2",
       machines(70, 1, 2),
       v100,
       2,
       {{{kRing, kLl, 16.8, .1},
         {kRing, kLl, 29.7, .1},
         {kRing, kLl128, 145, 1},
         {kRing, kSimple, 1747, 1},
         {kRing, kSimple, 26913, 1}}}},
      {"V100 x16",
       machines(70, 1, 16),
       v100,
       2,
       {{{kTree, kLl, 47.9, .1},
         {kTree, kLl128, 112, 1},
         {kRing, kLl128, 483, 1},
         {kRing, kLl128, 3688, 1},
         {kRing, kSimple, 51146, 1}}}},
      {"A10 x4",
       machines(86, 1, 4),
       a10,
       2,
       {{{kTree, kLl, 30.5, .1},
         {kRing, kLl, 102, 1},
         {kRing, kSimple, 654, 1},
         {kRing, kSimple, 8518, 1},
         {kRing, kSimple, 134347, 1}}}},
  };
  return rows;
}

std::vector<ReferenceMachine> reference_machines() {
  std::vector<ReferenceMachine> all;
  for (const auto* rows :
       {&nvlink_machines(), &nvls_machines(), &pcie_machines(), &single_gpu_machines()}) {
    all.insert(all.end(), rows->begin(), rows->end());
  }
  return all;
}

}  // namespace twinrun
