#include "core/base/csr_graph.h"

#include <vector>

#include <boost/concept/assert.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/topological_sort.hpp>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<CsrGraph<OpId>>));
BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<CsrGraph<OpId>>));

Csr<OpId, OpId> edges_of(std::size_t rows, const std::vector<std::pair<int, int>>& pairs) {
  std::vector<OpId> from;
  std::vector<OpId> to;
  for (const auto& [a, b] : pairs) {
    from.push_back(static_cast<OpId>(a));
    to.push_back(static_cast<OpId>(b));
  }
  return Csr<OpId, OpId>::from_pairs(rows, from, to);
}

TEST(CsrGraph, ShowsEveryEdgeOfARowInOrder) {
  const auto rows = edges_of(3, {{0, 2}, {0, 1}, {2, 1}});
  const CsrGraph<OpId> graph(rows);
  const auto [first, last] = out_edges(0, graph);
  EXPECT_EQ(std::vector<CsrEdge>(first, last), (std::vector<CsrEdge>{{0, 2}, {0, 1}}));
  EXPECT_EQ(num_vertices(graph), 3U);
  EXPECT_EQ(out_degree(1, graph), 0U);
}

TEST(CsrGraph, BoostSortsItWithoutACopy) {
  const auto rows = edges_of(4, {{3, 1}, {1, 0}, {0, 2}});
  const CsrGraph<OpId> graph(rows);
  std::vector<std::uint32_t> last_first;
  boost::topological_sort(graph, std::back_inserter(last_first),
                          boost::vertex_index_map(index_map(graph)));
  EXPECT_EQ(last_first, (std::vector<std::uint32_t>{2, 0, 1, 3}));
}

}  // namespace
}  // namespace twinrun
