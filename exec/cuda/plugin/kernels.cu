#include "exec/cuda/plugin/half_work.h"
#include "exec/cuda/plugin/kernels.h"

namespace twinrun::exec::gpu {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr std::int64_t kMostBlocks = 65535;

// The lanes of a warp, which meet at every exchange.
struct Warp {
  __device__ static int number() { return static_cast<int>(threadIdx.x); }
  __device__ static int count() { return kWarp; }
  __device__ static double sum(double value) {
    for (int apart = kWarp / 2; apart > 0; apart /= 2) {
      value += __shfl_xor_sync(0xffffffffU, value, apart);
    }
    return value;
  }
  __device__ static double most(double value) {
    for (int apart = kWarp / 2; apart > 0; apart /= 2) {
      const double other = __shfl_xor_sync(0xffffffffU, value, apart);
      value = other > value ? other : value;
    }
    return value;
  }
};

template <class Element>
__global__ void each(Element element, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    element(i);
  }
}

// A block never waits while it holds a lock, so whoever holds one comes to an end, whatever else
// is on the device.
template <class Element>
__global__ void each_of_tile(Element element, std::int64_t count, Tiles tiles) {
  const std::int64_t tile = tiles.first_element / tiles.elements + blockIdx.x;
  std::uint32_t* const lock =
      tiles.locks == nullptr ? nullptr : tiles.locks + tile % tiles.lock_count;
  if (lock != nullptr) {
    if (threadIdx.x == 0) {
      while (atomicCAS(lock, 0U, 1U) != 0U) {
      }
      __threadfence();
    }
    __syncthreads();
  }
  const std::int64_t begin = tile * tiles.elements - tiles.first_element;
  const std::int64_t end = begin + tiles.elements < count ? begin + tiles.elements : count;
  for (std::int64_t i = (begin < 0 ? 0 : begin) + threadIdx.x; i < end; i += blockDim.x) {
    element(i);
  }
  if (lock != nullptr) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      atomicExch(lock, 0U);
    }
  }
}

__global__ void losses_of_rows(LossOfRow loss, std::int64_t rows) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    loss.forward<Warp>(row);
  }
}

__global__ void loss_gradients_of_rows(LossOfRow loss, std::int64_t rows) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    loss.backward<Warp>(row);
  }
}

__device__ std::uint64_t now_ns() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void note_time(std::uint64_t* when) { *when = now_ns(); }

__global__ void hold_until(const std::uint64_t* when, std::int64_t nanoseconds) {
  while (now_ns() - *when < static_cast<std::uint64_t>(nanoseconds)) {
  }
}

namespace {

unsigned blocks_for(std::int64_t count, std::int64_t each_block) {
  const std::int64_t wanted = (count + each_block - 1) / each_block;
  return static_cast<unsigned>(wanted < kMostBlocks ? wanted : kMostBlocks);
}

}  // namespace

template <class Element>
cudaError_t launch_each(const Element& element, std::int64_t count, cudaStream_t stream) {
  if (count == 0) {
    return cudaSuccess;
  }
  each<<<blocks_for(count, kThreads), kThreads, 0, stream>>>(element, count);
  return cudaGetLastError();
}

template <class Element>
cudaError_t launch_tiles(const Element& element,
                         std::int64_t count,
                         const Tiles& tiles,
                         cudaStream_t stream) {
  if (count == 0) {
    return cudaSuccess;
  }
  const std::int64_t first = tiles.first_element / tiles.elements;
  const std::int64_t last = (tiles.first_element + count - 1) / tiles.elements;
  each_of_tile<<<static_cast<unsigned>(last - first + 1), kThreads, 0, stream>>>(element, count,
                                                                                 tiles);
  return cudaGetLastError();
}

cudaError_t launch_losses(const LossOfRow& loss, std::int64_t rows, cudaStream_t stream) {
  losses_of_rows<<<blocks_for(rows, 1), kWarp, 0, stream>>>(loss, rows);
  return cudaGetLastError();
}

cudaError_t launch_loss_gradient(const LossOfRow& loss, std::int64_t rows, cudaStream_t stream) {
  loss_gradients_of_rows<<<blocks_for(rows, 1), kWarp, 0, stream>>>(loss, rows);
  return cudaGetLastError();
}

cudaError_t launch_note_time(std::uint64_t* when, cudaStream_t stream) {
  note_time<<<1, 1, 0, stream>>>(when);
  return cudaGetLastError();
}

cudaError_t launch_hold_until(const std::uint64_t* when,
                              std::int64_t nanoseconds,
                              cudaStream_t stream) {
  hold_until<<<1, 1, 0, stream>>>(when, nanoseconds);
  return cudaGetLastError();
}

template cudaError_t launch_each(const Fill&, std::int64_t, cudaStream_t);
template cudaError_t launch_each(const SpreadBias&, std::int64_t, cudaStream_t);
template cudaError_t launch_each(const SumRows&, std::int64_t, cudaStream_t);
template cudaError_t launch_each(const Relu&, std::int64_t, cudaStream_t);
template cudaError_t launch_each(const Tanh&, std::int64_t, cudaStream_t);
template cudaError_t launch_each(const ReluBackward&, std::int64_t, cudaStream_t);
template cudaError_t launch_each(const TanhBackward&, std::int64_t, cudaStream_t);
template cudaError_t launch_each(const Replace&, std::int64_t, cudaStream_t);
template cudaError_t launch_each(const Narrow<__half>&, std::int64_t, cudaStream_t);
template cudaError_t launch_each(const Narrow<__nv_bfloat16>&, std::int64_t, cudaStream_t);
template cudaError_t launch_each(const Widen<__half>&, std::int64_t, cudaStream_t);
template cudaError_t launch_each(const Widen<__nv_bfloat16>&, std::int64_t, cudaStream_t);
template cudaError_t launch_tiles(const UpdateWeights&, std::int64_t, const Tiles&, cudaStream_t);
template cudaError_t launch_tiles(const Add&, std::int64_t, const Tiles&, cudaStream_t);
template cudaError_t launch_tiles(const Take&, std::int64_t, const Tiles&, cudaStream_t);

}  // namespace twinrun::exec::gpu
