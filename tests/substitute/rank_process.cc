// rank_process SCENARIO ID RANKS RANK: one rank of a communicator in a process of its own;
// processes_test.cc starts them. Says what went wrong and ends with 1, or with 0.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/substitute/sample_bodies.h"

namespace {

struct Rank {
  ncclUniqueId id{};
  int ranks = 0;
  int rank = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
};

void require(bool is_true, const char* what) {
  if (!is_true) {
    std::fprintf(stderr, "not true: %s (NCCL says: %s)\n", what, ncclGetLastError(nullptr));
    std::exit(1);
  }
}

void join(Rank& self) {
  const ncclResult_t result = ncclCommInitRank(&self.comm, self.ranks, self.id, self.rank);
  require(result == ncclSuccess, "ncclCommInitRank succeeds");
}

int* new_ints(const std::vector<int>& values) {
  void* pointer = nullptr;
  const std::size_t bytes = values.size() * sizeof(int);
  require(cudaMalloc(&pointer, bytes) == cudaSuccess, "cudaMalloc");
  require(cudaMemcpy(pointer, values.data(), bytes, cudaMemcpyDefault) == cudaSuccess,
          "cudaMemcpy");
  return static_cast<int*>(pointer);
}

std::vector<int> ints_of(const int* from, std::size_t count, cudaStream_t stream) {
  std::vector<int> values(count);
  const std::size_t bytes = count * sizeof(int);
  require(cudaMemcpyAsync(values.data(), from, bytes, cudaMemcpyDefault, stream) == cudaSuccess,
          "copy");
  return values;
}

ncclResult_t wait_for_error(ncclComm_t comm) {
  ncclResult_t error = ncclSuccess;
  for (int look = 0; look < 1000 && error == ncclSuccess; ++look) {
    require(ncclCommGetAsyncError(comm, &error) == ncclSuccess, "ncclCommGetAsyncError");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return error;
}

// More than one step of the slots and more than one mailbox.
void sums(Rank& self) {
  constexpr std::size_t kCount = 100'000;
  join(self);
  for (int round = 0; round < 3; ++round) {
    int* const data = new_ints(std::vector<int>(kCount, 1 << self.rank));
    require(ncclAllReduce(data, data, kCount, ncclInt32, ncclSum, self.comm, self.stream) ==
                ncclSuccess,
            "all-reduce");
    const int expected = (1 << self.ranks) - 1;
    require(ints_of(data, kCount, self.stream) == std::vector<int>(kCount, expected),
            "everybody has the sum");
    int* const next = new_ints(std::vector<int>(kCount, -1));
    int* const own = new_ints(std::vector<int>(kCount, self.rank));
    require(ncclGroupStart() == ncclSuccess, "ncclGroupStart");
    const int after = (self.rank + 1) % self.ranks;
    const int before = (self.rank + self.ranks - 1) % self.ranks;
    require(ncclSend(own, kCount, ncclInt32, after, self.comm, self.stream) == ncclSuccess, "send");
    require(ncclRecv(next, kCount, ncclInt32, before, self.comm, self.stream) == ncclSuccess,
            "receive");
    require(ncclGroupEnd() == ncclSuccess, "ncclGroupEnd");
    require(ints_of(next, kCount, self.stream) == std::vector<int>(kCount, before),
            "the neighbour's came");
    cudaFree(data);
    cudaFree(next);
    cudaFree(own);
  }
  require(ncclCommDestroy(self.comm) == ncclSuccess, "ncclCommDestroy");
}

void halves(Rank& self) {
  join(self);
  ncclComm_t half = nullptr;
  require(ncclCommSplit(self.comm, self.rank % 2, 0, &half, nullptr) == ncclSuccess,
          "ncclCommSplit");
  int* const data = new_ints({1 << self.rank});
  require(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, half, self.stream) == ncclSuccess,
          "all-reduce");
  int expected = 0;
  for (int rank = self.rank % 2; rank < self.ranks; rank += 2) {
    expected += 1 << rank;
  }
  require(ints_of(data, 1, self.stream)[0] == expected, "the sum of the half");
  cudaFree(data);
  require(ncclCommDestroy(half) == ncclSuccess && ncclCommDestroy(self.comm) == ncclSuccess,
          "ncclCommDestroy");
}

// Rank r is ready at 1000·r; the collective costs 5000: all end at 1000·(ranks - 1) + 5000, bit for
// bit.
void times(Rank& self) {
  join(self);
  substitute::use_virtual_clock(true);
  substitute::set_cost([](const substitute::Task& task) -> substitute::Picoseconds {
    return task.kind == substitute::TaskKind::kCollective ? 5000 : 0;
  });
  int* const data = new_ints({1});
  substitute::begin_charge(self.stream, 1000L * self.rank);
  substitute::end_charge(self.stream);
  require(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, self.comm, self.stream) == ncclSuccess,
          "all-reduce");
  require(cudaStreamSynchronize(self.stream) == cudaSuccess, "cudaStreamSynchronize");
  require(substitute::stream_time(self.stream) == 1000L * (self.ranks - 1) + 5000,
          "all end together");
  cudaFree(data);
  require(ncclCommDestroy(self.comm) == ncclSuccess, "ncclCommDestroy");
}

