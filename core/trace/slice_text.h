#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/ids.h"
#include "core/plan/plan.h"
#include "core/trace/steps.h"
#include "core/trace/trace.h"
#include "core/trace/write_options.h"

namespace twinrun {

// What viewers are told about an op, in the words of PyTorch's profiler (Kineto), because HTA and
// Chakra's tools sort kernels by them: "nccl…" is communication, "Memcpy…" memory, the rest
// compute.

bool wants_step(const TraceWriteOptions& options, std::optional<std::int64_t> step);

// kernel, gpu_memcpy, cpu_op, user_annotation.
std::string_view slice_category(OpKind kind);
// Null unless the op is a collective whose run the trace knows.
const CollectiveRun* run_of(const Plan& plan, const Trace& trace, OpId op);
// "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "Memcpy DtoH (gpu0 -> cpu0)", "forward/layer1".
std::string slice_name(const Plan& plan, const Trace& trace, OpId op);
// "node0" of "node0/gpu3"; "" when the name has no machine.
std::string_view machine_of(std::string_view device_name);
// "rank 3 · node0/gpu3 · a100".
std::string process_name(const Plan& plan, DeviceId device, std::string_view model);

inline bool communicates(OpKind kind) {
  return kind == OpKind::kCollective || kind == OpKind::kSend || kind == OpKind::kRecv;
}

// Of a collective, send or recv. Elements are what this rank gives and gets.
struct CommunicationFacts {
  std::string_view name;   // "allreduce"
  std::string_view dtype;  // "Float"
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
  std::size_t group_size = 2;
  Bytes bytes;
  double algbw_gbps = 0;  // 0 when it took no time
  double busbw_gbps = 0;  // as nccl-tests defines it
};
CommunicationFacts communication_facts(const Plan& plan, OpId op, Time duration);

}  // namespace twinrun
