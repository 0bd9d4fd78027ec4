#include "tests/substitute/nccl_fixture.h"

#include <chrono>
#include <thread>

namespace {

constexpr int kLooks = 500;
constexpr std::chrono::milliseconds kLook{10};

}  // namespace

ncclResult_t NcclTest::wait_for_async_error(ncclComm_t comm) {
  for (int look = 0; look < kLooks; ++look) {
    if (const ncclResult_t error = async_error(comm);
        error != ncclSuccess && error != ncclInProgress) {
      return error;
    }
    std::this_thread::sleep_for(kLook);
  }
  return ncclSuccess;
}

bool NcclTest::finishes(cudaStream_t stream) {
  for (int look = 0; look < kLooks; ++look) {
    if (cudaStreamQuery(stream) == cudaSuccess) {
      return true;
    }
    std::this_thread::sleep_for(kLook);
  }
  return false;
}

bool NcclTest::stays_pending(cudaStream_t stream) {
  std::this_thread::sleep_for(10 * kLook);
  return cudaStreamQuery(stream) == cudaErrorNotReady;
}