void disagreement(Rank& self) {
  join(self);
  int* const data = new_ints({1, 1});
  const std::size_t count = self.rank == 0 ? 2 : 1;
  require(
      ncclAllReduce(data, data, count, ncclInt32, ncclSum, self.comm, self.stream) == ncclSuccess,
      "all-reduce");
  require(wait_for_error(self.comm) == ncclInvalidUsage, "everybody is told");
  require(ncclCommAbort(self.comm) == ncclSuccess, "ncclCommAbort");
  require(cudaStreamSynchronize(self.stream) == cudaSuccess, "abort frees the stream");
  cudaFree(data);
}

// The last rank is killed while the others wait for it.
void death(Rank& self) {
  join(self);
  if (self.rank == self.ranks - 1) {
    raise(SIGKILL);
  }
  int* const data = new_ints({1});
  require(ncclAllReduce(data, data, 1, ncclInt32, ncclSum, self.comm, self.stream) == ncclSuccess,
          "all-reduce");
  require(wait_for_error(self.comm) == ncclRemoteError, "the others are told");
  require(std::strstr(ncclGetLastError(self.comm), "died") != nullptr, "and why");
  require(ncclCommAbort(self.comm) == ncclSuccess, "ncclCommAbort");
  require(cudaStreamSynchronize(self.stream) == cudaSuccess, "abort frees the stream");
  cudaFree(data);
}

void same_device(Rank& self) {
  require(cudaSetDevice(0) == cudaSuccess, "cudaSetDevice");
  const ncclResult_t result = ncclCommInitRank(&self.comm, self.ranks, self.id, self.rank);
  require(result == ncclInvalidUsage, "one device cannot be two ranks");
  require(std::strstr(ncclGetLastError(nullptr), "have the same device") != nullptr, "and why");
}

// Waits for ranks that never come, until it is killed.
void abandoned(Rank& self) { join(self); }

using Scenario = void (*)(Rank&);

const std::map<std::string, Scenario>& scenarios() {
  static const std::map<std::string, Scenario> all = {
      {"sums", sums},          {"halves", halves},
      {"times", times},        {"disagreement", disagreement},
      {"death", death},        {"same_device", same_device},
      {"abandoned", abandoned}};
  return all;
}

}  // namespace

int main(int count, char** arguments) {
  require(count == 5, "called as rank_process SCENARIO ID RANKS RANK");
  Rank self;
  std::snprintf(static_cast<char*>(self.id.internal), sizeof self.id.internal, "%s", arguments[2]);
  self.ranks = std::atoi(arguments[3]);
  self.rank = std::atoi(arguments[4]);
  substitute::set_device_count(self.ranks);
  require(cudaSetDevice(self.rank) == cudaSuccess, "cudaSetDevice");
  require(cudaStreamCreateWithFlags(&self.stream, cudaStreamNonBlocking) == cudaSuccess, "stream");
  scenarios().at(arguments[1])(self);
  cudaStreamDestroy(self.stream);
  require(substitute::leaks().empty(), "nothing is left");
  return 0;
}
