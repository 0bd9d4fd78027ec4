#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "tests/substitute/fixture.h"

namespace {

using testing::ElementsAre;

class Streams : public SubstituteTest {};
class StreamsDeathTest : public SubstituteDeathTest {};

// What host functions did, in order.
struct Notes {
  std::mutex mutex;
  std::vector<int> seen;
};

struct Note {
  Notes* notes;
  int number;
  static void take(void* raw) {
    const auto* const note = static_cast<Note*>(raw);
    const std::lock_guard lock(note->notes->mutex);
    note->notes->seen.push_back(note->number);
  }
};

TEST_F(Streams, RunHostFunctionsInOrder) {
  const cudaStream_t stream = new_stream();
  Notes notes;
  std::vector<Note> all;
  all.reserve(100);
  for (int i = 0; i < 100; ++i) {
    all.push_back({&notes, i});
  }
  for (Note& note : all) {
    ASSERT_EQ(cudaLaunchHostFunc(stream, Note::take, &note), cudaSuccess);
  }
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  ASSERT_EQ(notes.seen.size(), 100U);
  EXPECT_TRUE(std::is_sorted(notes.seen.begin(), notes.seen.end()));
}

TEST_F(Streams, HostFunctionsMayNotCallCuda) {
  const cudaStream_t stream = new_stream();
  struct Answers {
    cudaStream_t stream = nullptr;
    cudaError_t malloc = cudaSuccess;
    cudaError_t query = cudaSuccess;
  } answers{stream};
  ASSERT_EQ(cudaLaunchHostFunc(
                stream,
                [](void* raw) {
                  auto* const found = static_cast<Answers*>(raw);
                  void* pointer = nullptr;
                  found->malloc = cudaMalloc(&pointer, 4);
                  found->query = cudaStreamQuery(found->stream);
                },
                &answers),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(answers.malloc, cudaErrorNotPermitted);
  EXPECT_EQ(answers.query, cudaErrorNotPermitted);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaSuccess) << "the host thread may";
}

TEST_F(Streams, RunSideBySideAndStallAlone) {
  const cudaStream_t stalled = new_stream();
  const cudaStream_t other = new_stream();
  substitute::stall(stalled);
  Notes notes;
  Note of_stalled{&notes, 1};
  Note of_other{&notes, 2};
  ASSERT_EQ(cudaLaunchHostFunc(stalled, Note::take, &of_stalled), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(other, Note::take, &of_other), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(other), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stalled), cudaErrorNotReady);
  substitute::resume(stalled);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_THAT(notes.seen, ElementsAre(2, 1));
}

TEST_F(Streams, DeviceSynchronizeWaitsForItsOwnOnly) {
  const cudaStream_t far = new_stream(1);
  const cudaStream_t near = new_stream(0);
  substitute::stall(far);
  Notes notes;
  Note note{&notes, 1};
  ASSERT_EQ(cudaLaunchHostFunc(far, Note::take, &note), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(near, Note::take, &note), cudaSuccess);
  use(0);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(near), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(far), cudaErrorNotReady);
  substitute::resume(far);
  ASSERT_EQ(cudaStreamSynchronize(far), cudaSuccess);
}

TEST_F(Streams, FinishTheirWorkAfterTheyAreDestroyed) {
  const cudaStream_t stream = new_stream();
  substitute::stall(stream);
  std::atomic<bool> was_run = false;
  ASSERT_EQ(cudaLaunchHostFunc(
                stream, [](void* raw) { *static_cast<std::atomic<bool>*>(raw) = true; }, &was_run),
            cudaSuccess);
  substitute::resume(stream);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  while (!was_run) {
    std::this_thread::yield();
  }
}

TEST_F(Streams, KeepTheirFlagsAndPriorities) {
  int least = 99;
  int greatest = 99;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, least);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), cudaSuccess);
  int priority = 99;
  unsigned flags = 99;
  EXPECT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
  EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
  ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamDefault, greatest - 100), cudaSuccess);
  EXPECT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest) << "out of range is taken for the end of it";
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, 64), cudaErrorInvalidValue);
}

TEST_F(StreamsDeathTest, DefaultOnesAreRefused) {
  float* const array = new_array<float>(0, 4);
  EXPECT_DEATH(launch_fill(array, 1, 4, nullptr),
               "gpu substitute: a kernel launch was called for a default stream; create a stream "
               "and name it\\.");
  EXPECT_DEATH(cudaMemsetAsync(array, 0, 4, cudaStreamLegacy),
               "cudaMemsetAsync was called for a default stream");
  EXPECT_DEATH(cudaMemsetAsync(array, 0, 4, cudaStreamPerThread),
               "cudaMemsetAsync was called for a default stream");
  EXPECT_DEATH(cudaEventRecord(new_event(), nullptr),
               "cudaEventRecord was called for a default stream");
}

TEST_F(StreamsDeathTest, DestroyedOnesAreRefused) {
  const cudaStream_t stream = new_stream();
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_DEATH(
      cudaStreamSynchronize(stream),
      "cudaStreamSynchronize was called for 0x[0-9a-f]+, which is no stream \\(any more\\)\\.");
  EXPECT_DEATH(cudaStreamDestroy(stream), "cudaStreamDestroy was called for");
}

}  // namespace
