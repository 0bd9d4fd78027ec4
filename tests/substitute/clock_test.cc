#include <string>
#include <thread>

#include "tests/substitute/nccl_fixture.h"

namespace {

using substitute::Picoseconds;
using substitute::Task;
using substitute::TaskKind;

// Kernels cost 1000 per launch of fill, 10 per launch of add; everything else what the test says.
class Clock : public NcclTest {
 protected:
  void SetUp() override {
    NcclTest::SetUp();
    substitute::use_virtual_clock(true);
    substitute::set_cost([](const Task& task) -> Picoseconds {
      switch (task.kind) {
        case TaskKind::kKernel:
          return task.name == "_Z4fillPffi" ? 1000 : 10;
        case TaskKind::kCopy:
          return 100000 + static_cast<Picoseconds>(task.bytes);
        case TaskKind::kCollective:
          return 7000000;
        case TaskKind::kSend:
          return 300;
        case TaskKind::kReceive:
          return 500;
        default:
          return 0;
      }
    });
  }

  static Picoseconds now(cudaStream_t stream, int device = 0) {
    const cudaEvent_t event = new_event(device);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return substitute::event_time(event);
  }

  static cudaEvent_t record(cudaStream_t stream, int device = 0) {
    const cudaEvent_t event = new_event(device);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    return event;
  }
};

TEST_F(Clock, AddsUpWhatAStreamDoes) {
  const cudaStream_t stream = new_stream();
  float* const array = new_array<float>(0, 4);
  const cudaEvent_t start = record(stream);
  launch_fill(array, 1, 4, stream);
  launch_add(array, array, 4, stream);
  const cudaEvent_t end = record(stream);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(substitute::event_time(start), 0);
  EXPECT_EQ(substitute::event_time(end), 1010);
  EXPECT_EQ(substitute::stream_time(stream), 1010);
  float milliseconds = 0;
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
  EXPECT_EQ(milliseconds, static_cast<float>(1010e-9));
}

TEST_F(Clock, OfTwoStreamsMeetsAtAWait) {
  const cudaStream_t first = new_stream();
  const cudaStream_t second = new_stream();
  float* const array = new_array<float>(0, 4);
  float* const other = new_array<float>(0, 4);
  launch_fill(array, 1, 4, first);
  launch_fill(array, 1, 4, first);
  const cudaEvent_t event = record(first);
  launch_fill(array, 1, 4, first);
  launch_add(other, other, 4, second);  // 0 to 10
  ASSERT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
  launch_add(other, other, 4, second);  // 2000 to 2010
  EXPECT_EQ(now(second), 2010);
  EXPECT_EQ(now(first), 3000);
}

// The host is at 1000 after synchronising: what it enqueues then cannot start earlier, on any
// stream.
TEST_F(Clock, OfTheHostMovesWhenItWaits) {
  const cudaStream_t first = new_stream();
  const cudaStream_t second = new_stream();
  float* const array = new_array<float>(0, 4);
  launch_fill(array, 1, 4, first);
  EXPECT_EQ(substitute::host_time(), 0) << "enqueuing takes no time";
  ASSERT_EQ(cudaStreamSynchronize(first), cudaSuccess);
  EXPECT_EQ(substitute::host_time(), 1000);
  launch_add(array, array, 4, second);
  EXPECT_EQ(now(second), 1010);
  substitute::advance_host(500);  // from 1010, where now() left it
  launch_add(array, array, 4, first);
  EXPECT_EQ(now(first), 1520);
}

TEST_F(Clock, OfTheHostDoesNotMoveByAskingUnlessWanted) {
  const cudaStream_t stream = new_stream();
  float* const array = new_array<float>(0, 4);
  launch_fill(array, 1, 4, stream);
  const cudaEvent_t event = record(stream);
  while (cudaEventQuery(event) != cudaSuccess || cudaStreamQuery(stream) != cudaSuccess) {
    std::this_thread::yield();
  }
  EXPECT_EQ(substitute::host_time(), 0);
  substitute::set_query_joins_host(true);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(substitute::host_time(), 1000);
}

TEST_F(Clock, OfEachHostThreadIsItsOwn) {
  substitute::advance_host(5000);
  Picoseconds other = -1;
  std::thread([&] { other = substitute::host_time(); }).join();
  EXPECT_EQ(other, 0);
  EXPECT_EQ(substitute::host_time(), 5000);
}

// A copy to pageable memory is waited for; so is one without a stream.
TEST_F(Clock, CountsCopiesThatTheHostWaitsFor) {
  const cudaStream_t stream = new_stream();
  char* const array = new_array<char>(0, 8);
  char host[8];
  ASSERT_EQ(cudaMemcpyAsync(host, array, 8, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT_EQ(substitute::host_time(), 100008);
  ASSERT_EQ(cudaMemcpy(host, array, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(substitute::host_time(), 200012);
}

// Ranks are ready at 3000, 1000 and 0: all end at 3000 + 7000000, and nobody's own stream matters
// before.
TEST_F(Clock, StartsACollectiveAtTheLatestRankAndEndsItTogether) {
  start(3);
  float* data[3];
  for (int rank = 0; rank < 3; ++rank) {
    data[rank] = new_array<float>(rank, 4);
  }
  substitute::use_virtual_clock(true);
  const int fills[] = {3, 1, 0};
  for (int rank = 0; rank < 3; ++rank) {
    use(rank);
    for (int i = 0; i < fills[rank]; ++i) {
      launch_fill(data[rank], 1, 4, stream(rank));
    }
  }
  group([&](int rank) {
    return ncclAllReduce(data[rank], data[rank], 4, ncclFloat32, ncclSum, comm(rank), stream(rank));
  });
  cudaEvent_t ends[3];
  for (int rank = 0; rank < 3; ++rank) {
    ends[rank] = record(stream(rank), rank);
  }
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(cudaStreamSynchronize(stream(rank)), cudaSuccess);
    EXPECT_EQ(substitute::event_time(ends[rank]), 7003000);
  }
}

// A message from rank 0 to rank 1 alone: the pair meets, rank 2 goes on. The dearer end counts.
TEST_F(Clock, StartsAMessageWhenBothEndsAreReady) {
  start(3);
  float* data[3];
  for (int rank = 0; rank < 3; ++rank) {
    data[rank] = new_array<float>(rank, 4);
  }
  substitute::use_virtual_clock(true);
  use(1);
  launch_fill(data[1], 1, 4, stream(1));
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclSend(data[0], 4, ncclFloat32, 1, comm(0), stream(0)), ncclSuccess);
  ASSERT_EQ(ncclRecv(data[1], 4, ncclFloat32, 0, comm(1), stream(1)), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  cudaEvent_t ends[3];
  for (int rank = 0; rank < 3; ++rank) {
    ends[rank] = record(stream(rank), rank);
  }
  const Picoseconds expected[] = {1500, 1500, 0};
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(cudaStreamSynchronize(stream(rank)), cudaSuccess);
    EXPECT_EQ(substitute::event_time(ends[rank]), expected[rank]);
  }
}

// Whatever lies between costs exactly what was charged, together; and nothing at all costs it too.
TEST_F(Clock, ChargesWhatATestSays) {
  const cudaStream_t stream = new_stream();
  float* const array = new_array<float>(0, 4);
  const cudaEvent_t start = record(stream);
  substitute::begin_charge(stream, 123456);
  launch_fill(array, 1, 4, stream);
  launch_fill(array, 1, 4, stream);
  substitute::end_charge(stream);
  const cudaEvent_t middle = record(stream);
  substitute::begin_charge(stream, 44);
  substitute::end_charge(stream);
  const cudaEvent_t end = record(stream);
  launch_fill(array, 1, 4, stream);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(substitute::event_time(start), 0);
  EXPECT_EQ(substitute::event_time(middle), 123456);
  EXPECT_EQ(substitute::event_time(end), 123500);
  EXPECT_EQ(substitute::stream_time(stream), 124500) << "afterwards the costs are back";
}

TEST_F(Clock, ChargesCollectivesFromTheLatestRank) {
  start(2);
  float* data[2];
  for (int rank = 0; rank < 2; ++rank) {
    data[rank] = new_array<float>(rank, 4);
  }
  substitute::use_virtual_clock(true);
  use(0);
  launch_fill(data[0], 1, 4, stream(0));
  for (int rank = 0; rank < 2; ++rank) {
    substitute::begin_charge(stream(rank), 50);
  }
  group([&](int rank) {
    return ncclAllReduce(data[rank], data[rank], 4, ncclFloat32, ncclSum, comm(rank), stream(rank));
  });
  for (int rank = 0; rank < 2; ++rank) {
    substitute::end_charge(stream(rank));
  }
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(cudaStreamSynchronize(stream(rank)), cudaSuccess);
    EXPECT_EQ(substitute::stream_time(stream(rank)), 1050);
  }
}

// Two collectives of one communicator on two streams cannot overlap.
TEST_F(Clock, LetsACommunicatorDoOneThingAtATime) {
  start(2);
  float* data[2];
  cudaStream_t others[2];
  for (int rank = 0; rank < 2; ++rank) {
    data[rank] = new_array<float>(rank, 8);
    others[rank] = new_stream(rank);
  }
  substitute::use_virtual_clock(true);
  group([&](int rank) {
    return ncclAllReduce(data[rank], data[rank], 4, ncclFloat32, ncclSum, comm(rank), stream(rank));
  });
  group([&](int rank) {
    float* const rest = data[rank] + 4;
    return ncclAllReduce(rest, rest, 4, ncclFloat32, ncclSum, comm(rank), others[rank]);
  });
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(cudaStreamSynchronize(stream(rank)), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(others[rank]), cudaSuccess);
    EXPECT_EQ(substitute::stream_time(stream(rank)), 7000000);
    EXPECT_EQ(substitute::stream_time(others[rank]), 14000000);
  }
}

// Every task as its cost function sees it.
TEST_F(Clock, TellsTheCostFunctionWhatItIs) {
  std::vector<std::string> seen;
  substitute::set_cost([&](const Task& task) -> Picoseconds {
    seen.push_back(std::string(task.name) + " device " + std::to_string(task.device) + " from " +
                   std::to_string(task.from_device) + " to " + std::to_string(task.to_device) +
                   " bytes " + std::to_string(task.bytes) + " mnk " + std::to_string(task.m) + "," +
                   std::to_string(task.n) + "," + std::to_string(task.k) + " threads " +
                   std::to_string(task.threads));
    return 0;
  });
  const cudaStream_t stream = new_stream(1);
  void* near = nullptr;
  void* far = nullptr;
  ASSERT_EQ(cudaMalloc(&near, 4096), cudaSuccess);
  use(0);
  ASSERT_EQ(cudaMalloc(&far, 4096), cudaSuccess);
  use(1);
  float* const pinned = new_pinned<float>(4);
  launch_fill(static_cast<float*>(near), 1, 300, stream);
  ASSERT_EQ(cudaMemcpyAsync(near, far, 64, cudaMemcpyDefault, stream), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(pinned, near, 16, cudaMemcpyDefault, stream), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(near, 0, 32, stream), cudaSuccess);
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasSetStream(handle, stream), CUBLAS_STATUS_SUCCESS);
  const float one = 1;
  auto* const a = static_cast<float*>(near);
  ASSERT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 3, 4, &one, a, 2, a, 4, &one, a, 2),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_THAT(seen, testing::ElementsAre(
                        "_Z4fillPffi device 1 from -1 to -1 bytes 0 mnk 0,0,0 threads 512",
                        "cudaMemcpyAsync device 1 from 0 to 1 bytes 64 mnk 0,0,0 threads 0",
                        "cudaMemcpyAsync device 1 from 1 to -1 bytes 16 mnk 0,0,0 threads 0",
                        "cudaMemsetAsync device 1 from -1 to -1 bytes 32 mnk 0,0,0 threads 0",
                        "cublasSgemm device 1 from -1 to -1 bytes 0 mnk 2,3,4 threads 0"));
}

