#include "core/compute/gpu_family.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace twinrun {
namespace {

struct Generation {
  int sm = 0;
  double flop_per_cycle = 0;  // fp32, of a multiprocessor
  double clock_hz = 0;        // that the peaks on datasheets are stated at, about
};
// CUDA programming guide, table of arithmetic instructions: two for each fp32 lane.
constexpr std::array kGenerations = {
    Generation{35, 384, 0.75e9},  Generation{37, 384, 0.56e9},  Generation{50, 256, 1.1e9},
    Generation{52, 256, 1.1e9},   Generation{60, 128, 1.48e9},  Generation{61, 256, 1.58e9},
    Generation{70, 128, 1.53e9},  Generation{75, 128, 1.59e9},  Generation{80, 128, 1.41e9},
    Generation{86, 256, 1.7e9},   Generation{89, 256, 2.5e9},   Generation{90, 256, 1.9e9},
    Generation{100, 256, 1.98e9}, Generation{103, 256, 1.98e9}, Generation{120, 256, 2.4e9},
};

}  // namespace

GpuFamily family_of(const DeviceSpec& device) {
  if (device.kind != VertexKind::kGpu) {
    return GpuFamily::kCpu;
  }
  constexpr double kNoClockSurvives = 75;
  switch (device.sm) {
    case 35:
    case 37:
      return GpuFamily::kKepler;
    case 50:
    case 52:
      return GpuFamily::kMaxwell;
    case 60:
      return GpuFamily::kPascal;
    case 61:
      return GpuFamily::kConsumer;
    case 70:
      return GpuFamily::kVolta;
    case 75:
      return device.watts > 0 && device.watts <= kNoClockSurvives ? GpuFamily::kLowPower
                                                                  : GpuFamily::kVolta;
    case 80:
    case 86:
    case 89:
      return GpuFamily::kAmpere;
    case 90:
      return GpuFamily::kHopper;
    case 100:
    case 103:
    case 120:
      return GpuFamily::kBlackwell;
    default:
      return GpuFamily::kAnyGpu;
  }
}

double multiprocessors(const DeviceSpec& device) {
  if (device.kind != VertexKind::kGpu) {
    return std::max(device.cores, 1);
  }
  const double peak = device.peak[static_cast<std::size_t>(Dtype::kFp32)].flop_per_s;
  const auto* const found =
      std::find_if(kGenerations.begin(), kGenerations.end(),
                   [&](const Generation& one) { return one.sm == device.sm; });
  const Generation one = found != kGenerations.end() ? *found : Generation{0, 128, 1.5e9};
  constexpr double kUsual = 80;
  return peak > 0 ? std::max(1.0, std::round(peak / (one.flop_per_cycle * one.clock_hz))) : kUsual;
}

double memory_share(GpuFamily family) {
  switch (family) {
    case GpuFamily::kKepler:
      return 0.75;  // K80 with ECC, copy and triad of BabelStream (UoB-HPC, results/v1.0)
    case GpuFamily::kMaxwell:  // GTX Titan X, the same
    case GpuFamily::kConsumer:
      return 0.79;  // Titan Xp, BabelStream results/v3.3
    case GpuFamily::kPascal:
      return 0.75;  // P100, BabelStream's paper (Deakin et al. 2018), from memory
    case GpuFamily::kVolta:
      return 0.88;  // V100 0.86 copying, 0.90 saxpy (p2p_matrix_v100_cubemesh_dgxa100)
    case GpuFamily::kAmpere:
      return 0.83;  // A100 0.84 and 0.82, the same table; 0.78 in p2p_matrices_nvswitch
    case GpuFamily::kHopper:
      return 0.8;  // H100 0.75 copying (p2p_matrices_nvswitch), streams somewhat more
    case GpuFamily::kBlackwell:
      return 0.75;  // GB200 0.73 copying, the same
    case GpuFamily::kLowPower:
    case GpuFamily::kAnyGpu:
      return 0.8;
    case GpuFamily::kCpu:
      return 0.85;
  }
  return 0.8;
}

bool has_tensor_cores(const DeviceSpec& device, Dtype dtype) {
  constexpr int kFirstWithThem = 70;
  return device.kind == VertexKind::kGpu && (device.sm == 0 || device.sm >= kFirstWithThem) &&
         dtype != Dtype::kFp32 && dtype != Dtype::kFp64;
}

}  // namespace twinrun
