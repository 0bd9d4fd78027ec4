// Two devices do a bit of everything.
#include <vector>

#include <gtest/gtest.h>

#include "tests/substitute/sample_bodies.h"

namespace {

class Smoke : public testing::Test {
 protected:
  void SetUp() override {
    substitute::reset();
    add_sample_bodies();
  }
  void TearDown() override { substitute::reset(); }
};

TEST_F(Smoke, KernelsCopiesAndAGroupedAllReduce) {
  constexpr int kCount = 1000;
  constexpr std::size_t kBytes = kCount * sizeof(float);
  cudaStream_t streams[2];
  float* data[2];
  float* host = nullptr;
  ncclComm_t comms[2];
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&host), 2 * kBytes), cudaSuccess);
  ASSERT_EQ(ncclCommInitAll(comms, 2, nullptr), ncclSuccess);
  for (int device = 0; device < 2; ++device) {
    ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&streams[device], cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&data[device]), kBytes), cudaSuccess);
    launch_fill(data[device], static_cast<float>(device + 1), kCount, streams[device]);
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  }
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(ncclAllReduce(data[rank], data[rank], kCount, ncclFloat32, ncclSum, comms[rank],
                            streams[rank]),
              ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  for (int device = 0; device < 2; ++device) {
    ASSERT_EQ(cudaMemcpyAsync(host + device * kCount, data[device], kBytes, cudaMemcpyDeviceToHost,
                              streams[device]),
              cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(streams[device]), cudaSuccess);
  }
  for (int i = 0; i < 2 * kCount; ++i) {
    ASSERT_EQ(host[i], 3.0F);
  }
  for (int device = 0; device < 2; ++device) {
    ncclCommDestroy(comms[device]);
    cudaStreamDestroy(streams[device]);
    cudaFree(data[device]);
  }
  cudaFreeHost(host);
  EXPECT_TRUE(substitute::leaks().empty());
}

}  // namespace
