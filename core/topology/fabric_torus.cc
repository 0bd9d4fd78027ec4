#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/topology/fabric.h"

namespace twinrun {
namespace {

// Unless told otherwise, as square a rectangle as the number of machines allows.
std::vector<std::int64_t> dims_of(const FabricSpec& spec, std::size_t machines) {
  if (!spec.dims.empty()) {
    return spec.dims;
  }
  std::size_t side = 1;
  for (std::size_t i = 1; i * i <= machines; ++i) {
    side = machines % i == 0 ? i : side;
  }
  return {static_cast<std::int64_t>(machines / side), static_cast<std::int64_t>(side)};
}

}  // namespace

// dims [x, y, z]: machine i sits at (i % x, i / x % y, i / (x·y)) and is wired to its neighbour in
// the positive direction of every dimension, with wrap-around; one such grid for each NIC number.
void generate_torus(const FabricInput& input) {
  const std::size_t machines = input.ports.size();
  const std::vector<std::int64_t> dims = dims_of(input.spec, machines);
  double product = 1;  // a double: dims may be absurdly large
  for (const std::int64_t extent : dims) {
    product *= static_cast<double>(extent);
  }
  if (product != static_cast<double>(machines)) {
    input.diagnostics.error("E0308", input.spec.place,
                            fmt::format("a torus of {} machines cannot have dims [{}]", machines,
                                        fmt::join(dims, ", ")),
                            "the product of \"dims\" must be the number of machines");
    return;
  }
  std::size_t stride = 1;
  for (const std::int64_t extent_signed : dims) {
    const auto extent = static_cast<std::size_t>(extent_signed);
    for (std::size_t i = 0; i < machines; ++i) {
      const std::size_t at = i / stride % extent;
      const std::size_t next = at + 1 < extent ? i + stride : i - (extent - 1) * stride;
      if (extent == 1 || (extent == 2 && at == 1)) {
        continue;  // no neighbour, or already wired from the other side
      }
      const std::size_t grids = std::min(input.ports[i].size(), input.ports[next].size());
      for (std::size_t grid = 0; grid < grids; ++grid) {
        input.join_ports(input.ports[i][grid], input.ports[next][grid]);
      }
    }
    stride *= extent;
  }
}

}  // namespace twinrun
