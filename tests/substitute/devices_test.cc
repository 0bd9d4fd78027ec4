#include <cstring>
#include <thread>

#include "tests/substitute/fixture.h"

namespace {

using testing::HasSubstr;

class Devices : public SubstituteTest {};

TEST_F(Devices, AreTwoUnlessATestSaysOtherwise) {
  int count = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 2);
  substitute::set_device_count(8);
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(count, 8);
}

TEST_F(Devices, DescribeThemselves) {
  substitute::Device device;
  device.name = "Big one";
  device.major = 9;
  device.minor = 1;
  device.multiprocessors = 17;
  device.memory_bytes = 12345678;
  device.pci_bus_id = "0001:AB:1F.0";
  substitute::set_devices({substitute::Device{}, device});

  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  EXPECT_STREQ(properties.name, "Big one");
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.minor, 1);
  EXPECT_EQ(properties.multiProcessorCount, 17);
  EXPECT_EQ(properties.totalGlobalMem, 12345678U);
  EXPECT_EQ(properties.pciDomainID, 1);
  EXPECT_EQ(properties.pciBusID, 0xAB);
  EXPECT_EQ(properties.pciDeviceID, 0x1F);

  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 1), cudaSuccess);
  EXPECT_EQ(value, 17);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrPciBusId, 1), cudaSuccess);
  EXPECT_EQ(value, 0xAB);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 2), cudaErrorInvalidDevice);

  char text[32];
  EXPECT_EQ(cudaDeviceGetPCIBusId(text, sizeof text, 1), cudaSuccess);
  EXPECT_STREQ(text, "0001:AB:1F.0");
  EXPECT_EQ(cudaDeviceGetPCIBusId(text, 5, 1), cudaErrorInvalidValue);
  int found = -1;
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&found, "0001:ab:1f.0"), cudaSuccess);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&found, "0000:77:00.0"), cudaErrorInvalidDevice);
}

TEST_F(Devices, AreChosenByEachThread) {
  use(1);
  int of_other_thread = -1;
  std::thread([&] { cudaGetDevice(&of_other_thread); }).join();
  int of_this_thread = -1;
  EXPECT_EQ(cudaGetDevice(&of_this_thread), cudaSuccess);
  EXPECT_EQ(of_this_thread, 1);
  EXPECT_EQ(of_other_thread, 0);
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
}

TEST_F(Devices, HaveMemoryUpToTheirCapacity) {
  substitute::Device small;
  small.memory_bytes = 4096;
  substitute::set_devices({small, small});
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 4096U);
  EXPECT_EQ(total, 4096U);
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(cudaMalloc(&first, 3000), cudaSuccess);  // rounded up to 3072 = 6 · 512
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 1024U);
  EXPECT_EQ(cudaMalloc(&second, 1025), cudaErrorMemoryAllocation);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&second, 1024), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, std::size_t(-1)), cudaErrorMemoryAllocation);
  use(1);  // has its own
  EXPECT_EQ(cudaMalloc(&second, 4096), cudaSuccess);
  use(0);
  EXPECT_EQ(cudaFree(first), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(free, 3072U);
}

TEST_F(Devices, GrantPeerAccessOnceAndWhereItIsPossible) {
  substitute::set_device_count(3);
  substitute::set_peer_access_possible(0, 2, false);
  int can = -1;
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 2), cudaSuccess);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 2, 0), cudaSuccess);
  EXPECT_EQ(can, 1) << "one direction only was taken away";
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 0), cudaSuccess);
  EXPECT_EQ(can, 0);
  use(0);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(2, 0), cudaErrorPeerAccessUnsupported);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
}

struct DriverCase {
  substitute::Driver driver;
  cudaError_t error;
  int version;
};

class Drivers : public SubstituteTest, public testing::WithParamInterface<DriverCase> {};

// What the real libraries answer: count left unset, versions and the unique id all the same.
TEST_P(Drivers, AnswerAsTheRealOnesDo) {
  substitute::set_driver(GetParam().driver);
  int count = -7;
  EXPECT_EQ(cudaGetDeviceCount(&count), GetParam().error);
  EXPECT_EQ(count, -7);
  EXPECT_EQ(cudaGetLastError(), GetParam().error);
  int version = -1;
  EXPECT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, GetParam().version);
  EXPECT_EQ(cudaRuntimeGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, CUDART_VERSION);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 4), GetParam().error);
  EXPECT_EQ(cudaMallocHost(&pointer, 4), GetParam().error);
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), GetParam().error);
  EXPECT_EQ(cudaSetDevice(0), GetParam().error);
  cublasHandle_t handle = nullptr;
  EXPECT_EQ(cublasCreate(&handle), CUBLAS_STATUS_NOT_INITIALIZED);
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitAll(&comm, 1, nullptr), ncclUnhandledCudaError);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr(cudaGetErrorString(GetParam().error)));
}

INSTANTIATE_TEST_SUITE_P(
    All,
    Drivers,
    testing::Values(DriverCase{substitute::Driver::kMissing, cudaErrorInsufficientDriver, 0},
                    DriverCase{substitute::Driver::kTooOld, cudaErrorInsufficientDriver, 11040},
                    DriverCase{substitute::Driver::kStub, cudaErrorStubLibrary, 0}));

TEST_F(Devices, CanBeNone) {
  substitute::set_device_count(0);
  int count = -7;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  EXPECT_EQ(count, -7);
  int version = 0;
  EXPECT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, CUDART_VERSION);
}

TEST_F(Devices, ErrorsHaveNamesAndMeanings) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
  EXPECT_STREQ(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_STRNE(cublasGetStatusString(CUBLAS_STATUS_SUCCESS),
               cublasGetStatusString(CUBLAS_STATUS_ALLOC_FAILED));
  EXPECT_STRNE(ncclGetErrorString(ncclSuccess), ncclGetErrorString(ncclRemoteError));
}

TEST_F(Devices, TheLastErrorIsTakenOnceAndOnlyByItsThread) {
  EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
