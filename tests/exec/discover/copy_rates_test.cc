#include "exec/discover/copy_rates.h"

#include <gtest/gtest.h>

namespace twinrun::exec {
namespace {

// How fast is the machine's affair; that somebody copied is ours.
TEST(CopyRates, EveryNodeHasBothFigures) {
  Machine machine;
  machine.nodes = {{0, {0}, {1 << 26}, {}, {}}, {1, {0, 1 << 20}, {1 << 26}, {}, {}}};
  measure_copies(machine);
  EXPECT_GT(machine.nodes[0].copy.bytes_per_s, 1e7);
  EXPECT_EQ(machine.nodes[0].copies, machine.nodes[0].copy);  // one core is all cores
  EXPECT_GT(machine.nodes[1].copies.bytes_per_s, 1e7);
}

}  // namespace
}  // namespace twinrun::exec
