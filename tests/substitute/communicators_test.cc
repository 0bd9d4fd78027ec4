#include <chrono>
#include <filesystem>
#include <thread>

#include <unistd.h>

#include "tests/substitute/nccl_fixture.h"

namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Communicators : public NcclTest {
 protected:
  // All devices' ranks by ncclCommInitRank in one group.
  void start_by_rank(int ranks) {
    substitute::set_device_count(ranks);
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    comms_.resize(static_cast<std::size_t>(ranks));
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < ranks; ++rank) {
      streams_.push_back(new_stream(rank));
      ASSERT_EQ(ncclCommInitRank(&comms_[static_cast<std::size_t>(rank)], ranks, id, rank),
                ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  }

  // The sum over the communicator's ranks of one number each.
  static void all_reduce(ncclComm_t comm, int* data, cudaStream_t stream) {
    EXPECT_EQ(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, stream), ncclSuccess);
  }
};

TEST_F(Communicators, KnowTheirRankSizeAndDevice) {
  start_by_rank(3);
  for (int rank = 0; rank < 3; ++rank) {
    int count = 0;
    int own = -1;
    int device = -1;
    EXPECT_EQ(ncclCommCount(comm(rank), &count), ncclSuccess);
    EXPECT_EQ(ncclCommUserRank(comm(rank), &own), ncclSuccess);
    EXPECT_EQ(ncclCommCuDevice(comm(rank), &device), ncclSuccess);
    EXPECT_EQ(count, 3);
    EXPECT_EQ(own, rank);
    EXPECT_EQ(device, rank);
    EXPECT_EQ(async_error(comm(rank)), ncclSuccess);
  }
  int version = 0;
  EXPECT_EQ(ncclGetVersion(&version), ncclSuccess);
  EXPECT_EQ(version, NCCL_VERSION_CODE);
}

TEST_F(Communicators, OfListedDevicesHaveThatOrder) {
  substitute::set_device_count(3);
  const int devices[] = {2, 0};
  ncclComm_t comms[2];
  ASSERT_EQ(ncclCommInitAll(comms, 2, devices), ncclSuccess);
  int device = -1;
  EXPECT_EQ(ncclCommCuDevice(comms[0], &device), ncclSuccess);
  EXPECT_EQ(device, 2);
  const int twice[] = {1, 1};
  EXPECT_EQ(ncclCommInitAll(comms, 2, twice), ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("ranks 0 and 1 have the same device"));
  EXPECT_EQ(comms[0], nullptr);
  const int missing[] = {0, 3};
  EXPECT_EQ(ncclCommInitAll(comms, 2, missing), ncclUnhandledCudaError);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << "the failed one has left no group open";
}

// Each in its thread, as programs with one thread per device do.
TEST_F(Communicators, AreCreatedAndUsedByThreads) {
  substitute::set_device_count(4);
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  int results[4] = {};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&, rank] {
      ncclComm_t comm = nullptr;
      const cudaStream_t stream = new_stream(rank);
      ASSERT_EQ(ncclCommInitRank(&comm, 4, id, rank), ncclSuccess);
      int* const data = new_array<int>(rank, std::vector<int>{rank + 1});
      for (int i = 0; i < 10; ++i) {
        all_reduce(comm, data, stream);
      }
      results[rank] = values_of(data, 1, stream)[0];
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const int result : results) {
    EXPECT_EQ(result, 10 * 262144);  // 1 + 2 + 3 + 4, then times 4 nine times
  }
}

TEST_F(Communicators, LeaveNoSharedMemoryBehind) {
  start_by_rank(2);
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string prefix = "twinrun-nccl-" + std::to_string(getpid()) + "-";
    EXPECT_FALSE(entry.path().filename().string().starts_with(prefix)) << entry.path();
  }
}

TEST_F(Communicators, SayWhichRanksDidNotCome) {
  substitute::set_nccl_init_timeout_seconds(0.1);
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 3, id, 1), ncclSystemError);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("these ranks did not come: 0, 2"));
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("ncclGroupStart"));
  EXPECT_EQ(comm, nullptr);
  EXPECT_THAT(substitute::leaks(), IsEmpty());
}

