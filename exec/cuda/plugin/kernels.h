#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "exec/cuda/plugin/element_work.h"

// Launches of the kernels in kernels.cu: the only file that nvcc compiles. In C++17.

namespace twinrun::exec::gpu {

// Whose elements those of a tile kernel are; no locks: nobody else's.
struct Tiles {
  std::uint32_t* locks;
  std::int64_t lock_count;
  std::int64_t elements;       // of a tile
  std::int64_t first_element;  // of the array: tiles begin at its multiples
};

// element(i) for each i below count, in no order. Of the structs in element_work.h and half_work.h.
template <class Element>
cudaError_t launch_each(const Element& element, std::int64_t count, cudaStream_t stream);
// The same, a tile at a time, with its lock held. Of UpdateWeights, Add and Take.
template <class Element>
cudaError_t launch_tiles(const Element& element,
                         std::int64_t count,
                         const Tiles& tiles,
                         cudaStream_t stream);

cudaError_t launch_losses(const LossOfRow& loss, std::int64_t rows, cudaStream_t stream);
cudaError_t launch_loss_gradient(const LossOfRow& loss, std::int64_t rows, cudaStream_t stream);

// The device's own clock, in nanoseconds.
cudaError_t launch_note_time(std::uint64_t* when, cudaStream_t stream);
cudaError_t launch_hold_until(const std::uint64_t* when,
                              std::int64_t nanoseconds,
                              cudaStream_t stream);

}  // namespace twinrun::exec::gpu
