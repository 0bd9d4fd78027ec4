#include <atomic>

#include "tests/substitute/fixture.h"

// Compiled as CUDA 12 and older do it.
void launch_legacy_fill(float* to, float value, int count, cudaStream_t stream);

namespace {

using substitute::Launch;

class Kernels : public SubstituteTest {};

TEST_F(Kernels, RunTheirBodyWithTheArgumentsOfTheLaunch) {
  float* const array = new_array<float>(0, std::vector<float>(1000, 0));
  float* const more = new_array<float>(0, std::vector<float>(1000, 2));
  const cudaStream_t stream = new_stream();
  launch_fill(array, 3, 999, stream);
  launch_add(array, more, 1000, stream);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  std::vector<float> expected(1000, 5);
  expected[999] = 2;
  EXPECT_EQ(values_of(array, 1000, stream), expected);
}

TEST_F(Kernels, OfOlderCompilersRunToo) {
  substitute::add_kernel("legacy_fill(float*, float, int)",
                         [](const Launch& launch, float* to, float value, int count) {
                           float* const out = launch.translate(to, static_cast<std::size_t>(count));
                           std::fill(out, out + count, value);
                         });
  float* const array = new_array<float>(0, 10);
  const cudaStream_t stream = new_stream();
  launch_legacy_fill(array, 4, 10, stream);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(values_of(array, 10, stream), std::vector<float>(10, 4));
}

TEST_F(Kernels, WithoutABodyCannotBeLaunched) {
  launch_bodiless(new_array<float>(0, 1), new_stream());
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
}

TEST_F(Kernels, AreLaunchedOnTheDeviceOfTheirStream) {
  float* const array = new_array<float>(1, 4);
  const cudaStream_t stream = new_stream(1);
  use(0);
  launch_fill(array, 1, 4, stream);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  use(1);
  launch_fill(array, 1, 4, stream);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Kernels, NeedAGridAndABlockOfAPossibleSize) {
  const cudaStream_t stream = new_stream();
  float* const array = new_array<float>(0, 4);
  launch_fill(array, 1, 0, stream);  // a grid of 0 blocks
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
}

TEST_F(Kernels, EachThreadIsVisitedOnceInOrder) {
  const Launch launch("k", 0, dim3(2, 3, 2), dim3(4, 2, 2), 0);
  std::vector<std::uint64_t> linear;
  launch.each_thread([&](const Launch::Thread& thread) {
    EXPECT_EQ(thread.index, thread.block_index.x * 4 + thread.thread_index.x);
    EXPECT_EQ(thread.count, 8U);
    const std::uint64_t block =
        thread.block_index.x + 2 * (thread.block_index.y + 3 * thread.block_index.z);
    const std::uint64_t inner =
        thread.thread_index.x + 4 * (thread.thread_index.y + 2 * thread.thread_index.z);
    linear.push_back(block * 16 + inner);
  });
  ASSERT_EQ(linear.size(), 12U * 16U);
  for (std::size_t i = 0; i < linear.size(); ++i) {
    EXPECT_EQ(linear[i], i);
  }
}

TEST_F(Kernels, KnowTheirAttributesOnlyWithABody) {
  cudaFuncAttributes attributes{};
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&launch_fill)),
            cudaErrorInvalidDeviceFunction);
}

}  // namespace
