#pragma once

#include <cuda_runtime_api.h>

// to[i] = value; to[i] += from[i]; and one for which no test gives a body.
void launch_fill(float* to, float value, int count, cudaStream_t stream);
void launch_add(float* to, const float* from, int count, cudaStream_t stream);
void launch_bodiless(float* to, cudaStream_t stream);
