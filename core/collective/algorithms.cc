#include "core/collective/algorithms.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/check.h"

namespace twinrun {

namespace {

constexpr CollectiveKind kAllReduce = CollectiveKind::kAllReduce;
constexpr CollectiveKind kReduceScatter = CollectiveKind::kReduceScatter;
constexpr CollectiveKind kAllGather = CollectiveKind::kAllGather;
constexpr CollectiveKind kBroadcast = CollectiveKind::kBroadcast;
constexpr CollectiveKind kReduce = CollectiveKind::kReduce;
constexpr CollectiveKind kAllToAll = CollectiveKind::kAllToAll;
constexpr CollectiveKind kBarrier = CollectiveKind::kBarrier;

bool reads(const CollectiveAlgorithm& algorithm, std::string_view key) {
  return std::find(algorithm.keys.begin(), algorithm.keys.end(), key) != algorithm.keys.end();
}

std::uint32_t appended_servers(const CollectiveAlgorithm& algorithm, const CollectiveSpec& spec) {
  const bool appended =
      reads(algorithm, "placement") && spec.placement == ServerPlacement::kAppended;
  return appended ? spec.servers : 0;
}

// Steps and places are 32-bit numbers, and doubled or rounded up to a power of two here and there.
constexpr std::int64_t kMostParticipants = 1 << 24;

// Sums over all participants, twice the array each, must stay countable.
bool is_countable(const CollectiveSpec& spec) {
  const std::int64_t participants = std::int64_t{spec.ranks} + spec.servers;
  return spec.bytes <= std::numeric_limits<std::int64_t>::max() / 4 / participants;
}

std::optional<std::string> malformed(const CollectiveSpec& spec) {
  if (spec.ranks == 0) {
    return "A collective needs at least one rank.";
  }
  if (std::int64_t{spec.ranks} + spec.servers > kMostParticipants) {
    return fmt::format("{} ranks and {} servers are more than {} participants.", spec.ranks,
                       spec.servers, kMostParticipants);
  }
  if (spec.element_bytes == 0 || spec.bytes < 0 || spec.bytes % spec.element_bytes != 0) {
    return fmt::format("{} bytes are not a whole number of elements of {} bytes.", spec.bytes,
                       spec.element_bytes);
  }
  if (!is_countable(spec)) {
    return fmt::format("{} bytes on each of {} ranks are more than can be counted.", spec.bytes,
                       spec.ranks);
  }
  if (has_root(spec.kind) && spec.root >= spec.ranks) {
    return fmt::format("The root is rank {}, but the ranks are 0 to {}.", spec.root,
                       spec.ranks - 1);
  }
  return std::nullopt;
}

std::optional<std::string> wrong_keys(const CollectiveAlgorithm& algorithm,
                                      const CollectiveSpec& spec) {
  if (reads(algorithm, "servers") && spec.servers == 0) {
    return fmt::format("{} needs at least one server.", algorithm.name);
  }
  if (reads(algorithm, "ranks_per_node") &&
      (spec.ranks_per_node == 0 || spec.ranks % spec.ranks_per_node != 0)) {
    return fmt::format("{} needs machines of one size, but {} ranks do not fill machines of {}.",
                       algorithm.name, spec.ranks, spec.ranks_per_node);
  }
  return std::nullopt;
}

std::string names_of(const std::vector<CollectiveKind>& kinds) {
  std::vector<std::string_view> names;
  names.reserve(kinds.size());
  for (CollectiveKind kind : kinds) {
    names.push_back(name_of(kind));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::span<const CollectiveAlgorithm> collective_algorithms() {
  static const std::vector<CollectiveAlgorithm> rows = {
      {"ring",
       "chunks travel from each rank to the next; least bytes, most steps",
       {kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce},
       {},
       ring()},
      {"tree",
       "two binary trees, each with half of the data; a leaf of one works in the other",
       {kAllReduce, kBroadcast, kReduce, kBarrier},
       {},
       double_binary_tree()},
      {"halving-doubling",
       "partners at halving distances exchange halves, then the results at doubling ones",
       {kAllReduce, kReduceScatter, kAllGather},
       {},
       halving_doubling()},
      {"recursive-doubling",
       "partners at doubling distances exchange all they have; fewest steps",
       {kAllReduce, kAllGather, kBroadcast, kReduce, kBarrier},
       {},
       recursive_doubling()},
      {"direct",
       "every rank sends to every other at once",
       {kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce, kAllToAll},
       {},
       direct()},
      {"hierarchical",
       "rings in each machine, then a ring between machines for each local rank",
       {kAllReduce, kReduceScatter, kAllGather},
       {"ranks_per_node"},
       hierarchical()},
      {"hierarchical-tree",
       "rings in each machine, then two binary trees between machines for each local rank",
       {kAllReduce},
       {"ranks_per_node"},
       hierarchical_tree()},
      {"ps",
       "workers push to one server, which reduces; then they pull",
       {kAllReduce},
       {"placement"},
       central_parameter_server()},
      {"ps-sharded",
       "a parameter server whose array is spread over several servers",
       {kAllReduce},
       {"servers", "placement"},
       sharded_parameter_server()},
      {"ps-hierarchical",
       "each machine reduces to its first rank, which pushes to the servers and pulls for all",
       {kAllReduce},
       {"servers", "placement", "ranks_per_node"},
       hierarchical_parameter_server()},
  };
  return rows;
}

const CollectiveAlgorithm* find_collective_algorithm(std::string_view name) {
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (algorithm.name == dashed) {
      return &algorithm;
    }
  }
  return nullptr;
}

std::optional<std::string> why_not(const CollectiveAlgorithm& algorithm,
                                   const CollectiveSpec& spec) {
  const auto& kinds = algorithm.kinds;
  if (std::find(kinds.begin(), kinds.end(), spec.kind) == kinds.end()) {
    return fmt::format("{} does {}, not {}.", algorithm.name, names_of(kinds), name_of(spec.kind));
  }
  if (auto reason = malformed(spec)) {
    return reason;
  }
  if (auto reason = wrong_keys(algorithm, spec)) {
    return reason;
  }
  return algorithm.functions.refusal == nullptr ? std::nullopt : algorithm.functions.refusal(spec);
}

CollectiveSchedule::CollectiveSchedule(const CollectiveAlgorithm& algorithm,
                                       const CollectiveSpec& spec)
    : spec_(spec),
      functions_(algorithm.functions),
      participants_(spec.ranks + appended_servers(algorithm, spec)) {
  TWINRUN_CHECK(!why_not(algorithm, spec));
  if (spec.kind == kBarrier) {
    spec_.kind = kAllReduce;
    spec_.bytes = spec.element_bytes;
  }
}

void CollectiveSchedule::transfers(std::uint32_t rank,
                                   std::uint32_t step,
                                   StepTransfers& out) const {
  out.clear();
  functions_.transfers(spec_, rank, step, out);
}

}  // namespace twinrun
