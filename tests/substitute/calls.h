#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "tests/substitute/sanitizers.h"

namespace substitute {

// What every call of the three libraries has in common: it is counted, written to the log, fails
// when a test wants it to, and runs hidden from ThreadSanitizer.

struct CallNote {
  const char* function = "";
  cudaStream_t stream = nullptr;
  std::size_t bytes = 0;
};

// Counts and notes; the code of a fault that strikes this call.
std::optional<int> begin_call(const CallNote& note);

// Errors that come before the call is even looked at: no driver, inside a host function, a broken
// device.
cudaError_t standing_error();
// cudaGetLastError's memory of this thread.
cudaError_t remember(cudaError_t error);

template <class Body>
cudaError_t cuda_call(const CallNote& note, Body body) {
  const Hidden hidden;
  if (const auto fault = begin_call(note)) {
    return remember(static_cast<cudaError_t>(*fault));
  }
  if (const cudaError_t error = standing_error(); error != cudaSuccess) {
    return remember(error);
  }
  return remember(body());
}

// Also answers without a driver: versions, names of errors.
template <class Body>
cudaError_t cuda_question(const CallNote& note, Body body) {
  const Hidden hidden;
  if (const auto fault = begin_call(note)) {
    return remember(static_cast<cudaError_t>(*fault));
  }
  return body();
}

template <class Body>
cublasStatus_t cublas_call(const CallNote& note, Body body) {
  const Hidden hidden;
  if (const auto fault = begin_call(note)) {
    return static_cast<cublasStatus_t>(*fault);
  }
  return standing_error() == cudaSuccess ? body() : CUBLAS_STATUS_NOT_INITIALIZED;
}

// This thread runs a host function: calls of CUDA are an error.
class InHostFunction {
 public:
  InHostFunction();
  ~InHostFunction();
  InHostFunction(const InHostFunction&) = delete;
  InHostFunction& operator=(const InHostFunction&) = delete;
};

void forget_calls();  // counts, log, faults

}  // namespace substitute
