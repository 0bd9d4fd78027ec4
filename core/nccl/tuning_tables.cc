#include "core/nccl/tuning_tables.h"

namespace twinrun {
namespace {

using PerProtocol = NcclTables::PerProtocol;

constexpr PerProtocol kNone = {0, 0, 0};

constexpr PerProtocol simple_only(double us) { return {0, 0, us}; }

// Rows of latencies: Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT.
// NCCL 2.28.9 src/graph/tuning.cc, facts restated in our words (cuda-nccl-cpu 3.3).
void set_latencies(NcclTables& tables) {
  tables.base = {{{6.8, 14, 8.4}, {6.6, 14, 8.4}, kNone, kNone, kNone, kNone, {8, 8, 8}}};
  tables.nvlink_hop = {{{0.6, 1.25, 4.0},
                        {0.6, 1.9, 3.4},
                        simple_only(3.7),
                        simple_only(2.8),
                        simple_only(25),
                        simple_only(25),
                        simple_only(4.0)}};
  tables.pci_hop = {{{1.0, 1.9, 4.0},
                     {1.0, 2.5, 5.7},
                     simple_only(3.7),
                     simple_only(2.8),
                     kNone,
                     kNone,
                     simple_only(4.0)}};
  tables.network_hop = {{{5.0, 8.5, 14},
                         {2.7, 4.0, 14},
                         simple_only(31),
                         simple_only(30),
                         simple_only(18),
                         simple_only(20.9),
                         simple_only(14)}};
  tables.network_overhead_us = 1.0;
  tables.network_overhead_amd_us = 2.0;
}

// Rows of caps: Volta and older, Ampere, Hopper, Blackwell; columns: one, two, more nodes.
// NCCL 2.28.9 src/graph/tuning.cc, facts restated in our words (cuda-nccl-cpu 3.3).
void set_caps(NcclTables& tables) {
  tables.ll_cap_one_node = {39, 87.7, 141, 282};
  tables.ll_cap_intel = {39, 20.4};
  tables.ll_cap_amd = {22.5, 19};
  tables.ring_ll128_cap = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {73.4, 34.6, 73.4}}};
  tables.tree_ll128_cap = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
  tables.tree_cap = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
  // NVLSTree needs a network, so the first column says nothing for the generations that have NVLS.
  tables.nvls_tree_cap = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 43.8}}};
  tables.nvls_efficiency = {0, 0, 0.85, 0.74};
}

// NCCL 2.28.9 src/graph/tuning.cc, facts restated in our words (cuda-nccl-cpu 3.6). The reference
// gives the plateau beside version 2.30; its own figures for 2.28.9 need it too.
void set_corrections(NcclTables& tables) {
  tables.tree_correction = {
      {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
       {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
       {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
        .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};
  tables.plateau_bytes = 64;
  tables.plateau_factor = 1.4;
  tables.plateau_factor_before_sm80 = 1.9;
}

}  // namespace

const NcclTables& default_nccl_tables() {
  static const NcclTables tables = [] {
    NcclTables made;
    set_latencies(made);
    set_caps(made);
    set_corrections(made);
    return made;
  }();
  return tables;
}

}  // namespace twinrun
