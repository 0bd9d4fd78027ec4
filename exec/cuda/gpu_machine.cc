#include "exec/cuda/gpu_machine.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/diagnostics.h"
#include "core/base/units.h"
#include "exec/cuda/gpu_kernels.h"
#include "exec/cuda/host_kernels.h"
#include "exec/training/training_data.h"

namespace twinrun::exec {
namespace {

// What is on the wire comes first: it holds others up.
bool is_urgent(const Plan& plan, StreamId stream) {
  const auto ops = plan.stream_ops(stream);
  return std::any_of(ops.begin(), ops.end(), [&](OpId op) {
    const OpKind kind = plan.kind(op);
    return kind == OpKind::kCollective || kind == OpKind::kSend || kind == OpKind::kRecv;
  });
}

}  // namespace

GpuMachine::GpuMachine(const Plan& plan,
                       GpuRuntime& runtime,
                       std::vector<DevicePlace> places,
                       ProductLibrary host_library)
    : plan_(plan),
      runtime_(runtime),
      places_(std::move(places)),
      streams_(plan.stream_count()),
      host_products_(host_library),
      host_locks_(plan.device_count()),
      host_kernels_(host_products_, host_locks_),
      scratch_(plan.stream_count()),
      multiplies_(plan.stream_count()),
      kernels_(plan.stream_count()) {
  make_streams();
}

void GpuMachine::make_streams() {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const auto stream = id_at<StreamId>(i);
    const DevicePlace& of = place(plan_.stream_device(stream));
    if (!of.is_here || plan_.stream_ops(stream).empty()) {
      continue;
    }
    streams_[i] = runtime_.make_stream(of.gpu, is_urgent(plan_, stream));
    if (of.is_host) {
      kernels_[i] = std::make_unique<HostKernels>(*this, stream);
    } else {
      kernels_[i] = std::make_unique<GpuKernels>(*this, stream);
      if (!locks_.contains(of.gpu)) {
        locks_[of.gpu] = static_cast<std::uint32_t*>(allocate_bytes(
            plan_.stream_device(stream), sizeof(std::uint32_t) * std::size_t{kTileLocks}));
      }
    }
  }
}

// Nobody is left to be told of what fails here.
GpuMachine::~GpuMachine() {
  const auto quietly = [](const std::function<void()>& end) {
    try {
      end();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    }
  };
  for (const GpuStream& stream : streams_) {
    if (stream.handle != 0) {
      quietly([&] { runtime_.destroy_stream(stream); });
    }
  }
  for (const auto& [gpu, memory] : device_memory_) {
    quietly([&, device = gpu, held = memory] { runtime_.free(device, held); });
  }
  for (void* const memory : pinned_memory_) {
    quietly([&] { runtime_.free_pinned(memory); });
  }
}

// ---- memory

void* GpuMachine::allocate_pinned(std::size_t bytes) {
  void* const memory = runtime_.allocate_pinned(std::max<std::size_t>(bytes, 1));
  pinned_memory_.push_back(memory);
  return memory;
}

void* GpuMachine::allocate_bytes(DeviceId device, std::size_t bytes) {
  const DevicePlace& of = place(device);
  if (of.is_host) {
    return allocate_pinned(bytes);
  }
  void* const memory = runtime_.allocate(of.gpu, std::max<std::size_t>(bytes, 1));
  if (memory == nullptr) {
    const GpuFacts facts = runtime_.facts(of.gpu);
    throw CannotRun(fmt::format("{} does not fit: {} ({}, {}) has not {} more", plan_.text().name,
                                plan_.device_name(device), facts.name,
                                to_text(Bytes{facts.memory_bytes}),
                                to_text(Bytes{static_cast<std::int64_t>(bytes)})));
  }
  device_memory_.emplace_back(of.gpu, memory);
  return memory;
}

std::span<float> GpuMachine::allocate(DeviceId device, std::size_t elements) {
  const std::size_t bytes = elements * sizeof(float);
  auto* const array = static_cast<float*>(allocate_bytes(device, bytes));
  areas_[array] = {device, bytes};
  return {array, elements};
}

std::span<double> GpuMachine::allocate_losses(std::size_t count) {
  return {static_cast<double*>(allocate_pinned(count * sizeof(double))), count};
}

std::span<float> GpuMachine::allocate_on_host(std::size_t elements) {
  return {static_cast<float*>(allocate_pinned(elements * sizeof(float))), elements};
}