TEST_F(Communicators, RefuseRanksAndIdsThatCannotBe) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument);
  ncclUniqueId nothing{};
  EXPECT_EQ(ncclCommInitRank(&comm, 1, nothing, 0), ncclInvalidArgument);
  ncclConfig_t bare{};
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &bare), ncclInvalidArgument);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclSuccess);
  int count = 0;
  EXPECT_EQ(ncclCommCount(nullptr, &count), ncclInvalidArgument);
}

// Two, three and nobody: colours 0 and 1 in the reverse order of their keys, rank 5 without.
TEST_F(Communicators, AreSplitByColourAndOrderedByKey) {
  start(6);
  ncclComm_t parts[6];
  for (int round = 0; round < 3; ++round) {
    group([&](int rank) {
      const int color = rank == 5 ? NCCL_SPLIT_NOCOLOR : rank % 2;
      return ncclCommSplit(comm(rank), color, -rank, &parts[rank], nullptr);
    });
    EXPECT_EQ(parts[5], nullptr);
    const int expected_rank[] = {2, 1, 1, 0, 0};
    int* data[5];
    for (int rank = 0; rank < 5; ++rank) {
      int own = -1;
      int count = -1;
      EXPECT_EQ(ncclCommUserRank(parts[rank], &own), ncclSuccess);
      EXPECT_EQ(ncclCommCount(parts[rank], &count), ncclSuccess);
      EXPECT_EQ(own, expected_rank[rank]);
      EXPECT_EQ(count, rank % 2 == 0 ? 3 : 2);
      data[rank] = new_array<int>(rank, std::vector<int>{1 << rank});
    }
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < 5; ++rank) {
      all_reduce(parts[rank], data[rank], stream(rank));
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    for (int rank = 0; rank < 5; ++rank) {
      EXPECT_EQ(values_of(data[rank], 1, stream(rank))[0], rank % 2 == 0 ? 1 + 4 + 16 : 2 + 8);
      EXPECT_EQ(ncclCommDestroy(parts[rank]), ncclSuccess);
    }
  }
}

TEST_F(Communicators, ThatDoNotBlockAreReadyLater) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comms[2];
  use(0);
  EXPECT_EQ(ncclCommInitRankConfig(&comms[0], 2, id, 0, &config), ncclInProgress);
  EXPECT_EQ(async_error(comms[0]), ncclInProgress);
  int count = 0;
  EXPECT_EQ(ncclCommCount(comms[0], &count), ncclInvalidArgument) << "not ready";
  use(1);
  EXPECT_EQ(ncclCommInitRankConfig(&comms[1], 2, id, 1, &config), ncclInProgress);
  for (const ncclComm_t comm : comms) {
    while (async_error(comm) == ncclInProgress) {
      std::this_thread::yield();
    }
    EXPECT_EQ(async_error(comm), ncclSuccess);
    EXPECT_EQ(ncclCommCount(comm, &count), ncclSuccess);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }
}

TEST_F(Communicators, ThatWaitForRanksCanBeAborted) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  EXPECT_THAT(substitute::leaks(), IsEmpty());
}

// ---- what a real NCCL answers with silence ----

class Disagreements : public NcclTest {
 protected:
  void SetUp() override {
    NcclTest::SetUp();
    start(2);
    for (int rank = 0; rank < 2; ++rank) {
      data_[rank] = new_array<float>(rank, std::vector<float>(64, 1));
    }
  }

  // The two ranks' calls differ: both must be told, nobody goes on, and abort frees both.
  void expect_error(const std::function<ncclResult_t(int rank)>& call) {
    group(call);
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(wait_for_async_error(comm(rank)), ncclInvalidUsage);
      EXPECT_THAT(ncclGetLastError(comm(rank)), HasSubstr("disagree"));
    }
    EXPECT_TRUE(stays_pending(stream(0)) && stays_pending(stream(1)));
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(ncclCommAbort(comm(rank)), ncclSuccess);
    }
    EXPECT_TRUE(finishes(stream(0)) && finishes(stream(1)));
  }

  [[nodiscard]] float* data(int rank) const { return data_[rank]; }

 private:
  float* data_[2] = {};
};

TEST_F(Disagreements, OnTheCount) {
  expect_error([&](int rank) {
    const std::size_t count = rank == 0 ? 64 : 63;
    return ncclAllReduce(data(rank), data(rank), count, ncclFloat32, ncclSum, comm(rank),
                         stream(rank));
  });
}

