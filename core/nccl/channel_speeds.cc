#include "core/nccl/channel_speeds.h"

#include <algorithm>
#include <array>

namespace twinrun {
namespace {

constexpr std::array kIntra = {40., 30., 20., 18., 15., 12., 10., 9., 7., 6., 5., 4., 3.};
constexpr std::array kInter = {48., 30., 28., 24., 20., 18., 15., 12.,  10., 9.,
                               7.,  6.,  5.,  4.,  3.,  2.4, 1.2, 0.24, 0.12};
constexpr std::array kIntraHopper = {60., 50., 40., 30., 24., 20., 15., 12., 11., 6., 3.};
constexpr std::array kInterHopper = {48., 45., 42., 40., 30., 24., 22.,  20., 17.5,
                                     15., 12., 6.,  3.,  2.4, 1.2, 0.24, 0.12};
constexpr std::array kIntraBlackwell = {90., 80., 70., 60., 50., 40., 30., 24., 20., 19., 18.};
constexpr std::array kInterBlackwell = {96.,  48., 45.1, 42., 40., 30., 24., 22.,  20.,
                                        17.5, 15., 12.,  6.,  3.,  2.4, 1.2, 0.24, 0.12};

}  // namespace

std::span<const double> channel_speeds(int sm, bool network) {
  if (sm >= 100) {
    return network ? std::span<const double>(kInterBlackwell) : kIntraBlackwell;
  }
  if (sm >= 90) {
    return network ? std::span<const double>(kInterHopper) : kIntraHopper;
  }
  return network ? std::span<const double>(kInter) : kIntra;
}

double fastest_listed(std::span<const double> speeds, double most) {
  const auto found = std::find_if(speeds.begin(), speeds.end(),
                                  [&](double gbps) { return gbps <= most * (1 + 1e-9); });
  return found == speeds.end() ? 0 : *found;
}

}  // namespace twinrun