SamplePlace GpuMachine::place_samples(DeviceId device, TrainingData& data) {
  const auto labels = data.labels();
  auto* const there = static_cast<std::int64_t*>(allocate_bytes(device, labels.size_bytes()));
  runtime_.copy_now(there, labels.data(), labels.size_bytes());
  const std::span<float> inputs = allocate(device, data.inputs().size());
  write(data.inputs(), inputs);
  const std::span<float> targets = allocate(device, data.targets().size());
  write(data.targets(), targets);
  return {inputs.data(), targets.data(), there};
}

void GpuMachine::write(std::span<const float> from, std::span<float> into) {
  runtime_.copy_now(into.data(), from.data(), from.size_bytes());
}

void GpuMachine::read(std::span<const float> from, std::span<float> into) const {
  runtime_.copy_now(into.data(), from.data(), from.size_bytes());
}

GpuMachine::Whereabouts GpuMachine::find(const float* pointer) const {
  auto after = areas_.upper_bound(pointer);
  TWINRUN_CHECK(after != areas_.begin());
  const auto& [begin, area] = *--after;
  TWINRUN_CHECK(static_cast<std::size_t>(pointer - begin) * sizeof(float) <= area.bytes);
  return {area.device, pointer - begin};
}

TileLocks GpuMachine::locks_for(const float* pointer) const {
  const Whereabouts at = find(pointer);
  return {locks_.at(place(at.device).gpu), at.element};
}

bool GpuMachine::reaches(int gpu, int other) {
  const auto [known, is_new] = reaches_.try_emplace({gpu, other});
  if (is_new) {
    known->second = runtime_.reach(gpu, other);
  }
  return known->second;
}

// ---- the run

TensorKernels& GpuMachine::kernels(OpId op) {
  TensorKernels& out = *kernels_[index_of(plan_.stream(op))];
  if (!place_of(op).is_host) {
    const Dtype dtype = plan_.kind(op) == OpKind::kCompute ? plan_.compute(op).dtype : Dtype::kFp32;
    static_cast<GpuKernels&>(out).set_dtype(dtype);
  }
  return out;
}

// Of GPUs: tiles have locks instead.
std::mutex* GpuMachine::lock_of(DeviceId device) {
  return place(device).is_host ? &host_locks_[index_of(device)] : nullptr;
}

void* GpuMachine::scratch(StreamId stream, Scratch kind, std::size_t bytes) {
  StreamScratch& of = scratch_[index_of(stream)];
  const auto which = static_cast<std::size_t>(kind);
  if (!is_prepared_) {
    of.bytes[which] = std::max(of.bytes[which], bytes);
    return &nowhere_;
  }
  TWINRUN_CHECK(bytes <= of.bytes[which]);
  return of.memory[which];
}

void GpuMachine::prepare() {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].handle == 0) {
      continue;
    }
    StreamScratch& of = scratch_[i];
    for (std::size_t kind = 0; kind < kScratchKinds; ++kind) {
      if (of.bytes[kind] == 0) {
        continue;
      }
      if (kind == static_cast<std::size_t>(Scratch::kPinned)) {
        of.memory[kind] = allocate_pinned(of.bytes[kind]);
        continue;
      }
      void* const memory = runtime_.allocate(streams_[i].device, of.bytes[kind]);
      if (memory == nullptr) {
        throw CannotRun(fmt::format("{} does not fit: {} has not {} more for what is on its way",
                                    plan_.text().name,
                                    plan_.device_name(plan_.stream_device(id_at<StreamId>(i))),
                                    to_text(Bytes{static_cast<std::int64_t>(of.bytes[kind])})));
      }
      device_memory_.emplace_back(streams_[i].device, memory);
      of.memory[kind] = memory;
    }
    if (multiplies_[i]) {
      runtime_.prepare_products(streams_[i]);
    }
  }
  is_prepared_ = true;
}

void GpuMachine::call(const GpuStream& stream, std::function<void()> function) {
  using Held = std::function<void()>;
  auto held = std::make_unique<Held>(std::move(function));
  runtime_.call(
      stream,
      [](void* argument) {
        const std::unique_ptr<Held> called(static_cast<Held*>(argument));
        (*called)();
      },
      held.get());
  static_cast<void>(held.release());  // the call has it now
}

}  // namespace twinrun::exec