TEST_F(Disagreements, OnTheType) {
  expect_error([&](int rank) {
    const ncclDataType_t type = rank == 0 ? ncclFloat32 : ncclInt32;
    return ncclAllReduce(data(rank), data(rank), 64, type, ncclSum, comm(rank), stream(rank));
  });
}

TEST_F(Disagreements, OnTheOperation) {
  expect_error([&](int rank) {
    const ncclRedOp_t operation = rank == 0 ? ncclSum : ncclMax;
    return ncclAllReduce(data(rank), data(rank), 64, ncclFloat32, operation, comm(rank),
                         stream(rank));
  });
}

TEST_F(Disagreements, OnTheRoot) {
  expect_error([&](int rank) {
    return ncclBroadcast(data(rank), data(rank), 64, ncclFloat32, rank, comm(rank), stream(rank));
  });
}

TEST_F(Disagreements, OnTheKind) {
  expect_error([&](int rank) {
    return rank == 0
               ? ncclBroadcast(data(rank), data(rank), 64, ncclFloat32, 0, comm(rank), stream(rank))
               : ncclAllReduce(data(rank), data(rank), 64, ncclFloat32, ncclSum, comm(rank),
                               stream(rank));
  });
}

TEST_F(Disagreements, OnTheSizeOfAMessage) {
  expect_error([&](int rank) {
    return rank == 0 ? ncclSend(data(0), 64, ncclFloat32, 1, comm(0), stream(0))
                     : ncclRecv(data(1), 32, ncclFloat32, 0, comm(1), stream(1));
  });
}

// ---- ranks that never come, and abort ----

class Aborts : public Disagreements {};

TEST_F(Aborts, FreeEverybodyAtOnce) {
  std::thread other([&] {
    cudaSetDevice(0);
    EXPECT_EQ(ncclAllReduce(data(0), data(0), 64, ncclFloat32, ncclSum, comm(0), stream(0)),
              ncclSuccess);
  });
  other.join();
  EXPECT_TRUE(stays_pending(stream(0))) << "rank 1 has not come";
  EXPECT_EQ(async_error(comm(0)), ncclSuccess) << "which is no error yet";
  EXPECT_EQ(ncclCommAbort(comm(1)), ncclSuccess);
  EXPECT_TRUE(finishes(stream(0)));
  EXPECT_EQ(async_error(comm(0)), ncclRemoteError);
  EXPECT_THAT(ncclGetLastError(comm(0)), HasSubstr("another rank aborted"));
  EXPECT_EQ(ncclCommDestroy(comm(0)), ncclSuccess);
}

TEST_F(Aborts, CanBeLocalAsTheRealOnes) {
  substitute::set_nccl_abort_is_local(true);
  EXPECT_EQ(ncclAllReduce(data(0), data(0), 64, ncclFloat32, ncclSum, comm(0), stream(0)),
            ncclSuccess);
  EXPECT_EQ(ncclCommAbort(comm(1)), ncclSuccess);
  EXPECT_TRUE(stays_pending(stream(0)));
  EXPECT_EQ(ncclCommAbort(comm(0)), ncclSuccess);
  EXPECT_TRUE(finishes(stream(0)));
}

TEST_F(Aborts, FreeMessagesToo) {
  EXPECT_EQ(ncclRecv(data(0), 64, ncclFloat32, 1, comm(0), stream(0)), ncclSuccess);
  EXPECT_TRUE(stays_pending(stream(0)));
  EXPECT_EQ(ncclCommAbort(comm(0)), ncclSuccess);
  EXPECT_TRUE(finishes(stream(0)));
}

TEST_F(Aborts, FreeWhatATestCutOff) {
  substitute::fail_communicator(comm(0), ncclRemoteError);
  EXPECT_EQ(async_error(comm(0)), ncclRemoteError);
  EXPECT_EQ(async_error(comm(1)), ncclSuccess) << "the others do not know";
  group([&](int rank) {
    return ncclAllReduce(data(rank), data(rank), 64, ncclFloat32, ncclSum, comm(rank),
                         stream(rank));
  });
  EXPECT_TRUE(stays_pending(stream(0)) && stays_pending(stream(1)));
  EXPECT_EQ(ncclCommAbort(comm(0)), ncclSuccess);
  EXPECT_TRUE(finishes(stream(0)) && finishes(stream(1)));
}

