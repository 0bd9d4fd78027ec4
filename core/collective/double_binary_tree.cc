#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "core/base/check.h"
#include "core/collective/algorithms.h"

// Double binary tree: each half of the array has a binary tree of its own.
//
//   first tree, N = 8          second tree: mirrored (N even) or shifted by one (N odd)
//
//       0                          7
//       └─── 4                     └─── 3
//          ┌─┴─┐                      ┌─┴─┐
//          2   6                      5   1
//         ┌┴┐ ┌┴┐                    ┌┴┐ ┌┴┐
//         1 3 5 7                    6 4 2 0
//
// A rank that works in one tree is a leaf of the other, so both directions of every link are busy.
// All-reduce: each half is reduced up its tree and copied down again, ceil(log2 N) steps each way.
// A rank at depth d sends up in step D - d, where D is the depth of the tree: leaves near the root
// have nothing to do before and start at once.
//
// Broadcast and reduce: the root stays outside and feeds (drains) the tops of two trees over the
// other N - 1 ranks.
//
// Sources: Sanders, Speck and Träff, Two-tree algorithms for full bandwidth broadcast, reduction
// and scan, Parallel Computing 35 (2009). NCCL cuts each half into slices and pipelines them; here
// a half moves whole.

namespace twinrun {

namespace {

struct TreeNode {
  std::optional<std::uint32_t> parent;
  std::array<std::optional<std::uint32_t>, 2> children;
  std::uint32_t depth = 0;
};

std::uint32_t log2_up(std::uint32_t n) { return static_cast<std::uint32_t>(std::bit_width(n - 1)); }

// The in-order tree of the drawing: the lowest set bit of a number tells its level.
std::optional<std::uint32_t> parent_of(std::uint32_t v, std::uint32_t size) {
  if (v == 0) {
    return std::nullopt;
  }
  const std::uint32_t bit = v & (~v + 1);
  const std::uint32_t above = (v ^ bit) | (bit << 1);
  return above < size ? above : v ^ bit;
}

// A child to the right may be cut off by the size; then its left part is ours.
std::optional<std::uint32_t> right_child_of(std::uint32_t v, std::uint32_t size) {
  const std::uint32_t bit = v == 0 ? std::bit_ceil(size) : v & (~v + 1);
  for (std::uint32_t below = bit / 2; below > 0; below /= 2) {
    if (v + below < size) {
      return v + below;
    }
  }
  return std::nullopt;
}

TreeNode plain_node(std::uint32_t v, std::uint32_t size) {
  TreeNode node;
  node.parent = parent_of(v, size);
  if (v != 0 && v % 2 == 0) {
    node.children[0] = v - (v & (~v + 1)) / 2;
  }
  node.children[1] = right_child_of(v, size);
  for (auto up = node.parent; up; up = parent_of(*up, size)) {
    ++node.depth;
  }
  return node;
}

// Places of the second tree are mirrored or shifted; there and back are the two directions.
std::uint32_t second_to_plain(std::uint32_t v, std::uint32_t size) {
  return size % 2 == 0 ? size - 1 - v : (v + size - 1) % size;
}
std::uint32_t plain_to_second(std::uint32_t v, std::uint32_t size) {
  return size % 2 == 0 ? size - 1 - v : (v + 1) % size;
}

TreeNode second_node(std::uint32_t v, std::uint32_t size) {
  TreeNode node = plain_node(second_to_plain(v, size), size);
  for (auto* peer : {&node.parent, &node.children[0], &node.children[1]}) {
    if (*peer) {
      *peer = plain_to_second(**peer, size);
    }
  }
  return node;
}

TreeNode node_of(std::uint32_t tree, std::uint32_t v, std::uint32_t size) {
  return tree == 0 ? plain_node(v, size) : second_node(v, size);
}

// Ranks of the trees: all, or all but the root, counted from the one behind it.
struct Forest {
  std::uint32_t size;
  std::uint32_t first;
  std::uint32_t ranks;
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t v) const { return (first + v) % ranks; }
  [[nodiscard]] std::uint32_t place_of(std::uint32_t rank) const {
    return (rank + ranks - first) % ranks;
  }
  [[nodiscard]] std::uint32_t depth() const { return log2_up(size); }
};

Forest forest_of(const CollectiveSpec& spec) {
  return has_root(spec.kind) ? Forest{spec.ranks - 1, (spec.root + 1) % spec.ranks, spec.ranks}
                             : Forest{spec.ranks, 0, spec.ranks};
}

void go_up(const Forest& forest,
           const TreeNode& node,
           ByteRange half,
           std::uint32_t step,
           StepTransfers& out) {
  if (node.parent && step == forest.depth() - node.depth) {
    out.send(forest.rank_of(*node.parent), half, Action::kReduce);
  }
  for (const auto& child : node.children) {
    if (child && step + 1 == forest.depth() - node.depth) {
      out.receive(forest.rank_of(*child), half, Action::kReduce);
    }
  }
}

void go_down(const Forest& forest,
             const TreeNode& node,
             ByteRange half,
             std::uint32_t step,
             StepTransfers& out) {
  if (node.parent && step + 1 == node.depth) {
    out.receive(forest.rank_of(*node.parent), half, Action::kCopy);
  }
  for (const auto& child : node.children) {
    if (child && step == node.depth) {
      out.send(forest.rank_of(*child), half, Action::kCopy);
    }
  }
}

// The one step between the root and the tops of the two trees.
void pass_root(const CollectiveSpec& spec, std::uint32_t rank, StepTransfers& out) {
  const Forest forest = forest_of(spec);
  for (std::uint32_t tree = 0; tree < 2; ++tree) {
    const ByteRange half = chunk_of(spec, 2, tree);
    const std::uint32_t top = forest.rank_of(tree == 0 ? 0 : plain_to_second(0, forest.size));
    const bool down = spec.kind == CollectiveKind::kBroadcast;
    const Action action = down ? Action::kCopy : Action::kReduce;
    if (rank == (down ? spec.root : top)) {
      out.send(down ? top : spec.root, half, action);
    }
    if (rank == (down ? top : spec.root)) {
      out.receive(down ? spec.root : top, half, action);
    }
  }
}

void rooted(const CollectiveSpec& spec,
            std::uint32_t rank,
            std::uint32_t step,
            StepTransfers& out) {
  const Forest forest = forest_of(spec);
  const bool down = spec.kind == CollectiveKind::kBroadcast;
  if (step == (down ? 0 : forest.depth())) {
    return pass_root(spec, rank, out);
  }
  if (rank == spec.root) {
    return;
  }
  for (std::uint32_t tree = 0; tree < 2; ++tree) {
    const TreeNode node = node_of(tree, forest.place_of(rank), forest.size);
    const ByteRange half = chunk_of(spec, 2, tree);
    down ? go_down(forest, node, half, step - 1, out) : go_up(forest, node, half, step, out);
  }
}

void transfers(const CollectiveSpec& spec,
               std::uint32_t rank,
               std::uint32_t step,
               StepTransfers& out) {
  if (has_root(spec.kind)) {
    return rooted(spec, rank, step, out);
  }
  const Forest forest = forest_of(spec);
  for (std::uint32_t tree = 0; tree < 2; ++tree) {
    const TreeNode node = node_of(tree, rank, forest.size);
    const ByteRange half = chunk_of(spec, 2, tree);
    if (step < forest.depth()) {
      go_up(forest, node, half, step, out);
    } else {
      go_down(forest, node, half, step - forest.depth(), out);
    }
  }
}

std::uint32_t steps(const CollectiveSpec& spec) {
  if (spec.ranks == 1) {
    return 0;
  }
  return has_root(spec.kind) ? 1 + log2_up(spec.ranks - 1) : 2 * log2_up(spec.ranks);
}

// From four ranks in a tree on, some rank has two children in the first tree and is a leaf in the
// second: up once and down twice with its half, up once with the other.
std::int64_t bytes_sent(const CollectiveSpec& spec) {
  const std::int64_t half = chunk_size(spec, 2, 0);
  if (spec.ranks == 1) {
    return 0;
  }
  if (spec.kind == CollectiveKind::kReduce) {
    return spec.bytes;
  }
  if (spec.kind == CollectiveKind::kBroadcast) {
    return spec.ranks >= 5 ? 2 * half : spec.bytes;
  }
  const std::int64_t extra_sends = std::min<std::int64_t>(spec.ranks - 2, 2);
  return spec.bytes + extra_sends * half;
}

}  // namespace

CollectiveFunctions double_binary_tree() { return {nullptr, steps, bytes_sent, transfers}; }

}  // namespace twinrun
