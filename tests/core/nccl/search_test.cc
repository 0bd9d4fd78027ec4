#include "core/nccl/search.h"

#include <cstdio>

#include <gtest/gtest.h>

#include "core/nccl/tuning.h"
#include "tests/core/nccl/reference_machines.h"
#include "tests/core/nccl/reference_topologies.h"
#include "tests/core/topology/topologies_for_tests.h"

namespace twinrun {
namespace {

NcclSearch found(const Topology& topology, const std::vector<VertexId>& ranks) {
  auto result = search_channels(topology, ranks);
  if (const auto* refusal = std::get_if<NcclRefusal>(&result)) {
    ADD_FAILURE() << refusal->why;
    return {};
  }
  return std::get<NcclSearch>(std::move(result));
}

// "4x12/12 NVL" as the reference's table writes it.
std::string text_of(const NcclSearchGraph& graph) {
  char text[96];
  std::snprintf(text, sizeof text, "%dx%g/%g %s%s", graph.channels, graph.intra_gbps,
                graph.inter_gbps, std::string(name_of(graph.intra_path)).c_str(),
                graph.plain_tree ? " plain" : "");
  return text;
}

TEST(NcclSearch, FindsWhatTheReferenceTableSays) {
  for (const ReferenceMachine& machine : reference_machines()) {
    SCOPED_TRACE(machine.name);
    const Topology topology = reference_topology(machine.name);
    const NcclSearch search = found(topology, gpus_of(topology));
    EXPECT_EQ(text_of(search.graphs.ring), text_of(machine.graphs.ring));
    EXPECT_EQ(text_of(search.graphs.tree), text_of(machine.graphs.tree));
    EXPECT_EQ(text_of(search.graphs.nvls), text_of(machine.graphs.nvls));
    const NcclModel model(search.system, search.graphs);
    EXPECT_EQ(model.compute_channels(), machine.compute_channels);
    for (std::size_t i = 0; i < kReferenceSizes.size(); ++i) {
      const auto choice = model.choose(CollectiveKind::kAllReduce, {kReferenceSizes[i]});
      EXPECT_EQ(name_of(choice->algorithm), name_of(machine.expected[i].algorithm));
      EXPECT_EQ(name_of(choice->protocol), name_of(machine.expected[i].protocol));
      EXPECT_NEAR(choice->time_us, machine.expected[i].time_us, 0.55 * machine.expected[i].digit);
    }
  }
}

TEST(NcclSearch, RingsOfPartsOfACubeMesh) {
  const Topology topology = topology_of("dgx1-v100");
  for (std::size_t n = 2; n <= 8; ++n) {
    const NcclSearch search = found(topology, gpus_of(topology, n));
    std::printf("%zu %s tree %s\n", n, text_of(search.graphs.ring).c_str(), text_of(search.graphs.tree).c_str());
  }
}

}  // namespace
}  // namespace twinrun