TEST_F(Aborts, LeaveNothingToUse) {
  EXPECT_EQ(ncclCommAbort(comm(0)), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(data(0), data(0), 1, ncclFloat32, ncclSum, comm(0), stream(0)),
            ncclInvalidArgument);
  EXPECT_EQ(ncclCommAbort(comm(0)), ncclInvalidArgument);
}

// ---- groups ----

class Groups : public Disagreements {};

TEST_F(Groups, AreDoneWhenTheOutermostEnds) {
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclAllReduce(data(0), data(0), 64, ncclFloat32, ncclSum, comm(0), stream(0)),
            ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(cudaStreamQuery(stream(0)), cudaSuccess) << "nothing was enqueued yet";
  ASSERT_EQ(ncclAllReduce(data(1), data(1), 64, ncclFloat32, ncclSum, comm(1), stream(1)),
            ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(values_of(data(1), 64, stream(1)), std::vector<float>(64, 2));
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

TEST_F(Groups, WithABadCallDoNothing) {
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclAllReduce(data(0), data(0), 64, ncclFloat32, ncclSum, comm(0), stream(0)),
            ncclSuccess);
  EXPECT_EQ(ncclBroadcast(data(1), data(1), 64, ncclFloat32, 2, comm(1), stream(1)),
            ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_EQ(cudaStreamQuery(stream(0)), cudaSuccess);
}

TEST_F(Groups, AreNeededWhereOneThreadHasSeveralRanks) {
  ASSERT_EQ(ncclAllReduce(data(0), data(0), 64, ncclFloat32, ncclSum, comm(0), stream(0)),
            ncclSuccess);
  EXPECT_EQ(ncclAllReduce(data(1), data(1), 64, ncclFloat32, ncclSum, comm(1), stream(1)),
            ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(nullptr),
              HasSubstr("one thread works for ranks 0 and 1 without ncclGroupStart; on GPUs the "
                        "first call can wait for "
                        "the second for ever"));
}

TEST_F(Groups, CanBeSimulated) {
  std::vector<std::string> seen;
  substitute::set_nccl_estimate([&](const std::vector<substitute::Task>& tasks) {
    for (const substitute::Task& task : tasks) {
      seen.push_back(std::string(task.name) + " " + std::to_string(task.bytes) + " " +
                     std::to_string(task.ranks));
    }
    return 12.5F;
  });
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclAllReduce(data(0), data(0), 64, ncclFloat32, ncclSum, comm(0), stream(0)),
            ncclSuccess);
  ASSERT_EQ(ncclAllGather(data(0), data(0), 8, ncclFloat32, comm(0), stream(0)), ncclSuccess);
  ASSERT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess);
  EXPECT_EQ(info.estimatedTime, 12.5F);
  EXPECT_THAT(seen, testing::ElementsAre("ncclAllReduce 256 2", "ncclAllGather 64 2"));
  EXPECT_EQ(cudaStreamQuery(stream(0)), cudaSuccess) << "nothing was enqueued";
  ncclSimInfo_t bare{};
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclGroupSimulateEnd(&bare), ncclInvalidArgument);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
}

// The second of two collectives is on another stream of each device, and reaches it first: it must
// wait.
TEST_F(Groups, OfOneCommunicatorKeepTheirOrder) {
  const cudaStream_t others[] = {new_stream(0), new_stream(1)};
  substitute::stall(stream(0));
  substitute::stall(stream(1));
  group([&](int rank) {
    return ncclAllReduce(data(rank), data(rank), 32, ncclFloat32, ncclSum, comm(rank),
                         stream(rank));
  });
  group([&](int rank) {
    float* const rest = data(rank) + 32;
    return ncclAllReduce(rest, rest, 32, ncclFloat32, ncclSum, comm(rank), others[rank]);
  });
  EXPECT_TRUE(stays_pending(others[0]));
  substitute::resume(stream(0));
  substitute::resume(stream(1));
  EXPECT_EQ(values_of(data(0) + 32, 32, others[0]), std::vector<float>(32, 2));
  EXPECT_EQ(values_of(data(1), 32, stream(1)), std::vector<float>(32, 2));
}

TEST_F(Groups, RefuseStreamsOfAnotherDevice) {
  EXPECT_EQ(ncclAllReduce(data(0), data(0), 64, ncclFloat32, ncclSum, comm(0), stream(1)),
            ncclInvalidUsage);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("not of the communicator's device"));
}

}  // namespace
