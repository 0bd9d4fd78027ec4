// Kernels for the substitute's tests; nvcc compiles them for a GPU, and the tests give them bodies
// for the CPU.
#include "tests/substitute/sample_kernels.h"

__global__ void fill(float* to, float value, int count) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < count) {
    to[index] = value;
  }
}

__global__ void add(float* to, const float* from, int count) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < count) {
    to[index] += from[index];
  }
}

__global__ void bodiless(float* to) { *to = 0; }

void launch_fill(float* to, float value, int count, cudaStream_t stream) {
  fill<<<(count + 255) / 256, 256, 0, stream>>>(to, value, count);
}

void launch_add(float* to, const float* from, int count, cudaStream_t stream) {
  add<<<(count + 255) / 256, 256, 0, stream>>>(to, from, count);
}

void launch_bodiless(float* to, cudaStream_t stream) { bodiless<<<1, 1, 0, stream>>>(to); }
