// The calls of CUDA for streams, and the host functions that run in them.
#include <algorithm>

#include "tests/substitute/calls.h"
#include "tests/substitute/devices.h"
#include "tests/substitute/streams.h"
#include "tests/substitute/virtual_clock.h"

namespace substitute {
namespace {

cudaError_t wait_for_device(int device) {
  for (const auto& stream : streams().of_device(device)) {
    stream->wait();
  }
  return machine().standing_error(device);
}

cudaError_t push_host_function(cudaStream_t stream, std::function<void()> function) {
  const auto queue = streams().get(stream, "cudaLaunchHostFunc");
  const Task task{
      .kind = TaskKind::kHostFunction, .name = "cudaLaunchHostFunc", .device = queue->device};
  enqueue(*queue, task, [function = std::move(function)](Picoseconds&) {
    const InHostFunction inside;
    const Visible visible;
    function();
  });
  return cudaSuccess;
}

}  // namespace
}  // namespace substitute

// NOLINTBEGIN(readability-*): the names are CUDA's
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return substitute::cuda_call({"cudaStreamCreateWithPriority"}, [&] {
    if ((flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0) {
      return cudaErrorInvalidValue;
    }
    const int clamped =
        std::clamp(priority, substitute::kGreatestPriority, substitute::kLeastPriority);
    *stream = substitute::streams().create(substitute::current_device(), flags, clamped);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return substitute::cuda_call({"cudaStreamCreateWithFlags"}, [&] {
    if ((flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0) {
      return cudaErrorInvalidValue;
    }
    *stream = substitute::streams().create(substitute::current_device(), flags,
                                           substitute::kLeastPriority);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return substitute::cuda_call({"cudaStreamCreate"}, [&] {
    *stream = substitute::streams().create(substitute::current_device(), cudaStreamDefault,
                                           substitute::kLeastPriority);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return substitute::cuda_call({"cudaStreamDestroy", stream}, [&] {
    static_cast<void>(substitute::streams().get(stream, "cudaStreamDestroy"));
    substitute::streams().destroy(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return substitute::cuda_call({"cudaStreamGetPriority", stream}, [&] {
    *priority = substitute::streams().get(stream, "cudaStreamGetPriority")->priority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  return substitute::cuda_call({"cudaStreamGetFlags", stream}, [&] {
    *flags = substitute::streams().get(stream, "cudaStreamGetFlags")->flags;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return substitute::cuda_call({"cudaStreamSynchronize", stream}, [&] {
    const auto queue = substitute::streams().get(stream, "cudaStreamSynchronize");
    queue->wait();
    return substitute::machine().standing_error(queue->device);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return substitute::cuda_call({"cudaStreamQuery", stream}, [&] {
    const auto queue = substitute::streams().get(stream, "cudaStreamQuery");
    if (const cudaError_t error = substitute::machine().standing_error(queue->device);
        error != cudaSuccess) {
      return error;
    }
    return queue->is_finished() ? cudaSuccess : cudaErrorNotReady;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return substitute::cuda_call({"cudaDeviceSynchronize"}, [] {
    return substitute::wait_for_device(substitute::current_device());
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return substitute::cuda_call({"cudaLaunchHostFunc", stream}, [&] {
    if (function == nullptr) {
      return cudaErrorInvalidValue;
    }
    return substitute::push_host_function(stream, [=] { function(data); });
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream,
                                  cudaStreamCallback_t callback,
                                  void* data,
                                  unsigned int) {
  return substitute::cuda_call({"cudaStreamAddCallback", stream}, [&] {
    return substitute::push_host_function(stream, [=] { callback(stream, cudaSuccess, data); });
  });
}
// NOLINTEND(readability-*)
