#include "core/trace/slice_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace twinrun {
namespace {

struct DtypeWords {
  std::string_view nccl;   // in kernel names
  std::string_view torch;  // in the arguments
  std::int64_t bytes;
};
constexpr std::array<DtypeWords, kDtypeNames.size()> kDtypeWords = {{
    {"f64", "Double", 8},
    {"f32", "Float", 4},
    {"f32", "Float", 4},  // tf32 is fp32 in memory
    {"f16", "Half", 2},
    {"bf16", "BFloat16", 2},
    {"f8e4m3", "Float8_e4m3fn", 1},
    {"i8", "Char", 1},
}};
const DtypeWords& words_of(Dtype dtype) { return kDtypeWords[static_cast<std::size_t>(dtype)]; }

struct CollectiveWords {
  std::string_view torch;
  std::string_view nccl;
  bool reduces;  // then NCCL's kernel names carry operation and type
};
constexpr std::array<CollectiveWords, kCollectiveKindNames.size()> kCollectiveWords = {{
    {"allreduce", "AllReduce", true},
    {"_reduce_scatter_base", "ReduceScatter", true},
    {"_allgather_base", "AllGather", false},
    {"broadcast", "Broadcast", false},
    {"reduce", "Reduce", true},
    {"all_to_all", "SendRecv", false},
    {"barrier", "AllReduce", true},  // of one element
}};
const CollectiveWords& words_of(CollectiveKind kind) {
  return kCollectiveWords[static_cast<std::size_t>(kind)];
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const bool is_small = c >= 'a' && c <= 'z';
    c = is_small ? static_cast<char>(c - 'a' + 'A') : (c == '-' || c == ' ' ? '_' : c);
  }
  return out;
}

std::string collective_kernel(const Plan& plan, const Trace& trace, OpId op) {
  const CollectiveShape& shape = plan.shape(op);
  const CollectiveWords& words = words_of(shape.kind);
  std::string name = fmt::format("ncclDevKernel_{}", words.nccl);
  if (words.reduces) {
    name += fmt::format("_Sum_{}", words_of(shape.dtype).nccl);
  }
  if (const CollectiveRun* run = run_of(plan, trace, op); run != nullptr) {
    name += run->algorithm.empty() ? "" : "_" + upper(run->algorithm);
    name += run->protocol.empty() ? "" : "_" + upper(run->protocol);
  }
  return name;
}

bool is_in_host_memory(std::string_view device) {
  const std::string_view leaf = device.substr(device.rfind('/') + 1);
  return leaf.starts_with("cpu") || leaf.starts_with("mem");
}

std::string copy_name(std::string_view from, std::string_view to) {
  const bool is_peer = from != to && !is_in_host_memory(from) && !is_in_host_memory(to);
  const auto letter = [](std::string_view device) { return is_in_host_memory(device) ? 'H' : 'D'; };
  return is_peer ? fmt::format("Memcpy PtoP ({} -> {})", from, to)
                 : fmt::format("Memcpy {}to{} ({} -> {})", letter(from), letter(to), from, to);
}

CommunicationFacts collective_facts(const Plan& plan, OpId op) {
  const CollectiveShape& shape = plan.shape(op);
  const auto ranks =
      static_cast<std::int64_t>(std::max<std::size_t>(plan.group_devices(shape.group).size(), 1));
  const Bytes bytes = plan.collective(op).bytes;
  const std::int64_t elements = bytes.count / words_of(shape.dtype).bytes;
  const bool gathers = shape.kind == CollectiveKind::kAllGather;
  const bool scatters = shape.kind == CollectiveKind::kReduceScatter;
  return {.name = words_of(shape.kind).torch,
          .dtype = words_of(shape.dtype).torch,
          .in_elements = gathers ? elements / ranks : elements,
          .out_elements = scatters ? elements / ranks : elements,
          .group_size = static_cast<std::size_t>(ranks),
          .bytes = bytes};
}

}  // namespace

bool wants_step(const TraceWriteOptions& options, std::optional<std::int64_t> step) {
  return options.steps.empty() || !step ||
         std::find(options.steps.begin(), options.steps.end(), *step) != options.steps.end();
}

std::string_view slice_category(OpKind kind) {
  switch (kind) {
    case OpKind::kCompute:
    case OpKind::kSend:
    case OpKind::kRecv:
    case OpKind::kCollective:
      return "kernel";
    case OpKind::kCopy:
      return "gpu_memcpy";
    case OpKind::kHost:
      return "cpu_op";
    case OpKind::kMarker:
      return "user_annotation";
  }
  return "kernel";
}

const CollectiveRun* run_of(const Plan& plan, const Trace& trace, OpId op) {
  if (plan.kind(op) != OpKind::kCollective) {
    return nullptr;
  }
  const std::size_t instance = index_of(plan.collective(op).instance);
  return instance < trace.collectives.size() ? &trace.collectives[instance] : nullptr;
}

std::string slice_name(const Plan& plan, const Trace& trace, OpId op) {
  switch (plan.kind(op)) {
    case OpKind::kCollective:
      return collective_kernel(plan, trace, op);
    case OpKind::kSend:
    case OpKind::kRecv:
      return "ncclDevKernel_SendRecv";
    case OpKind::kCopy:
      return copy_name(plan.device_name(plan.device(op)), plan.device_name(plan.copy(op).to));
    case OpKind::kCompute:
    case OpKind::kHost:
    case OpKind::kMarker:
      break;
  }
  return std::string(name_within_step(plan.id(op)));
}

std::string_view machine_of(std::string_view device_name) {
  const std::size_t slash = device_name.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : device_name.substr(0, slash);
}

std::string process_name(const Plan& plan, DeviceId device, std::string_view model) {
  std::string name = fmt::format("rank {} · {}", index_of(device), plan.device_name(device));
  return model.empty() ? name : fmt::format("{} · {}", name, model);
}

CommunicationFacts communication_facts(const Plan& plan, OpId op, Time duration) {
  const bool is_collective = plan.kind(op) == OpKind::kCollective;
  CommunicationFacts facts;
  if (is_collective) {
    facts = collective_facts(plan, op);
  } else {
    facts.name = plan.kind(op) == OpKind::kSend ? "send" : "recv";
    facts.dtype = "Byte";  // a plan's messages have no type
    facts.bytes = plan.message(op).bytes;
    facts.in_elements = facts.out_elements = facts.bytes.count;
  }
  if (duration.ps > 0) {
    facts.algbw_gbps = static_cast<double>(facts.bytes.count) / to_seconds(duration) / 1e9;
    facts.busbw_gbps =
        facts.algbw_gbps * (is_collective ? bus_factor(plan.shape(op).kind, facts.group_size) : 1);
  }
  return facts;
}

}  // namespace twinrun
