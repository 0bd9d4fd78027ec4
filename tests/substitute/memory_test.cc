#include <cmath>
#include <cstdint>
#include <cstring>

#include "tests/substitute/fixture.h"

namespace {

class Memory : public SubstituteTest {};
class MemoryDeathTest : public SubstituteDeathTest {};

TEST_F(Memory, AddressesAreAlignedAndNeverComeBack) {
  void* first = nullptr;
  ASSERT_EQ(cudaMalloc(&first, 100), cudaSuccess);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 512, 0U);
  ASSERT_EQ(cudaFree(first), cudaSuccess);
  for (int i = 0; i < 100; ++i) {
    void* again = nullptr;
    ASSERT_EQ(cudaMalloc(&again, 100), cudaSuccess);
    EXPECT_NE(again, first);
    ASSERT_EQ(cudaFree(again), cudaSuccess);
  }
}

TEST_F(Memory, NothingIsNoAllocation) {
  int marker = 0;
  void* pointer = &marker;
  EXPECT_EQ(cudaMalloc(&pointer, 0), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(&marker), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(&marker), cudaErrorInvalidValue);
}

TEST_F(Memory, StartsAsRubbish) {
  const float* const array = new_array<float>(0, 10);
  for (const float value : values_of(array, 10, new_stream())) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST_F(Memory, SaysWhereAPointerLies) {
  use(1);
  void* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 64), cudaSuccess);
  char* const pinned = new_pinned<char>(64);
  char pageable[8];
  cudaPointerAttributes attributes{};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, static_cast<char*>(device) + 7), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 1);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pinned + 7), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pageable), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

TEST_F(Memory, TheUsersCanBePinned) {
  std::vector<float> values(100, 1);
  const std::size_t bytes = values.size() * sizeof(float);
  ASSERT_EQ(cudaHostRegister(values.data(), bytes, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(values.data(), bytes, cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  cudaPointerAttributes attributes{};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, values.data() + 50), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(cudaFreeHost(values.data()), cudaErrorInvalidValue) << "it is not CUDA's to free";
  EXPECT_EQ(cudaHostUnregister(values.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(values.data()), cudaErrorHostMemoryNotRegistered);
}

// A kernel on the device that owns `data` writes `count` elements from there on.
void write(int device, float* data, int count) {
  cudaStream_t stream = nullptr;
  cudaSetDevice(device);
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  launch_fill(data, 1, count, stream);
  cudaStreamSynchronize(stream);
}

TEST_F(MemoryDeathTest, TheHostMayNotFollowADevicePointer) {
  float* const array = new_array<float>(0, 4);
  volatile float* const followed = array;
  EXPECT_DEATH(*followed = 1, "");
}

TEST_F(MemoryDeathTest, OutOfBounds) {
  float* const array = new_array<float>(0, 100);
  EXPECT_DEATH(write(0, array, 101),
               "gpu substitute: the kernel fill\\(float\\*, float, int\\) accesses 404 bytes at "
               "0x[0-9a-f]+, where "
               "only 400 of an allocation of 400 are left\\.");
  EXPECT_DEATH(write(0, array + 60, 41),
               "accesses 164 bytes at .* where only 160 of an allocation of 400 are left");
  EXPECT_DEATH(write(0, array + 100, 1), "outside of every allocation");
  EXPECT_DEATH(write(0, array - 1, 1), "outside of every allocation");
}

TEST_F(MemoryDeathTest, AfterFree) {
  float* const array = new_array<float>(0, 100);
  ASSERT_EQ(cudaFree(array), cudaSuccess);
  EXPECT_DEATH(write(0, array, 1), "the kernel fill.* uses 0x[0-9a-f]+, which was freed\\.");
  EXPECT_DEATH(cudaFree(array),
               "cudaFree was called for 0x[0-9a-f]+, which is no allocation \\(any more\\)\\.");
  EXPECT_DEATH(cudaFree(array + 1), "which is no allocation");
}

TEST_F(MemoryDeathTest, OfAnotherDeviceWithoutPeerAccess) {
  float* const array = new_array<float>(1, 100);
  EXPECT_DEATH(
      write(0, array, 1),
      "the kernel fill.* runs on device 0 and uses 0x[0-9a-f]+ of device 1 without peer access\\.");
  use(0);
  ASSERT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  write(0, array, 100);
  EXPECT_EQ(values_of(array, 100, new_stream())[99], 1.0F);
}

TEST_F(MemoryDeathTest, OfTheHost) {
  std::vector<float> pageable(10);
  EXPECT_DEATH(write(0, pageable.data(), 10),
               "uses 0x[0-9a-f]+, memory of the host that is not pinned\\.");
  float* const pinned = new_pinned<float>(10);
  write(0, pinned, 10);
  EXPECT_EQ(pinned[9], 1.0F);
  EXPECT_DEATH(write(0, pinned, 11),
               "accesses 44 bytes .* where only 40 of an allocation of 40 are left");
}

TEST_F(MemoryDeathTest, CopiesFillsAndProductsAreWatchedToo) {
  float* const array = new_array<float>(0, 10);
  float* const far = new_array<float>(1, 10);
  use(0);
  const cudaStream_t stream = new_stream();
  char host[64];
  EXPECT_DEATH(cudaMemcpy(host, array, 41, cudaMemcpyDefault), "cudaMemcpy accesses 41 bytes");
  EXPECT_DEATH((cudaMemsetAsync(array, 0, 41, stream), cudaStreamSynchronize(stream)),
               "cudaMemsetAsync accesses 41 bytes");
  EXPECT_DEATH((cudaMemsetAsync(far, 0, 4, stream), cudaStreamSynchronize(stream)),
               "cudaMemsetAsync runs on device 0 .* of device 1 without peer access");
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSetStream(handle, stream), CUBLAS_STATUS_SUCCESS);
  const float one = 1;
  const auto product = [&](int m) {
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, 1, 1, &one, array, m, array, 1, &one, array,
                m);
    cudaStreamSynchronize(stream);
  };
  product(10);
  EXPECT_DEATH(product(11), "cublasSgemm accesses 44 bytes");
}

}  // namespace
