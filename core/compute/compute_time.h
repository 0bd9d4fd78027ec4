#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/dtype.h"
#include "core/base/units.h"
#include "core/compute/efficiency.h"
#include "core/plan/op.h"
#include "core/topology/spec.h"

namespace twinrun {

// What an op spends its time on.
enum class ComputeBound : std::uint8_t { kLaunch, kMemory, kCompute, kMeasured };
inline constexpr std::array<std::string_view, 4> kComputeBoundNames = {"launch", "memory",
                                                                       "compute", "measured"};

// Of one instance of a device: 0.8 for a GPU that runs at 80 %.
struct ComputeScales {
  double compute = 1;
  double memory_bandwidth = 1;
};

// What the model had to assume.
enum class ComputeNote : std::uint8_t {
  kNone,
  kOtherDtype,         // the device lacks the format and computes in another
  kNoPeak,             // no peak is known, so the FLOPs take no time
  kNoMemoryBandwidth,  // none is known, so the bytes take no time
};

struct ComputeTime {
  Time time{};
  ComputeBound bound = ComputeBound::kLaunch;
  double efficiency = 0;       // FLOPs over time, as a share of the peak; 0 without FLOPs or peak
  Dtype dtype = Dtype::kFp32;  // computed in
  ComputeNote note = ComputeNote::kNone;
};

// The roofline, plus the launch overhead:
//
//   a product         by its shape and the device's family, see product_time.h
//   FLOPs and bytes   max(FLOPs / (peak · share), bytes / (memory bandwidth · share))
//
// A share of the peak that the device itself states (its own curve) wins over those of
// efficiency.h, and counts as in the second line. What was measured on the device wins over all of
// it, launch included: a GEMM whose time its table knows, a product near to those of its grids, an
// op whose bytes its streaming curves know (see measured_speed.h). A GEMM that says neither FLOPs
// nor bytes has 2·m·n·k and each matrix once. Never ends early (rounded up to a picosecond) and
// never overflows: what takes longer than 106 days takes the largest Time.
ComputeTime compute_time(const DeviceSpec& device,
                         const ComputeOp& op,
                         const Kernel* kernel,
                         const ComputeScales& scales = {});
// With other curves than those the program has.
ComputeTime compute_time(const DeviceSpec& device,
                         const ComputeOp& op,
                         const Kernel* kernel,
                         const ComputeScales& scales,
                         const EfficiencyTable& table);

// The format a device computes in when asked for one: that one, else the narrowest that holds all
// its values (fp16 and bf16 become fp32), else whatever it has. Itself when the device has none.
Dtype computed_dtype(const DeviceSpec& device, Dtype wanted);

// "v100 has no bf16: computed in fp32"; "" when there is nothing to say.
std::string note_text(const DeviceSpec& device, Dtype wanted, const ComputeTime& result);

}  // namespace twinrun
