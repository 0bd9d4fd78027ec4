#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/topology/fabric.h"

namespace twinrun {

// dims [x, y, z]: machine i sits at (i % x, i / x % y, i / (x·y)) and is wired to its neighbour in
// the positive direction of every dimension, with wrap-around; one such grid for each NIC number.
void generate_torus(const FabricInput& input) {
  const std::size_t machines = input.ports.size();
  double product = 1;  // a double: dims may be absurdly large
  for (const std::int64_t extent : input.spec.dims) {
    product *= static_cast<double>(extent);
  }
  if (input.spec.dims.empty() || product != static_cast<double>(machines)) {
    input.diagnostics.error("E0308", input.spec.place,
                            fmt::format("a torus of {} machines cannot have dims [{}]", machines,
                                        fmt::join(input.spec.dims, ", ")),
                            "the product of \"dims\" must be the number of machines");
    return;
  }
  std::size_t stride = 1;
  for (const std::int64_t extent_signed : input.spec.dims) {
    const auto extent = static_cast<std::size_t>(extent_signed);
    for (std::size_t i = 0; i < machines; ++i) {
      const std::size_t at = i / stride % extent;
      const std::size_t next = at + 1 < extent ? i + stride : i - (extent - 1) * stride;
      if (extent == 1 || (extent == 2 && at == 1)) {
        continue;  // no neighbour, or already wired from the other side
      }
      const std::size_t grids = std::min(input.ports[i].size(), input.ports[next].size());
      for (std::size_t grid = 0; grid < grids; ++grid) {
        input.plug(input.ports[i][grid], input.ports[next][grid].vertex);
      }
    }
    stride *= extent;
  }
}

}  // namespace twinrun
