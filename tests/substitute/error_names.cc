// Names of error codes, and what they mean in our words.
#include <algorithm>
#include <iterator>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

namespace substitute {
namespace {

struct ErrorText {
  int code;
  const char* name;
  const char* meaning;
};

constexpr ErrorText kCudaErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "an argument has a value that is not allowed"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "the runtime could not start"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "a grid or block of this size cannot be launched"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "the pointers do not fit the direction"},
    {cudaErrorStubLibrary, "cudaErrorStubLibrary", "the CUDA driver is a stub library"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "the CUDA driver is missing or older than the runtime needs"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
     "the kernel has no code for this device"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA device was found"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "there is no device of this number"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
     "the handle does not fit here"},
    {cudaErrorNotReady, "cudaErrorNotReady", "not finished yet"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "a kernel accessed memory that it may not"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is on already"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access was not on"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "these devices have no peer access"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "the memory is pinned already"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "the memory was not pinned"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "a kernel ran for too long"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "a kernel failed"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "CUDA cannot be called from a host function"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "not supported here"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "memory failed beyond repair"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

constexpr ErrorText kCublasErrors[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "no error"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED",
     "the handle is missing, or CUDA is"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "out of memory"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an argument has a value that is not allowed"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "the device cannot do this"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "memory could not be reached"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "the product could not be started"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "the library failed inside"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "this combination is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "no licence"},
};

template <class Table>
const ErrorText* find_error(const Table& table, int code) {
  const auto* const found = std::find_if(std::begin(table), std::end(table),
                                         [&](const ErrorText& row) { return row.code == code; });
  return found == std::end(table) ? nullptr : found;
}

}  // namespace
}  // namespace substitute

// NOLINTBEGIN(readability-*): the names are CUDA's and cuBLAS's
const char* cudaGetErrorName(cudaError_t error) {
  const auto* const found = substitute::find_error(substitute::kCudaErrors, error);
  return found == nullptr ? "unrecognized error code" : found->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const auto* const found = substitute::find_error(substitute::kCudaErrors, error);
  return found == nullptr ? "unrecognized error code" : found->meaning;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  const auto* const found = substitute::find_error(substitute::kCublasErrors, status);
  return found == nullptr ? "unrecognized status" : found->name;
}

const char* cublasGetStatusString(cublasStatus_t status) {
  const auto* const found = substitute::find_error(substitute::kCublasErrors, status);
  return found == nullptr ? "unrecognized status" : found->meaning;
}
// NOLINTEND(readability-*)
