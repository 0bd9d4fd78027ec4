// Copies and fills.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tests/substitute/calls.h"
#include "tests/substitute/devices.h"
#include "tests/substitute/memory.h"
#include "tests/substitute/refusal.h"
#include "tests/substitute/sanitizers.h"
#include "tests/substitute/streams.h"
#include "tests/substitute/virtual_clock.h"

namespace substitute {
namespace {

// Rows of `width` bytes, each `pitch` after the one before; a plain copy is one row.
struct Copy {
  const char* function = "";
  void* to = nullptr;
  std::size_t to_pitch = 0;
  const void* from = nullptr;
  std::size_t from_pitch = 0;
  std::size_t width = 0;
  std::size_t height = 1;

  [[nodiscard]] std::size_t bytes() const { return width * height; }
  [[nodiscard]] std::size_t to_extent() const { return to_pitch * (height - 1) + width; }
  [[nodiscard]] std::size_t from_extent() const { return from_pitch * (height - 1) + width; }
};

struct Fill {
  const char* function = "";
  void* to = nullptr;
  std::size_t pitch = 0;
  int value = 0;
  std::size_t width = 0;
  std::size_t height = 1;
};

bool fits_kind(cudaMemcpyKind kind, Place from, Place to) {
  const bool from_device = from == Place::kDevice;
  const bool to_device = to == Place::kDevice;
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !from_device && !to_device;
    case cudaMemcpyHostToDevice:
      return !from_device && to_device;
    case cudaMemcpyDeviceToHost:
      return from_device && !to_device;
    case cudaMemcpyDeviceToDevice:
      return from_device && to_device;
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

// The rows themselves, as the copy engine of `device` moves them: between devices it needs no peer
// access.
void move_rows(const Copy& copy, int device) {
  const Accessor engine{copy.function, device, false};
  const Bytes from = device_memory().access(copy.from, copy.from_extent(), engine);
  const Bytes to = device_memory().access(copy.to, copy.to_extent(), engine);
  const Visible visible;
  for (std::size_t row = 0; row < copy.height; ++row) {
    std::memmove(to.data + row * copy.to_pitch, from.data + row * copy.from_pitch, copy.width);
  }
}

void fill_rows(const Fill& fill, int device) {
  const Accessor engine{fill.function, device, true};
  const Bytes to =
      device_memory().access(fill.to, fill.pitch * (fill.height - 1) + fill.width, engine);
  const Visible visible;
  for (std::size_t row = 0; row < fill.height; ++row) {
    std::memset(to.data + row * fill.pitch, fill.value, fill.width);
  }
}

// Host memory that is not pinned may change as soon as the call returns: what is there now is what
// is copied.
std::shared_ptr<std::vector<std::byte>> staged(Copy& copy) {
  auto stage = std::make_shared<std::vector<std::byte>>(copy.bytes());
  {
    const Visible visible;
    for (std::size_t row = 0; row < copy.height; ++row) {
      std::memcpy(stage->data() + row * copy.width,
                  static_cast<const std::byte*>(copy.from) + row * copy.from_pitch, copy.width);
    }
  }
  copy.from = stage->data();
  copy.from_pitch = copy.width;
  return stage;
}

Task task_of(const Copy& copy, int device, const Whereabouts& from, const Whereabouts& to) {
  return {.kind = TaskKind::kCopy,
          .name = copy.function,
          .device = device,
          .from_device = from.place == Place::kDevice ? from.device : -1,
          .to_device = to.place == Place::kDevice ? to.device : -1,
          .bytes = copy.bytes()};
}

Task task_of(const Fill& fill, int device) {
  return {.kind = TaskKind::kFill,
          .name = fill.function,
          .device = device,
          .bytes = fill.width * fill.height};
}

cudaError_t copy_async(Copy copy, cudaMemcpyKind kind, cudaStream_t stream) {
  const auto queue = streams().get(stream, copy.function);
  if (copy.width > copy.to_pitch || copy.width > copy.from_pitch) {
    return cudaErrorInvalidValue;
  }
  if (copy.bytes() == 0) {
    return cudaSuccess;
  }
  const Whereabouts from = device_memory().find(copy.from);
  const Whereabouts to = device_memory().find(copy.to);
  if (!fits_kind(kind, from.place, to.place)) {
    return cudaErrorInvalidValue;
  }
  const Task task = task_of(copy, queue->device, from, to);
  const bool is_from_pageable = from.place == Place::kPageable;
  const bool is_to_pageable = to.place == Place::kPageable;
  const auto stage = is_from_pageable && !is_to_pageable ? staged(copy) : nullptr;
  enqueue(*queue, task,
          [copy, stage, device = queue->device](Picoseconds&) { move_rows(copy, device); });
  if (is_to_pageable) {
    queue->wait();
  }
  return cudaSuccess;
}

// In the order of the default stream, which only streams without cudaStreamNonBlocking take part
// in.
void wait_for_blocking_streams() {
  for (const auto& stream : streams().of_device(current_device(), true)) {
    stream->wait();
  }
}

cudaError_t copy_now(Copy copy, cudaMemcpyKind kind) {
  if (copy.width > copy.to_pitch || copy.width > copy.from_pitch) {
    return cudaErrorInvalidValue;
  }
  if (copy.bytes() == 0) {
    return cudaSuccess;
  }
  const Whereabouts from = device_memory().find(copy.from);
  const Whereabouts to = device_memory().find(copy.to);
  if (!fits_kind(kind, from.place, to.place)) {
    return cudaErrorInvalidValue;
  }
  wait_for_blocking_streams();
  move_rows(copy, current_device());
  advance_host(cost_of(task_of(copy, current_device(), from, to)));
  return cudaSuccess;
}

cudaError_t fill_async(const Fill& fill, cudaStream_t stream) {
  const auto queue = streams().get(stream, fill.function);
  if (fill.width > fill.pitch) {
    return cudaErrorInvalidValue;
  }
  if (fill.width * fill.height == 0) {
    return cudaSuccess;
  }
  enqueue(*queue, task_of(fill, queue->device),
          [fill, device = queue->device](Picoseconds&) { fill_rows(fill, device); });
  return cudaSuccess;
}

cudaError_t fill_now(const Fill& fill) {
  if (fill.width > fill.pitch) {
    return cudaErrorInvalidValue;
  }
  wait_for_blocking_streams();
  if (fill.width * fill.height > 0) {
    fill_rows(fill, current_device());
    advance_host(cost_of(task_of(fill, current_device())));
  }
  return cudaSuccess;
}

// cudaMemcpyPeer names the devices; they must be the pointers'.
bool are_on(const void* to, int to_device, const void* from, int from_device) {
  const Whereabouts target = device_memory().find(to);
  const Whereabouts source = device_memory().find(from);
  return target.place == Place::kDevice && source.place == Place::kDevice &&
         target.device == to_device && source.device == from_device;
}

}  // namespace
}  // namespace substitute

// NOLINTBEGIN(readability-*): the names are CUDA's
cudaError_t cudaMemcpyAsync(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return substitute::cuda_call({"cudaMemcpyAsync", stream, bytes}, [&] {
    return substitute::copy_async({"cudaMemcpyAsync", to, bytes, from, bytes, bytes}, kind, stream);
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return substitute::cuda_call({"cudaMemcpy", nullptr, bytes}, [&] {
    return substitute::copy_now({"cudaMemcpy", to, bytes, from, bytes, bytes}, kind);
  });
}

cudaError_t cudaMemcpy2DAsync(void* to,
                              std::size_t to_pitch,
                              const void* from,
                              std::size_t from_pitch,
                              std::size_t width,
                              std::size_t height,
                              cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return substitute::cuda_call({"cudaMemcpy2DAsync", stream, width * height}, [&] {
    const substitute::Copy copy{"cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, width, height};
    return substitute::copy_async(copy, kind, stream);
  });
}

cudaError_t cudaMemcpy2D(void* to,
                         std::size_t to_pitch,
                         const void* from,
                         std::size_t from_pitch,
                         std::size_t width,
                         std::size_t height,
                         cudaMemcpyKind kind) {
  return substitute::cuda_call({"cudaMemcpy2D", nullptr, width * height}, [&] {
    return substitute::copy_now({"cudaMemcpy2D", to, to_pitch, from, from_pitch, width, height},
                                kind);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to,
                                int to_device,
                                const void* from,
                                int from_device,
                                std::size_t bytes,
                                cudaStream_t stream) {
  return substitute::cuda_call({"cudaMemcpyPeerAsync", stream, bytes}, [&] {
    if (bytes > 0 && !substitute::are_on(to, to_device, from, from_device)) {
      return cudaErrorInvalidValue;
    }
    const substitute::Copy copy{"cudaMemcpyPeerAsync", to, bytes, from, bytes, bytes};
    return substitute::copy_async(copy, cudaMemcpyDefault, stream);
  });
}

cudaError_t cudaMemcpyPeer(
    void* to, int to_device, const void* from, int from_device, std::size_t bytes) {
  return substitute::cuda_call({"cudaMemcpyPeer", nullptr, bytes}, [&] {
    if (bytes > 0 && !substitute::are_on(to, to_device, from, from_device)) {
      return cudaErrorInvalidValue;
    }
    return substitute::copy_now({"cudaMemcpyPeer", to, bytes, from, bytes, bytes},
                                cudaMemcpyDefault);
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return substitute::cuda_call({"cudaMemsetAsync", stream, bytes}, [&] {
    return substitute::fill_async({"cudaMemsetAsync", to, bytes, value, bytes}, stream);
  });
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return substitute::cuda_call({"cudaMemset", nullptr, bytes}, [&] {
    return substitute::fill_now({"cudaMemset", to, bytes, value, bytes});
  });
}

cudaError_t cudaMemset2DAsync(void* to,
                              std::size_t pitch,
                              int value,
                              std::size_t width,
                              std::size_t height,
                              cudaStream_t stream) {
  return substitute::cuda_call({"cudaMemset2DAsync", stream, width * height}, [&] {
    return substitute::fill_async({"cudaMemset2DAsync", to, pitch, value, width, height}, stream);
  });
}
// NOLINTEND(readability-*)
