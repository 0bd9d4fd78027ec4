#include <numeric>

#include "tests/substitute/fixture.h"

namespace {

class Copies : public SubstituteTest {};

std::vector<int> counted(std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

constexpr std::size_t kCount = 1000;
constexpr std::size_t kBytes = kCount * sizeof(int);

// From pageable over pinned, two devices, and back; each hop by a kind of its own and by the
// default.
TEST_F(Copies, GoBetweenAllKindsOfMemory) {
  for (const bool by_default : {false, true}) {
    const auto kind = [&](cudaMemcpyKind named) { return by_default ? cudaMemcpyDefault : named; };
    const std::vector<int> values = counted(kCount);
    int* const pinned = new_pinned<int>(kCount);
    int* const first = new_array<int>(0, kCount);
    int* const second = new_array<int>(1, kCount);
    const cudaStream_t stream = new_stream(0);
    std::vector<int> back(kCount);
    ASSERT_EQ(cudaMemcpyAsync(pinned, values.data(), kBytes, kind(cudaMemcpyHostToHost), stream),
              cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(first, pinned, kBytes, kind(cudaMemcpyHostToDevice), stream),
              cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(second, first, kBytes, kind(cudaMemcpyDeviceToDevice), stream),
              cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(back.data(), second, kBytes, kind(cudaMemcpyDeviceToHost), stream),
              cudaSuccess);
    EXPECT_EQ(back, values) << "a copy to pageable memory is over when the call returns";
  }
}

TEST_F(Copies, AreRefusedInAWrongDirection) {
  int* const array = new_array<int>(0, kCount);
  const cudaStream_t stream = new_stream();
  std::vector<int> host(kCount);
  EXPECT_EQ(cudaMemcpyAsync(array, host.data(), kBytes, cudaMemcpyDeviceToHost, stream),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyAsync(host.data(), array, kBytes, cudaMemcpyDeviceToDevice, stream),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), array, kBytes, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyPeerAsync(array, 1, array, 0, kBytes, stream), cudaErrorInvalidValue)
      << "it is on device 0";
  EXPECT_EQ(cudaMemcpyAsync(array, host.data(), 0, cudaMemcpyHostToDevice, stream), cudaSuccess);
}

// What a pageable source holds after the call does not matter any more; what a pinned one holds
// when the stream gets there does: here a host function on the stream itself changes it.
TEST_F(Copies, OfPageableMemoryAreStagedAndOfPinnedMemoryAreNot) {
  int* const from_pageable = new_array<int>(0, 1);
  int* const from_pinned = new_array<int>(0, 1);
  const cudaStream_t stream = new_stream();
  int pageable = 1;
  int* const pinned = new_pinned<int>(1);
  *pinned = 1;
  substitute::stall(stream);
  ASSERT_EQ(cudaLaunchHostFunc(
                stream, [](void* value) { *static_cast<int*>(value) = 2; }, pinned),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(from_pageable, &pageable, sizeof(int), cudaMemcpyHostToDevice, stream),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(from_pinned, pinned, sizeof(int), cudaMemcpyHostToDevice, stream),
            cudaSuccess);
  pageable = 2;
  substitute::resume(stream);
  EXPECT_EQ(values_of(from_pageable, 1, stream)[0], 1);
  EXPECT_EQ(values_of(from_pinned, 1, stream)[0], 2);
}

TEST_F(Copies, NeedNoPeerAccess) {
  substitute::set_peer_access_possible(0, 1, false);
  substitute::set_peer_access_possible(1, 0, false);
  const std::vector<int> values = counted(kCount);
  int* const first = new_array<int>(0, values);
  int* const second = new_array<int>(1, kCount);
  const cudaStream_t stream = new_stream(0);
  ASSERT_EQ(cudaMemcpyPeerAsync(second, 1, first, 0, kBytes, stream), cudaSuccess);
  EXPECT_EQ(values_of(second, kCount, stream), values);
}

// The plain calls wait for streams that take part in the default stream's order, and only for them.
TEST_F(Copies, WithoutAStreamWaitForBlockingStreams) {
  int* const array = new_array<int>(0, 1);
  cudaStream_t blocking = nullptr;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  const cudaStream_t other = new_stream();
  substitute::stall(other);
  ASSERT_EQ(cudaMemsetAsync(new_array<int>(0, 1), 0, sizeof(int), other), cudaSuccess);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(cudaMemsetAsync(array, 0, sizeof(int), blocking), cudaSuccess);
  }
  ASSERT_EQ(cudaMemsetAsync(array, 1, sizeof(int), blocking), cudaSuccess);
  int value = 0;
  ASSERT_EQ(cudaMemcpy(&value, array, sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(value, 0x01010101);
  substitute::resume(other);
}

TEST_F(Copies, FillWithBytes) {
  unsigned char* const array = new_array<unsigned char>(0, 10);
  const cudaStream_t stream = new_stream();
  ASSERT_EQ(cudaMemsetAsync(array, 0x21, 10, stream), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(array + 4, 0x1FF, 2, stream), cudaSuccess);  // the last byte counts
  EXPECT_THAT(values_of(array, 10, stream),
              testing::ElementsAre(0x21, 0x21, 0x21, 0x21, 0xFF, 0xFF, 0x21, 0x21, 0x21, 0x21));
}

// Rows of 3 bytes: 5 apart in the source, 4 apart in the target; what lies between is not touched.
TEST_F(Copies, OfRowsLeaveTheRestAlone) {
  std::vector<unsigned char> source(14);
  std::iota(source.begin(), source.end(), 0);
  unsigned char* const from = new_array<unsigned char>(0, source);
  unsigned char* const to = new_array<unsigned char>(0, std::vector<unsigned char>(11, 99));
  const cudaStream_t stream = new_stream();
  ASSERT_EQ(cudaMemcpy2DAsync(to, 4, from, 5, 3, 3, cudaMemcpyDeviceToDevice, stream), cudaSuccess);
  EXPECT_THAT(values_of(to, 11, stream),
              testing::ElementsAre(0, 1, 2, 99, 5, 6, 7, 99, 10, 11, 12));
  EXPECT_EQ(cudaMemcpy2DAsync(to, 2, from, 5, 3, 3, cudaMemcpyDeviceToDevice, stream),
            cudaErrorInvalidValue);
  ASSERT_EQ(cudaMemset2DAsync(to, 4, 0, 2, 3, stream), cudaSuccess);
  EXPECT_THAT(values_of(to, 11, stream), testing::ElementsAre(0, 0, 2, 99, 0, 0, 7, 99, 0, 0, 12));
}

}  // namespace
