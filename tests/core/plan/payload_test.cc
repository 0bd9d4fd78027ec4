#include "core/plan/payload.h"

#include <gtest/gtest.h>

#include "core/plan/plan_builder.h"
#include "core/plan/workload.h"

namespace twinrun {
namespace {

TEST(Payload, IsKeptForTheOpsThatHaveOne) {
  PlanBuilder builder("payloads");
  const StreamId stream = builder.stream(builder.add_device("gpu0"), "compute");
  const OpId plain = builder.add_marker("plain", stream);
  const OpId first = builder.add_marker("first", stream);
  const OpId second = builder.add_marker("second", stream);
  const OpId late = builder.add_marker("late", stream);
  Payload payload;
  payload.verb = Verb::kUpdate;
  payload.elements = {{3, 7}};
  builder.set_payload(first, payload);
  Payload other = payload;
  other.elements = {{3, 8}};
  builder.set_payload(late, other);
  builder.set_payload(second, payload);
  const Plan plan = std::move(builder).finish();
  EXPECT_EQ(plan.payload(plain), nullptr);
  ASSERT_NE(plan.payload(first), nullptr);
  EXPECT_EQ(*plan.payload(first), payload);
  EXPECT_EQ(plan.payload(first), plan.payload(second));  // the same one, kept once
  EXPECT_EQ(*plan.payload(late), other);
}

TEST(Payload, CostsNothingWhereThereIsNone) {
  PlanBuilder builder("none");
  const OpId op = builder.add_marker("a", builder.stream(builder.add_device("gpu0"), "compute"));
  const Plan plan = std::move(builder).finish();
  EXPECT_EQ(plan.payload(op), nullptr);
  EXPECT_FALSE(plan.workload().is_trained());
}

// A pair as in arXiv:1909.08053: columns, what stands between, rows. 4·6 + 6 and 6·4 + 4 elements,
// of which a rank of two has 4·3 + 3 and 3·4 + 4: the bias of the rows is whole.
TEST(LayerShares, CountTheElementsOfOneTensorParallelRank) {
  Workload workload;
  workload.tensor_ranks = 2;
  workload.layers = {{"up", WorkKind::kLinear, LayerDivision::kColumns, 4, 6, true},
                     {"relu", WorkKind::kRelu, LayerDivision::kWithin, 6, 6, false},
                     {"down", WorkKind::kLinear, LayerDivision::kRows, 6, 4, true}};
  const std::vector<LayerShare> shares = layer_shares(workload);
  EXPECT_EQ(shares[0].outputs, 3);
  EXPECT_EQ(shares[0].weight + shares[0].bias, 15);
  EXPECT_EQ(shares[1].inputs, 3);
  EXPECT_EQ(shares[2].first_element, 15);
  EXPECT_EQ(shares[2].weight + shares[2].bias, 16);
  EXPECT_EQ(element_count(workload), 31);
  workload.tensor_ranks = 1;
  EXPECT_EQ(element_count(workload), 4 * 6 + 6 + 6 * 4 + 4);
}

}  // namespace
}  // namespace twinrun
