#include "core/base/csr.h"

#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinrun {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Graph = Csr<VertexId, LinkId>;

VertexId vertex(std::size_t i) { return id_at<VertexId>(i); }
LinkId link(std::size_t i) { return id_at<LinkId>(i); }

// The drawing in csr.h: rows 0:{2,3} 1:{} 2:{0}.
Graph drawn() {
  const std::vector<VertexId> sources = {vertex(2), vertex(0), vertex(0)};
  const std::vector<LinkId> targets = {link(0), link(2), link(3)};
  return Graph::from_pairs(3, sources, targets);
}

TEST(Csr, RowsHoldTheirTargets) {
  const Graph graph = drawn();
  EXPECT_EQ(graph.rows(), 3U);
  EXPECT_EQ(graph.size(), 3U);
  EXPECT_THAT(graph[vertex(0)], ElementsAre(link(2), link(3)));
  EXPECT_THAT(graph[vertex(1)], IsEmpty());
  EXPECT_THAT(graph[vertex(2)], ElementsAre(link(0)));
}

TEST(Csr, TheOrderInARowIsTheOrderOfThePairs) {
  const std::vector<VertexId> sources = {vertex(1), vertex(0), vertex(1), vertex(1)};
  const std::vector<LinkId> targets = {link(9), link(5), link(3), link(9)};
  EXPECT_THAT(Graph::from_pairs(2, sources, targets)[vertex(1)],
              ElementsAre(link(9), link(3), link(9)));
}

TEST(Csr, TakesFinishedArrays) {
  const Graph graph({0, 2, 2, 3}, {link(2), link(3), link(0)});
  EXPECT_THAT(graph[vertex(0)], ElementsAre(link(2), link(3)));
  EXPECT_THAT(graph[vertex(2)], ElementsAre(link(0)));
}

TEST(Csr, AnEmptyOneHasNoRows) {
  EXPECT_EQ(Graph().rows(), 0U);
  EXPECT_EQ(Graph::from_pairs(0, {}, {}).rows(), 0U);
  EXPECT_EQ(Graph::from_pairs(2, {}, {}).rows(), 2U);
}

TEST(Csr, CostsFourBytesARowAndATarget) { EXPECT_EQ(drawn().bytes(), 4U * (3 + 1) + 4U * 3); }

TEST(Csr, ArraysThatDoNotFitTogetherAreABug) {
  EXPECT_THROW(Graph({0, 2}, {link(1)}), std::logic_error);
  EXPECT_THROW(Graph({}, {}), std::logic_error);
  const std::vector<VertexId> sources = {vertex(0)};
  EXPECT_THROW(Graph::from_pairs(1, sources, {}), std::logic_error);
}

}  // namespace
}  // namespace twinrun
