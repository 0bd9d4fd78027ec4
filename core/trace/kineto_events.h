#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/string_table.h"

namespace twinrun {

enum class KinetoCategory : std::uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kLaunch,      // cuda_runtime, cuda_driver: what the host asked the GPU for
  kCpuOp,       // of ours, and those that run a backward function
  kAnnotation,  // ProfilerStep#4, ## forward ##, Optimizer.step#SGD.step
};

// One slice ("ph": "X") of a profiler's trace.
struct KinetoSlice {
  KinetoCategory category = KinetoCategory::kKernel;
  std::uint32_t name = 0;  // in the words of the file
  std::int64_t tid = 0;    // thread of the host, stream of the GPU
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t correlation = -1;  // the same for a launch and what it launched; -1: none
  std::int64_t bytes = 0;         // of a copy
  std::int32_t message = -1;      // position in messages; -1: not communication
  std::int32_t own = -1;          // position in own; -1: not written by twinrun
};

// What PyTorch notes of a collective, send or recv.
struct KinetoMessage {
  std::string collective;  // "allreduce"
  std::string dtype;       // "Float"
  std::int64_t in_elements = 0;
  std::int64_t out_elements = 0;
  std::int64_t group_size = 0;
  std::string group;                // "0"
  std::vector<std::int64_t> ranks;  // of the group; empty when not noted, or cut
  std::int64_t source = -1;         // of a send or recv
  std::int64_t destination = -1;
};

// What twinrun writes of its own ops.
struct KinetoOwn {
  std::string op;  // its id
  std::int64_t waited_ns = 0;
  double flops = 0;
  std::int64_t bytes = 0;
  std::string algorithm;
  std::string protocol;
  std::string bottleneck;
  int channels = 0;
};

// A file of PyTorch's profiler (Kineto), or of ours in its form: one rank. Holds what import_kineto
// asks for and passes over the rest (flows, counters, most operators of the host).
struct KinetoFile {
  std::string file;
  std::string trace_name;
  std::optional<std::int64_t> rank;
  std::int64_t world_size = 0;  // 0: not noted
  std::string source;           // of ours: "simulated", "executed"
  std::string failure;          // of ours
  std::int64_t left_out = 0;    // of ours: ops beyond the cap of the file
  std::int64_t unreadable = 0;  // slices without a time, a length or a place
  StringTable words;
  std::vector<KinetoSlice> slices;
  std::vector<KinetoMessage> messages;
  std::vector<KinetoOwn> own;
  std::map<std::int64_t, std::string> thread_names;  // of ours, by tid
  std::string process_name;                          // of ours: "rank 3 · node0/gpu3 · a100"

  [[nodiscard]] std::string_view name(const KinetoSlice& slice) const { return words[slice.name]; }
  [[nodiscard]] bool is_own() const { return !own.empty(); }
};

}  // namespace twinrun
