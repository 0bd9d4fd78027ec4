#pragma once

#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/nccl/search.h"
#include "core/plan/op.h"
#include "core/topology/router.h"

namespace twinrun {

// What a collective loads each link with: bytes that cross it for each byte of the collective (as
// NcclModel counts them: the larger of a rank's buffers). By link, ascending; links without traffic
// are left out. A fluid operation that draws on these links in these shares is the collective, with
// all its channels at work at once.
struct NcclTraffic {
  std::vector<std::pair<LinkId, double>> share;
};

// Rings: each machine's channels joined to the next machine's. Trees: a chain through each machine,
// a double binary tree between them. NVLS: every GPU to the switch and back; NVLSTree: and the tree
// between the machines. PAT and CollNet are taken for rings.
[[nodiscard]] NcclTraffic nccl_traffic(const Topology& topology,
                                       const NcclSearch& search,
                                       CollectiveKind collective,
                                       NcclAlgorithm algorithm,
                                       Router& router);

// The parent of each node in the first of two binary trees over so many, -1 for the root. Nodes
// with odd numbers are its leaves. The second tree is the first one counted from the end (an even
// number of nodes) or from the second node on (odd), so each node is a leaf in one of them at
// least, except the root of an odd number.
[[nodiscard]] std::vector<int> first_tree_parents(int nodes);
[[nodiscard]] std::vector<int> second_tree_parents(int nodes);

}  // namespace twinrun
