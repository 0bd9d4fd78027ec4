#include <chrono>
#include <thread>

#include "tests/substitute/fixture.h"

namespace {

class Events : public SubstituteTest {};
class EventsDeathTest : public SubstituteDeathTest {};

// The kernels' stream is stalled, so what waits for it cannot have run.
TEST_F(Events, AWaitHoldsAStreamBackUntilTheRecord) {
  const cudaStream_t first = new_stream();
  const cudaStream_t second = new_stream();
  const cudaEvent_t event = new_event();
  float* const array = new_array<float>(0, std::vector<float>(10, 0));
  substitute::stall(first);
  launch_fill(array, 5, 10, first);
  ASSERT_EQ(cudaEventRecord(event, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
  launch_add(array, array, 10, second);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(cudaStreamQuery(second), cudaErrorNotReady);
  substitute::resume(first);
  EXPECT_EQ(values_of(array, 10, second), std::vector<float>(10, 10));
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
}

TEST_F(Events, AWaitMeansTheRecordBeforeIt) {
  const cudaStream_t first = new_stream();
  const cudaStream_t second = new_stream();
  const cudaEvent_t event = new_event();
  ASSERT_EQ(cudaEventRecord(event, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(first), cudaSuccess);
  substitute::stall(first);
  ASSERT_EQ(cudaEventRecord(event, first),
            cudaSuccess);  // the second record is none of the wait's business
  EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  substitute::resume(first);
}

TEST_F(Events, WithoutARecordThereIsNothingToWaitFor) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  ASSERT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  EXPECT_EQ(substitute::waits(), 0);
}

TEST_F(Events, OrderStreamsOfTwoDevices) {
  const cudaStream_t near = new_stream(0);
  const cudaStream_t far = new_stream(1);
  const cudaEvent_t event = new_event(0);
  float* const from = new_array<float>(0, std::vector<float>(10, 0));
  float* const to = new_array<float>(1, 10);
  use(0);
  substitute::stall(near);
  launch_fill(from, 4, 10, near);
  ASSERT_EQ(cudaEventRecord(event, near), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(far, event, 0), cudaSuccess);
  ASSERT_EQ(cudaMemcpyPeerAsync(to, 1, from, 0, 40, far), cudaSuccess);
  substitute::resume(near);
  EXPECT_EQ(values_of(to, 10, far), std::vector<float>(10, 4));
}

TEST_F(Events, OutliveTheirHandle) {
  const cudaStream_t first = new_stream();
  const cudaStream_t second = new_stream();
  const cudaEvent_t event = new_event();
  substitute::stall(first);
  ASSERT_EQ(cudaEventRecord(event, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
  ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(second), cudaErrorNotReady);
  substitute::resume(first);
  EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
}

TEST_F(Events, MeasureRealTime) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t start = new_event();
  const cudaEvent_t end = new_event();
  ASSERT_EQ(cudaEventRecord(start, stream), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(
                stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); },
                nullptr),
            cudaSuccess);
  ASSERT_EQ(cudaEventRecord(end, stream), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(end), cudaSuccess);
  float milliseconds = 0;
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
  EXPECT_GE(milliseconds, 30);  // a sleep is never shorter
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, end, start), cudaSuccess);
  EXPECT_LE(milliseconds, -30);
}

TEST_F(Events, ElapsedTimeNeedsTimingRecordsAndOneDevice) {
  const cudaStream_t stream = new_stream(0);
  const cudaStream_t far_stream = new_stream(1);
  const cudaEvent_t timed = new_event(0);
  const cudaEvent_t untimed = new_event(0, cudaEventDisableTiming);
  const cudaEvent_t far = new_event(1);
  const cudaEvent_t unrecorded = new_event(0);
  float milliseconds = 0;
  ASSERT_EQ(cudaEventRecord(timed, stream), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(untimed, stream), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(far, far_stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(far_stream), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, timed, timed), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, timed, untimed), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, timed, far), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, timed, unrecorded), cudaErrorInvalidResourceHandle);
  substitute::stall(stream);
  ASSERT_EQ(cudaEventRecord(unrecorded, stream), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, timed, unrecorded), cudaErrorNotReady);
  substitute::resume(stream);
}

TEST_F(Events, AreRecordedOnTheirOwnDeviceOnly) {
  const cudaStream_t stream = new_stream(0);
  EXPECT_EQ(cudaEventRecord(new_event(1), stream), cudaErrorInvalidResourceHandle);
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming),
            cudaErrorInvalidValue);
}

TEST_F(EventsDeathTest, DestroyedOnesAreRefused) {
  const cudaEvent_t event = new_event();
  ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_DEATH(cudaEventQuery(event),
               "cudaEventQuery was called for 0x[0-9a-f]+, which is no event \\(any more\\)\\.");
}

}  // namespace
