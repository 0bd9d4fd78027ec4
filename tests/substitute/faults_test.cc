#include <chrono>
#include <thread>

#include "tests/substitute/nccl_fixture.h"

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Faults : public NcclTest {};

TEST_F(Faults, MakeTheNthCallFail) {
  void* pointer = nullptr;
  ASSERT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);
  substitute::fail_call("cudaMalloc", 2, cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);
  EXPECT_EQ(substitute::calls_of("cudaMalloc"), 4);
  EXPECT_EQ(substitute::leaks().size(), 3U) << "the failed call did nothing";
}

TEST_F(Faults, StrikeAllThreeLibraries) {
  cublasHandle_t handle = nullptr;
  substitute::fail_call("cublasCreate", 1, CUBLAS_STATUS_ALLOC_FAILED);
  EXPECT_EQ(cublasCreate(&handle), CUBLAS_STATUS_ALLOC_FAILED);
  ncclUniqueId id;
  substitute::fail_call("ncclGetUniqueId", 1, ncclSystemError);
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSystemError);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("ncclGetUniqueId"));
  substitute::fail_call("cudaLaunchKernel", 1, cudaErrorLaunchFailure);
  launch_fill(new_array<float>(0, 1), 1, 1, new_stream());
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
}

// As after an illegal access: the device is gone, the other is not.
TEST_F(Faults, CanBreakADevice) {
  float* const array = new_array<float>(0, 4);
  const cudaStream_t stream = new_stream();
  substitute::break_device_at_kernel(2, cudaErrorIllegalAddress);
  launch_fill(array, 1, 4, stream);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  launch_fill(array, 1, 4, stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorIllegalAddress);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaErrorIllegalAddress);
  use(1);
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);
}

TEST_F(Faults, CanMakeAKernelHang) {
  float* const array = new_array<float>(0, std::vector<float>(4, 1));
  const cudaStream_t stream = new_stream();
  substitute::hang_kernel("add(float*, float const*, int)", 2);
  launch_fill(array, 1, 4, stream);
  launch_add(array, array, 4, stream);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  launch_fill(array, 1, 4, stream);
  launch_add(array, array, 4, stream);
  EXPECT_TRUE(stays_pending(stream));
  substitute::release_hung_kernels();
  EXPECT_EQ(values_of(array, 4, stream), std::vector<float>(4, 2));
}

TEST_F(Faults, DropTheWaitThatATestNames) {
  float* const array = new_array<float>(0, std::vector<float>(4, 0));
  for (int dropped = 1; dropped <= 3; ++dropped) {
    const cudaStream_t first = new_stream();
    const cudaStream_t second = new_stream();
    const cudaEvent_t event = new_event();
    const std::int64_t before = substitute::waits();
    substitute::drop_wait(before + dropped);
    for (int wait = 1; wait <= 3; ++wait) {
      substitute::stall(first);
      launch_fill(array, 1, 4, first);
      ASSERT_EQ(cudaEventRecord(event, first), cudaSuccess);
      ASSERT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
      if (wait == dropped) {
        EXPECT_TRUE(finishes(second));
      } else {
        EXPECT_TRUE(stays_pending(second));
      }
      substitute::resume(first);
      ASSERT_EQ(cudaStreamSynchronize(second), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(first), cudaSuccess);
    }
    EXPECT_EQ(substitute::waits(), before + 3);
  }
}

// ---- what is left ----

class Leaks : public NcclTest {};

TEST_F(Leaks, AreToldOneByOne) {
  EXPECT_THAT(substitute::leaks(), IsEmpty());
  const cudaStream_t stream = new_stream(1);
  const cudaEvent_t event = new_event(1);
  void* memory = nullptr;
  void* pinned = nullptr;
  cublasHandle_t handle = nullptr;
  ncclComm_t comm = nullptr;
  const int device = 1;
  ASSERT_EQ(cudaMalloc(&memory, 100), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 200), cudaSuccess);
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(ncclCommInitAll(&comm, 1, &device), ncclSuccess);
  ASSERT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
  EXPECT_THAT(substitute::leaks(),
              ElementsAre(HasSubstr("of device 1"), HasSubstr("event"),
                          testing::StartsWith("100 bytes of device memory at 0x"),
                          testing::StartsWith("200 bytes of pinned memory at 0x"),
                          "cuBLAS handle of device 1", "communicator of rank 0 of 1, device 1",
                          "peer access of device 1 to device 0"));
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(0), cudaSuccess);
  EXPECT_THAT(substitute::leaks(), IsEmpty());
}

class LeaksDeathTest : public SubstituteDeathTest {};

TEST_F(LeaksDeathTest, AreToldAtTheEndAndFailTheProgramWhenAsked) {
  const auto leave_a_stream = [](const char* mode) {
    setenv("TWINRUN_SUBSTITUTE_LEAKS", mode, 1);
    new_stream();
    std::exit(0);
  };
  EXPECT_EXIT(leave_a_stream("fail"), testing::ExitedWithCode(23),
              "gpu substitute: left at exit: stream [0-9]+ of device 0");
  EXPECT_EXIT(leave_a_stream("report"), testing::ExitedWithCode(0),
              "gpu substitute: left at exit: stream");
}

// ---- the log ----

class Log : public NcclTest {};

TEST_F(Log, ListsCallsWithStreamAndBytes) {
  const cudaStream_t stream = new_stream();
  float* const array = new_array<float>(0, 8);
  EXPECT_THAT(substitute::take_log(), IsEmpty()) << "off until it is started";
  substitute::start_log();
  launch_fill(array, 1, 8, stream);
  ASSERT_EQ(cudaMemsetAsync(array, 0, 32, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  const auto calls = substitute::take_log();
  std::vector<std::string> names;
  for (const substitute::Call& call : calls) {
    names.push_back(call.function);
    EXPECT_EQ(call.stream, stream);
  }
  EXPECT_THAT(names, ElementsAre("cudaLaunchKernel", "cudaMemsetAsync", "cudaStreamSynchronize"));
  EXPECT_EQ(calls[1].bytes, 32U);
  EXPECT_THAT(substitute::take_log(), IsEmpty());
}

}  // namespace
