#include "core/io/save_plan.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "core/io/json_document.h"
#include "core/io/payload_json.h"

namespace twinrun {
namespace {

class PlanWriter {
 public:
  PlanWriter(const Plan& plan, const WriteChunk& write) : plan_(plan), write_(write) {}

  void run() {
    write_head();
    out_ += "  \"ops\": [";
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      out_ += i == 0 ? "\n    " : ",\n    ";
      write_op(id_at<OpId>(i));
      flush(kChunk);
    }
    out_ += plan_.size() == 0 ? "]\n}\n" : "\n  ]\n}\n";
    flush(0);
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 16;

  void flush(std::size_t when_larger_than) {
    if (out_.size() > when_larger_than) {
      write_(out_);
      out_.clear();
    }
  }

  void quote(std::string_view text) {
    const auto is_plain = [](char c) {
      return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\' && c != 0x7F;
    };
    for (const char c : text) {
      if (!is_plain(c)) {
        out_ += json_quoted(text);
        return;
      }
    }
    out_ += '"';
    out_ += text;
    out_ += '"';
  }

  void key(std::string_view name) {
    out_ += ", \"";
    out_ += name;
    out_ += "\": ";
  }
  void text_member(std::string_view name, std::string_view text) {
    key(name);
    quote(text);
  }
  void whole_member(std::string_view name, std::int64_t value) {
    key(name);
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  void number(double value) {
    constexpr double kExactlyWhole = 9007199254740992.0;  // 2^53
    if (value == std::floor(value) && std::abs(value) < kExactlyWhole) {
      fmt::format_to(std::back_inserter(out_), "{}", static_cast<std::int64_t>(value));
    } else {
      fmt::format_to(std::back_inserter(out_), "{}", value);
    }
  }

  void write_head();
  void write_devices(std::span<const DeviceId> devices);
  void write_op(OpId op);
  void write_compute(OpId op);
  void write_kernel(const Kernel& kernel);
  void write_collective(OpId op);
  void write_duration(Time duration);
  void write_memory(OpId op);
  void write_after(OpId op);

  const Plan& plan_;
  const WriteChunk& write_;
  std::string out_;
};

void PlanWriter::write_devices(std::span<const DeviceId> devices) {
  out_ += '[';
  for (std::size_t i = 0; i < devices.size(); ++i) {
    out_ += i == 0 ? "" : ", ";
    quote(plan_.device_name(devices[i]));
  }
  out_ += ']';
}

void PlanWriter::write_head() {
  out_ += "{\n  \"schema\": \"twinrun/plan/1\",\n";
  const auto line = [&](std::string_view name, const std::string& text) {
    if (!text.empty()) {
      out_ += fmt::format("  \"{}\": ", name);
      quote(text);
      out_ += ",\n";
    }
  };
  line("name", plan_.text().name);
  line("topology", plan_.text().topology);
  line("comment", plan_.text().comment);
  line("source", plan_.text().source);
  std::vector<DeviceId> devices;
  for (std::size_t i = 0; i < plan_.device_count(); ++i) {
    devices.push_back(id_at<DeviceId>(i));
  }
  out_ += "  \"devices\": ";
  write_devices(devices);
  out_ += ",\n";
  if (plan_.workload().is_trained()) {
    out_ += fmt::format("  \"workload\": {},\n", workload_to_json(plan_.workload()));
  }
  if (plan_.group_count() == 0) {
    return;
  }
  out_ += "  \"groups\": {";
  for (std::size_t i = 0; i < plan_.group_count(); ++i) {
    const auto group = id_at<GroupId>(i);
    out_ += i == 0 ? "\n    " : ",\n    ";
    quote(plan_.group_name(group));
    out_ += ": ";
    write_devices(plan_.group_devices(group));
  }
  out_ += "\n  },\n";
}

void PlanWriter::write_op(OpId op) {
  const OpKind kind = plan_.kind(op);
  out_ += "{\"id\": ";
  quote(plan_.id(op));
  text_member("kind", name_of(kind));
  text_member("device", plan_.device_name(plan_.device(op)));
  if (const auto stream = plan_.stream_name(plan_.stream(op)); stream != default_stream(kind)) {
    text_member("stream", stream);
  }
  switch (kind) {
    case OpKind::kCompute:
      write_compute(op);
      break;
    case OpKind::kCopy:
      text_member("to", plan_.device_name(plan_.copy(op).to));
      whole_member("bytes", plan_.copy(op).bytes.count);
      break;
    case OpKind::kSend:
    case OpKind::kRecv:
      text_member("peer", plan_.device_name(plan_.message(op).peer));
      whole_member("bytes", plan_.message(op).bytes.count);
      if (plan_.message(op).tag != 0) {
        whole_member("tag", plan_.message(op).tag);
      }
      break;
    case OpKind::kCollective:
      write_collective(op);
      break;
    case OpKind::kHost:
    case OpKind::kMarker:
      break;
  }
  if (const auto duration = plan_.duration(op)) {
    write_duration(*duration);
  }
  if (plan_.priority(op) != 0) {
    whole_member("priority", plan_.priority(op));
  }
  if (const Payload* const payload = plan_.payload(op)) {
    key("payload");
    out_ += payload_to_json(plan_, *payload);
  }
  write_memory(op);
  write_after(op);
  out_ += '}';
}

void PlanWriter::write_compute(OpId op) {
  const ComputeOp& compute = plan_.compute(op);
  if (compute.flops != 0) {
    key("flops");
    number(compute.flops);
  }
  if (compute.bytes.count != 0) {
    whole_member("bytes", compute.bytes.count);
  }
  if (compute.dtype != Dtype::kFp32) {
    text_member("dtype", name_of(compute.dtype));
  }
  if (const Kernel* kernel = plan_.kernel(op)) {
    write_kernel(*kernel);
  }
}

void PlanWriter::write_kernel(const Kernel& kernel) {
  key("kernel");
  out_ += "{\"kind\": ";
  quote(kKernelKindNames[static_cast<std::size_t>(kernel.kind)]);
  if (kernel.m > 0) {
    whole_member("m", kernel.m);
    whole_member("n", kernel.n);
    whole_member("k", kernel.k);
  }
  if (kernel.gradient != GradientOf::kAll) {
    text_member("gradient", kGradientOfNames[static_cast<std::size_t>(kernel.gradient)]);
  }
  if (kernel.taps > 0) {
    whole_member("taps", kernel.taps);
  }
  if (kernel.stride > 1) {
    whole_member("stride", kernel.stride);
  }
  if (kernel.kind == KernelKind::kGemm) {
    // Its shape is all there is.
  } else if (kernel.layer_index) {
    whole_member("layer", *kernel.layer_index);
  } else {
    text_member("layer", kernel.layer);
  }
  out_ += '}';
}

void PlanWriter::write_collective(OpId op) {
  const CollectiveShape& shape = plan_.shape(op);
  text_member("collective", name_of(shape.kind));
  text_member("group", plan_.group_name(shape.group));
  if (plan_.collective(op).bytes.count != 0 || shape.kind != CollectiveKind::kBarrier) {
    whole_member("bytes", plan_.collective(op).bytes.count);
  }
  if (shape.dtype != Dtype::kFp32) {
    text_member("dtype", name_of(shape.dtype));
  }
  if (shape.root != no_id<DeviceId>()) {
    text_member("root", plan_.device_name(shape.root));
  }
  if (plan_.algorithm_name(shape) != "auto") {
    text_member("algorithm", plan_.algorithm_name(shape));
  }
  if (plan_.match(op) != default_match(plan_.id(op))) {
    text_member("match", plan_.match(op));
  }
}

// Microseconds when reading them back gives the same picosecond, else the picoseconds.
void PlanWriter::write_duration(Time duration) {
  constexpr std::int64_t kSurelyExact = std::int64_t{1} << 50;
  key("duration");
  if (duration.ps % 1'000'000 == 0) {
    fmt::format_to(std::back_inserter(out_), "{}", duration.ps / 1'000'000);
  } else if (duration.ps < kSurelyExact &&
             std::llround(to_microseconds(duration) * 1e6) == duration.ps) {
    number(to_microseconds(duration));
  } else {
    fmt::format_to(std::back_inserter(out_), "\"{}ps\"", duration.ps);
  }
}

void PlanWriter::write_memory(OpId op) {
  const auto effects = plan_.memory_effects(op);
  if (effects.empty()) {
    return;
  }
  key("memory");
  out_ += '[';
  for (std::size_t i = 0; i < effects.size(); ++i) {
    out_ += i == 0 ? "{\"part\": " : ", {\"part\": ";
    quote(kMemoryPartNames[static_cast<std::size_t>(effects[i].part())]);
    whole_member("bytes", effects[i].bytes().count);
    if (effects[i].when() != MemoryWhen::kStart) {
      text_member("when", kMemoryWhenNames[static_cast<std::size_t>(effects[i].when())]);
    }
    out_ += '}';
  }
  out_ += ']';
}

void PlanWriter::write_after(OpId op) {
  const auto before = plan_.predecessors(op);
  if (before.empty()) {
    return;
  }
  key("after");
  out_ += '[';
  for (std::size_t i = 0; i < before.size(); ++i) {
    out_ += i == 0 ? "" : ", ";
    quote(plan_.id(before[i]));
  }
  out_ += ']';
}

}  // namespace

void save_plan(const Plan& plan, const WriteChunk& write) { PlanWriter(plan, write).run(); }

std::string plan_to_json(const Plan& plan) {
  std::string text;
  save_plan(plan, [&](std::string_view chunk) { text += chunk; });
  return text;
}

void save_plan_file(const Plan& plan, const std::string& path, bool force) {
  write_file_in_pieces(path, force, [&](const WriteChunk& write) { save_plan(plan, write); });
}

}  // namespace twinrun