// A small training step on four devices, with everything in it; the machine's load must not show in
// the times.
std::string timeline(const std::vector<cudaStream_t>& compute,
                     const std::vector<ncclComm_t>& comms) {
  const auto ranks = static_cast<int>(comms.size());
  std::vector<cudaEvent_t> events;
  std::vector<float*> data(comms.size());
  for (int rank = 0; rank < ranks; ++rank) {
    cudaSetDevice(rank);
    cudaMalloc(reinterpret_cast<void**>(&data[static_cast<std::size_t>(rank)]), 4096);
  }
  for (int step = 0; step < 5; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      cudaSetDevice(rank);
      for (int i = 0; i <= (rank + step) % ranks; ++i) {
        launch_fill(data[index], 1, 1024, compute[index]);
      }
    }
    ncclGroupStart();
    for (std::size_t rank = 0; rank < comms.size(); ++rank) {
      ncclAllReduce(data[rank], data[rank], 1024, ncclFloat32, ncclSum, comms[rank], compute[rank]);
    }
    ncclGroupEnd();
    for (int rank = 0; rank < ranks; ++rank) {
      cudaSetDevice(rank);
      events.emplace_back();
      cudaEventCreate(&events.back());
      cudaEventRecord(events.back(), compute[static_cast<std::size_t>(rank)]);
    }
    cudaStreamSynchronize(compute[static_cast<std::size_t>(step) % comms.size()]);
  }
  for (const cudaStream_t stream : compute) {
    cudaStreamSynchronize(stream);
  }
  std::string text;
  for (const cudaEvent_t event : events) {
    text += std::to_string(substitute::event_time(event)) + " ";
  }
  return text;
}

TEST_F(Clock, IsTheSameInEveryRun) {
  start(4);
  substitute::use_virtual_clock(true);
  // Of step s the slowest rank launches 4 fills of 1000, then all take 7000000 together.
  std::string expected;
  for (int step = 1; step <= 5; ++step) {
    for (int rank = 0; rank < 4; ++rank) {
      expected += std::to_string(step * 7004000) + " ";
    }
  }
  for (int run = 0; run < 20; ++run) {
    substitute::use_virtual_clock(true);
    ASSERT_EQ(timeline(streams_, comms_), expected);
  }
}

TEST_F(Clock, HasTheCostsOfTheReadmeWhenNoneAreGiven) {
  substitute::set_cost(nullptr);
  const cudaStream_t stream = new_stream();
  float* const array = new_array<float>(0, 1024);
  substitute::use_virtual_clock(true);
  launch_fill(array, 1, 1024, stream);
  ASSERT_EQ(cudaMemsetAsync(array, 0, 4096, stream), cudaSuccess);
  EXPECT_EQ(now(stream), 2'001'024 + 1'409'600);
}

}  // namespace
