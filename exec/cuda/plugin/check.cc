#include "exec/cuda/plugin/check.h"

#include <stdexcept>
#include <string>

namespace twinrun::exec::gpu {

void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) {
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code) + " (" +
                             cudaGetErrorName(code) + ")");
  }
}

void check(cublasStatus_t code, const char* call) {
  if (code != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(call) + ": " + cublasGetStatusString(code));
  }
}

void check(ncclResult_t code, const char* call, ncclComm_t communicator) {
  if (code != ncclSuccess && code != ncclInProgress) {
    const char* const more = ncclGetLastError(communicator);
    const std::string detail = more == nullptr ? "" : more;
    throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(code) +
                             (detail.empty() ? "" : " (" + detail + ")"));
  }
}

}  // namespace twinrun::exec::gpu
