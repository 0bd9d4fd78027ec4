#include "core/trace/kineto_ops.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/trace/kineto_phases.h"

namespace twinrun {
namespace {

// Those that have no format of ours count as bytes: only their size matters here.
constexpr std::array kTorchDtypes = {
    TorchDtype{"Float", Dtype::kFp32, 4},        TorchDtype{"Half", Dtype::kFp16, 2},
    TorchDtype{"BFloat16", Dtype::kBf16, 2},     TorchDtype{"Double", Dtype::kFp64, 8},
    TorchDtype{"Float8_e4m3fn", Dtype::kFp8, 1}, TorchDtype{"Char", Dtype::kInt8, 1},
    TorchDtype{"Byte", Dtype::kInt8, 1},         TorchDtype{"Bool", Dtype::kInt8, 1},
    TorchDtype{"Short", Dtype::kInt8, 2},        TorchDtype{"Int", Dtype::kInt8, 4},
    TorchDtype{"Long", Dtype::kInt8, 8},         TorchDtype{"Float8_e5m2", Dtype::kFp8, 1},
    TorchDtype{"ComplexFloat", Dtype::kInt8, 8},
};

bool holds_word(std::string_view name, std::string_view word) {
  return name.find(word) != std::string_view::npos;
}

// By PyTorch's name of the call ("_reduce_scatter_base") or NCCL's of the kernel.
std::optional<CollectiveKind> collective_named(std::string_view name) {
  std::string lower;
  for (const char c : name) {
    if (c != '_') {
      lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
  }
  constexpr std::array<std::pair<std::string_view, CollectiveKind>, 7> kWords = {{
      {"allreduce", CollectiveKind::kAllReduce},
      {"reducescatter", CollectiveKind::kReduceScatter},
      {"allgather", CollectiveKind::kAllGather},
      {"alltoall", CollectiveKind::kAllToAll},
      {"broadcast", CollectiveKind::kBroadcast},
      {"barrier", CollectiveKind::kBarrier},
      {"reduce", CollectiveKind::kReduce},
  }};
  for (const auto& [word, kind] : kWords) {
    if (holds_word(lower, word)) {
      return kind;
    }
  }
  return std::nullopt;
}

// "bn_bw_1C11_kernel_new" of "void cudnn::bn_bw_1C11_kernel_new<float, …>(…)".
std::string short_kernel_name(std::string_view name) {
  constexpr std::size_t kMost = 40;
  constexpr std::string_view kNameless = "(anonymous namespace)::";
  if (const std::size_t at = name.find(kNameless); at != std::string_view::npos) {
    name = name.substr(at + kNameless.size());
  }
  name = name.substr(0, name.find_first_of("<("));
  if (const std::size_t blank = name.rfind(' '); blank != std::string_view::npos) {
    name = name.substr(blank + 1);
  }
  if (const std::size_t colon = name.rfind("::"); colon != std::string_view::npos) {
    name = name.substr(colon + 2);
  }
  std::string out(name.substr(0, kMost));
  std::replace(out.begin(), out.end(), '/', '_');
  std::replace(out.begin(), out.end(), '@', '_');
  return out.empty() ? "kernel" : out;
}

void set_begin(ImportedRank& rank) {
  rank.begin_ns = rank.ops.empty() ? 0 : rank.ops.front().start_ns;
  for (const ImportedOp& op : rank.ops) {
    rank.begin_ns = std::min(rank.begin_ns, op.ready_ns);
  }
}

// ---- files of PyTorch's profiler

class ForeignRank {
 public:
  ForeignRank(const KinetoFile& file, ImportCounts& counts)
      : file_(file), counts_(counts), host_(file) {
    for (const KinetoSlice& slice : file.slices) {
      if (slice.category == KinetoCategory::kLaunch) {
        launches_.emplace(slice.correlation, &slice);
      }
    }
  }

  ImportedRank run() {
    out_.rank = *file_.rank;
    for (const KinetoSlice* const slice : gpu_slices()) {
      add(*slice);
    }
    add_host();
    std::stable_sort(out_.ops.begin(), out_.ops.end(),
                     [](const auto& x, const auto& y) { return x.start_ns < y.start_ns; });
    set_ready();
    set_begin(out_);
    if (!host_.steps().empty()) {
      out_.begin_ns = host_.steps().front().start_ns;
      out_.first_step_ns = host_.steps().front().end_ns - out_.begin_ns;
    }
    counts_.steps = std::max(counts_.steps, host_.steps().size());
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::vector<const KinetoSlice*> gpu_slices() const {
    std::vector<const KinetoSlice*> out;
    for (const KinetoSlice& slice : file_.slices) {
      const bool is_gpu = slice.category == KinetoCategory::kKernel ||
                          slice.category == KinetoCategory::kMemcpy ||
                          slice.category == KinetoCategory::kMemset;
      if (is_gpu) {
        out.push_back(&slice);
      }
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const auto* x, const auto* y) { return x->start_ns < y->start_ns; });
    return out;
  }

  [[nodiscard]] std::string step_word(std::size_t step) const {
    return fmt::format("step{}/", host_.steps().empty() ? 0 : host_.steps()[step].number);
  }
  // The next number of a name within its step.
  std::size_t next(std::size_t step, const std::string& name) { return numbers_[{step, name}]++; }
  [[nodiscard]] std::string at_rank() const { return fmt::format("@rank{}", out_.rank); }

  void add(const KinetoSlice& slice) {
    const auto launch = launches_.find(slice.correlation);
    const KinetoSlice* const by = launch == launches_.end() ? nullptr : launch->second;
    counts_.unlaunched += by == nullptr ? 1U : 0U;
    const std::optional<std::size_t> step = host_.step_at((by == nullptr ? slice : *by).start_ns);
    if (!step) {
      ++counts_.outside;
      return;
    }
    ImportedOp op;
    op.stream = fmt::format("stream {}", slice.tid);
    op.start_ns = slice.start_ns;
    op.end_ns = slice.end_ns;
    op.ready_ns = by == nullptr ? slice.start_ns : std::min(by->start_ns, slice.start_ns);
    op.bytes = slice.bytes;
    if (is_communication(slice)) {
      name_communication(slice, *step, op);
    } else {
      name_work(slice, by, *step, op);
    }
    out_.ops.push_back(std::move(op));
  }

  [[nodiscard]] bool is_communication(const KinetoSlice& slice) const {
    return slice.category == KinetoCategory::kKernel &&
           (slice.message >= 0 || file_.name(slice).starts_with("nccl"));
  }

  void name_communication(const KinetoSlice& slice, std::size_t step, ImportedOp& op) {
    ++counts_.communication;
    op.message =
        slice.message < 0 ? nullptr : &file_.messages[static_cast<std::size_t>(slice.message)];
    const std::string_view call =
        op.message == nullptr ? std::string_view() : op.message->collective;
    const bool is_send = call == "send" && op.message->destination >= 0;
    const bool is_recv = call == "recv" && op.message->source >= 0;
    op.kind = is_send ? OpKind::kSend : is_recv ? OpKind::kRecv : OpKind::kCollective;
    const auto known = collective_named(call);
    op.collective =
        known ? *known : collective_named(file_.name(slice)).value_or(CollectiveKind::kAllToAll);
    if (op.message == nullptr) {
      ++counts_.unsized;
    } else {
      op.bytes = std::max(op.message->in_elements, op.message->out_elements) *
                 torch_dtype(op.message->dtype).bytes;
    }
    const std::string name(is_send ? "send" : is_recv ? "recv" : name_of(op.collective));
    op.id = fmt::format("{}{}/{}{}", step_word(step), name, next(step, name), at_rank());
  }

  void name_work(const KinetoSlice& slice,
                 const KinetoSlice* launch,
                 std::size_t step,
                 ImportedOp& op) {
    ++counts_.kernels;
    const std::string_view name = file_.name(slice);
    std::string phase(name_of(launch == nullptr ? HostPhase::kForward
                                                : host_.phase_at(launch->tid, launch->start_ns)));
    const bool is_in = slice.category == KinetoCategory::kMemcpy && holds_word(name, "HtoD");
    const bool is_out = slice.category == KinetoCategory::kMemcpy && holds_word(name, "DtoH");
    if (is_in || is_out) {
      op.kind = OpKind::kCopy;
      phase = is_in ? "input" : "output";
    }
    op.id = fmt::format("{}{}/{:04}-{}{}", step_word(step), phase, next(step, phase),
                        slice.category == KinetoCategory::kMemcpy   ? "memcpy"
                        : slice.category == KinetoCategory::kMemset ? "memset"
                                                                    : short_kernel_name(name),
                        at_rank());
  }

  void add_host() {
    for (const HostSpan& span : host_.spans()) {
      ImportedOp op;
      op.id = fmt::format("{}host/{}{}", step_word(span.step), name_of(span.phase), at_rank());
      op.stream = "host";
      op.kind = OpKind::kHost;
      op.ready_ns = op.start_ns = span.start_ns;
      op.end_ns = span.end_ns;
      out_.ops.push_back(std::move(op));
    }
    for (std::size_t i = 0; i < host_.steps().size(); ++i) {
      ImportedOp op;
      op.id = fmt::format("{}end{}", step_word(i), at_rank());
      op.stream = "host";
      op.kind = OpKind::kMarker;
      op.ready_ns = op.start_ns = op.end_ns = host_.steps()[i].end_ns;
      out_.ops.push_back(std::move(op));
    }
  }

  // When the launch was asked for, the stream had to be free too.
  void set_ready() {
    std::map<std::string_view, std::int64_t> free_at;
    for (ImportedOp& op : out_.ops) {
      const auto [at, is_new] = free_at.try_emplace(op.stream, op.ready_ns);
      op.ready_ns = std::min(op.start_ns, std::max(op.ready_ns, at->second));
      at->second = std::max(at->second, op.end_ns);
    }
  }

  const KinetoFile& file_;
  ImportCounts& counts_;
  HostTimeline host_;
  std::unordered_map<std::int64_t, const KinetoSlice*> launches_;  // by correlation
  std::map<std::pair<std::size_t, std::string>, std::size_t> numbers_;
  ImportedRank out_;
};

// ---- files that twinrun wrote

OpKind own_kind(const KinetoSlice& slice, const KinetoMessage* message) {
  switch (slice.category) {
    case KinetoCategory::kMemcpy:
    case KinetoCategory::kMemset:
      return OpKind::kCopy;
    case KinetoCategory::kCpuOp:
    case KinetoCategory::kLaunch:
      return OpKind::kHost;
    case KinetoCategory::kAnnotation:
      return OpKind::kMarker;
    case KinetoCategory::kKernel:
      break;
  }
  if (message == nullptr) {
    return OpKind::kCompute;
  }
  return message->collective == "send"   ? OpKind::kSend
         : message->collective == "recv" ? OpKind::kRecv
                                         : OpKind::kCollective;
}

}  // namespace

ImportedRank foreign_rank(const KinetoFile& file, ImportCounts& counts) {
  return ForeignRank(file, counts).run();
}

ImportedRank own_rank(const KinetoFile& file, ImportCounts& counts) {
  ImportedRank out;
  out.rank = *file.rank;
  for (const KinetoSlice& slice : file.slices) {
    if (slice.own < 0) {
      continue;  // ProfilerStep#3: the ids say it too
    }
    ImportedOp op;
    op.own = &file.own[static_cast<std::size_t>(slice.own)];
    op.message =
        slice.message < 0 ? nullptr : &file.messages[static_cast<std::size_t>(slice.message)];
    op.id = op.own->op;
    op.kind = own_kind(slice, op.message);
    op.collective = op.message == nullptr
                        ? CollectiveKind::kAllReduce
                        : collective_named(op.message->collective).value_or(op.collective);
    const auto name = file.thread_names.find(slice.tid);
    op.stream =
        name == file.thread_names.end() ? fmt::format("stream {}", slice.tid) : name->second;
    op.bytes = slice.category == KinetoCategory::kMemcpy ? slice.bytes : op.own->bytes;
    if (op.kind == OpKind::kCopy) {  // "Memcpy DtoH (gpu0 -> cpu0)"
      const std::string_view copied = file.name(slice);
      const std::size_t arrow = copied.rfind("-> ");
      op.to = arrow == std::string_view::npos ? ""
                                              : copied.substr(arrow + 3, copied.size() - arrow - 4);
    }
    op.start_ns = slice.start_ns;
    op.end_ns = slice.end_ns;
    op.ready_ns = slice.start_ns - op.own->waited_ns;
    counts.communication += op.message != nullptr ? 1U : 0U;
    counts.kernels += op.kind == OpKind::kCompute ? 1U : 0U;
    out.ops.push_back(std::move(op));
  }
  return out;
}

TorchDtype torch_dtype(std::string_view name) {
  const auto found = std::find_if(kTorchDtypes.begin(), kTorchDtypes.end(),
                                  [&](const TorchDtype& one) { return one.name == name; });
  return found == kTorchDtypes.end() ? TorchDtype{name, Dtype::kInt8, 1} : *found;
}

}  // namespace twinrun
