#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"
#include "cli/output.h"
#include "core/base/dtype.h"
#include "core/base/units.h"
#include "core/plan/op.h"
#include "core/topology/topology.h"
#include "sim/simulate.h"

// The two halves of `twinrun collective`: nccl-tests simulated (cli/collective.cc) and measured
// (cli/collective_measured.cc).

namespace twinrun::cli {

inline constexpr std::array<std::string_view, 7> kCollectiveWords = {
    "all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "send_recv"};
inline constexpr std::size_t kSendRecv = 6;

struct CollectiveOptions {
  std::string collective;
  std::string topology;
  std::string ranks = "all";
  std::string begin = "32M";
  std::string end;
  double factor = 2;
  std::string algorithm = "auto";
  std::string fidelity = "auto";
  std::string dtype = "fp32";
  std::uint32_t root = 0;
  std::string servers;
  std::string backend = "sim";
  std::int64_t iterations = 20;
  std::int64_t warmups = 5;
  double timeout_s = 60;
};

// The words of the options, understood.
struct CollectiveChoice {
  std::size_t collective = 0;  // of kCollectiveWords
  Dtype dtype = Dtype::kFp32;
  sim::Fidelity fidelity = sim::Fidelity::kAuto;
  std::vector<Bytes> sizes;

  [[nodiscard]] bool is_send_recv() const { return collective == kSendRecv; }
  [[nodiscard]] CollectiveKind kind() const { return static_cast<CollectiveKind>(collective); }
};

// What takes part, and what it is part of.
struct CollectivePlace {
  Topology topology;
  std::vector<VertexId> ranks;
  std::vector<VertexId> servers;  // places of their own
};

struct SimulatedSize {
  Bytes bytes{};
  Time time{};
  std::string algorithm;
  std::string protocol;
  std::string bottleneck;
  std::string why;
};

SimulatedSize simulate_size(const CollectivePlace& place,
                            const CollectiveChoice& choice,
                            const std::string& algorithm,
                            std::uint32_t root,
                            Bytes bytes);

CollectivePlace find_place(Context& context, const CollectiveOptions& options);

// Bytes over seconds in GB/s; nothing when either is 0.
Cell rate_cell(double bytes, double seconds);

Output measure_collective(Context& context,
                          const CollectiveOptions& options,
                          const CollectiveChoice& choice);

}  // namespace twinrun::cli
