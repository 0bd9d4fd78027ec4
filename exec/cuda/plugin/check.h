#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

namespace twinrun::exec::gpu {

// std::runtime_error with the library's own words when a call did not succeed.
void check(cudaError_t code, const char* call);
void check(cublasStatus_t code, const char* call);
// NCCL says more about the newest failure of a communicator, or of none.
void check(ncclResult_t code, const char* call, ncclComm_t communicator = nullptr);

}  // namespace twinrun::exec::gpu
