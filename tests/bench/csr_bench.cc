#include "core/base/csr.h"

#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/base/ids.h"

namespace twinrun {
namespace {

// The arrays of a million-op plan: two edges an op, in an order that jumps about.
void build_csr(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  std::vector<OpId> sources;
  std::vector<OpId> targets;
  for (std::size_t i = 0; i < rows * 2; ++i) {
    sources.push_back(id_at<OpId>(i * 7919 % rows));
    targets.push_back(id_at<OpId>(i % rows));
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(Csr<OpId, OpId>::from_pairs(rows, sources, targets));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(targets.size()));
}
BENCHMARK(build_csr)->Arg(1'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace twinrun
