// Compiled so that it launches as objects of CUDA 11 and 12 do.
#include <cuda_runtime_api.h>

__global__ void legacy_fill(float* to, float value, int count) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < count) {
    to[index] = value;
  }
}

void launch_legacy_fill(float* to, float value, int count, cudaStream_t stream) {
  legacy_fill<<<(count + 255) / 256, 256, 0, stream>>>(to, value, count);
}
