// races CASE [forget]: streams share data, with everything CUDA needs for their order, or with one
// piece forgotten. Built with ThreadSanitizer, which must be silent in the first case and report a
// race in the second, although the pauses make the numbers come out right in both.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "tests/substitute/sample_bodies.h"

namespace {

constexpr int kCount = 1000;
constexpr std::size_t kBytes = kCount * sizeof(float);

void check(int status, const char* what) {
  if (status != 0) {
    std::fprintf(stderr, "%s returned %d\n", what, status);
    std::exit(2);
  }
}

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

// Two devices with a buffer, a stream for computing and one for communication each, and pinned
// memory of the host.
struct Bench {
  Bench() {
    add_sample_bodies();
    for (int device = 0; device < 2; ++device) {
      check(cudaSetDevice(device), "cudaSetDevice");
      check(cudaStreamCreateWithFlags(&compute[device], cudaStreamNonBlocking), "compute");
      check(cudaStreamCreateWithFlags(&other[device], cudaStreamNonBlocking), "other");
      check(cudaEventCreateWithFlags(&event[device], cudaEventDisableTiming), "event");
      check(cudaMalloc(reinterpret_cast<void**>(&data[device]), kBytes), "data");
      check(cudaMalloc(reinterpret_cast<void**>(&more[device]), kBytes), "more");
      launch_fill(more[device], 1, kCount, compute[device]);
      check(cudaStreamSynchronize(compute[device]), "cudaStreamSynchronize");
    }
    check(cudaSetDevice(0), "cudaSetDevice");
    check(cudaMallocHost(reinterpret_cast<void**>(&host), kBytes), "host");
    check(ncclCommInitAll(comms, 2, nullptr), "ncclCommInitAll");
  }

  // `to` goes on after what `from` has now; unless it is forgotten.
  void order(cudaStream_t from, cudaStream_t to, bool forgets) {
    pause();
    if (!forgets) {
      check(cudaEventRecord(event[0], from), "cudaEventRecord");
      check(cudaStreamWaitEvent(to, event[0], 0), "cudaStreamWaitEvent");
    }
  }

  void fill(int device, float* to, float value, cudaStream_t stream) {
    check(cudaSetDevice(device), "cudaSetDevice");
    launch_fill(to, value, kCount, stream);
    check(cudaSetDevice(0), "cudaSetDevice");
  }

  // What the first buffer holds, read after everything is over.
  float first_value(const float* from) {
    for (int device = 0; device < 2; ++device) {
      check(cudaStreamSynchronize(compute[device]), "cudaStreamSynchronize");
      check(cudaStreamSynchronize(other[device]), "cudaStreamSynchronize");
    }
    check(cudaMemcpy(host, from, kBytes, cudaMemcpyDefault), "cudaMemcpy");
    return host[kCount - 1];
  }

  cudaStream_t compute[2] = {};
  cudaStream_t other[2] = {};
  cudaEvent_t event[2] = {};
  float* data[2] = {};
  float* more[2] = {};
  float* host = nullptr;
  ncclComm_t comms[2] = {};
};

float kernels(Bench& bench, bool forgets) {
  launch_fill(bench.data[0], 2, kCount, bench.compute[0]);
  bench.order(bench.compute[0], bench.other[0], forgets);
  launch_add(bench.data[0], bench.more[0], kCount, bench.other[0]);
  return bench.first_value(bench.data[0]);
}

float copies(Bench& bench, bool forgets) {
  launch_fill(bench.data[0], 3, kCount, bench.compute[0]);
  bench.order(bench.compute[0], bench.other[0], forgets);
  check(cudaMemcpyAsync(bench.more[0], bench.data[0], kBytes, cudaMemcpyDefault, bench.other[0]),
        "copy");
  return bench.first_value(bench.more[0]);
}

float peer_copies(Bench& bench, bool forgets) {
  launch_fill(bench.data[0], 3, kCount, bench.compute[0]);
  bench.order(bench.compute[0], bench.other[1], forgets);
  check(cudaMemcpyPeerAsync(bench.data[1], 1, bench.data[0], 0, kBytes, bench.other[1]),
        "peer copy");
  return bench.first_value(bench.data[1]);
}

float fills(Bench& bench, bool forgets) {
  launch_fill(bench.data[0], 3, kCount, bench.compute[0]);
  bench.order(bench.compute[0], bench.other[0], forgets);
  check(cudaMemsetAsync(bench.data[0], 0, kBytes, bench.other[0]), "cudaMemsetAsync");
  return bench.first_value(bench.data[0]) + 3;
}

float products(Bench& bench, bool forgets) {
  cublasHandle_t handle = nullptr;
  check(cublasCreate(&handle), "cublasCreate");
  check(cublasSetStream(handle, bench.other[0]), "cublasSetStream");
  launch_fill(bench.data[0], 3, kCount, bench.compute[0]);
  bench.order(bench.compute[0], bench.other[0], forgets);
  const float one = 1;
  const float zero = 0;
  const int size = kCount / 10;  // 100 x 10 times 10 x 1: sums of 10
  check(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, size, 1, 10, &one, bench.data[0], size,
                    bench.more[0], 10, &zero, bench.more[0] + 100, size),
        "cublasSgemm");
  check(cudaStreamSynchronize(bench.other[0]), "cudaStreamSynchronize");
  const float sum = bench.first_value(bench.more[0]);
  check(cublasDestroy(handle), "cublasDestroy");
  return sum - 1 + bench.host[150];
}

void all_reduce(Bench& bench) {
  check(ncclGroupStart(), "ncclGroupStart");
  for (int rank = 0; rank < 2; ++rank) {
    check(ncclAllReduce(bench.data[rank], bench.data[rank], kCount, ncclFloat32, ncclSum,
                        bench.comms[rank], bench.other[rank]),
          "ncclAllReduce");
  }
  check(ncclGroupEnd(), "ncclGroupEnd");
}

float before_collective(Bench& bench, bool forgets) {
  bench.fill(0, bench.data[0], 3, bench.compute[0]);
  bench.fill(1, bench.data[1], 4, bench.other[1]);
  bench.order(bench.compute[0], bench.other[0], forgets);
  all_reduce(bench);
  return bench.first_value(bench.data[1]);
}

float after_collective(Bench& bench, bool forgets) {
  bench.fill(0, bench.data[0], 3, bench.other[0]);
  bench.fill(1, bench.data[1], 4, bench.other[1]);
  all_reduce(bench);
  bench.order(bench.other[0], bench.compute[0], forgets);
  launch_add(bench.data[0], bench.more[0], kCount, bench.compute[0]);
  return bench.first_value(bench.data[0]);
}

// Rank 0's buffer is read by rank 1's copy of the data: the edge goes through the collective
// itself.
float through_collective(Bench& bench, bool forgets) {
  check(cudaDeviceEnablePeerAccess(1, 0), "peer access");
  bench.fill(0, bench.data[0], 3, bench.other[0]);
  bench.fill(1, bench.data[1], 4, bench.other[1]);
  bench.fill(1, bench.more[1], 5, bench.other[1]);
  all_reduce(bench);
  if (forgets) {
    bench.fill(1, bench.more[1], 5,
               bench.other[1]);  // after the collective: nothing orders it with device 0
    pause();
  }
  launch_add(bench.data[0], bench.more[1], kCount, bench.other[0]);
  return bench.first_value(bench.data[0]);
}

float messages(Bench& bench, bool forgets) {
  bench.fill(0, bench.data[0], 6, bench.other[0]);
  check(ncclGroupStart(), "ncclGroupStart");
  check(ncclSend(bench.data[0], kCount, ncclFloat32, 1, bench.comms[0], bench.other[0]),
        "ncclSend");
  check(ncclRecv(bench.data[1], kCount, ncclFloat32, 0, bench.comms[1], bench.other[1]),
        "ncclRecv");
  check(ncclGroupEnd(), "ncclGroupEnd");
  bench.order(bench.other[0], bench.compute[0], forgets);
  launch_fill(bench.data[0], 0, kCount, bench.compute[0]);  // overwrites what was sent
  return bench.first_value(bench.data[1]);
}

float host_reads(Bench& bench, bool forgets) {
  launch_fill(bench.data[0], 7, kCount, bench.compute[0]);
  check(
      cudaMemcpyAsync(bench.host, bench.data[0], kBytes, cudaMemcpyDeviceToHost, bench.compute[0]),
      "copy");
  pause();
  if (!forgets) {
    check(cudaStreamSynchronize(bench.compute[0]), "cudaStreamSynchronize");
  }
  return bench.host[0];
}

float host_polls(Bench& bench, bool forgets) {
  launch_fill(bench.data[0], 7, kCount, bench.compute[0]);
  check(
      cudaMemcpyAsync(bench.host, bench.data[0], kBytes, cudaMemcpyDeviceToHost, bench.compute[0]),
      "copy");
  check(cudaEventRecord(bench.event[0], bench.compute[0]), "cudaEventRecord");
  pause();
  if (!forgets) {
    check(cudaEventQuery(bench.event[0]), "cudaEventQuery");
  }
  return bench.host[0];
}

float host_writes(Bench& bench, bool forgets) {
  bench.host[0] = 8;
  check(
      cudaMemcpyAsync(bench.data[0], bench.host, kBytes, cudaMemcpyHostToDevice, bench.compute[0]),
      "copy");
  pause();
  if (!forgets) {
    check(cudaStreamSynchronize(bench.compute[0]), "cudaStreamSynchronize");
  }
  bench.host[0] = 9;
  bench.first_value(bench.data[0]);
  return bench.host[0];
}

// cudaStreamDestroy does not wait.
float destroyed_streams(Bench& bench, bool forgets) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  launch_fill(bench.data[0], 7, kCount, stream);
  check(cudaMemcpyAsync(bench.host, bench.data[0], kBytes, cudaMemcpyDeviceToHost, stream), "copy");
  if (!forgets) {
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  pause();
  return bench.host[0];
}

float host_functions(Bench& bench, bool forgets) {
  static float seen = 0;
  launch_fill(bench.data[0], 7, kCount, bench.compute[0]);
  check(
      cudaMemcpyAsync(bench.host, bench.data[0], kBytes, cudaMemcpyDeviceToHost, bench.compute[0]),
      "copy");
  bench.order(bench.compute[0], bench.other[0], forgets);
  check(cudaLaunchHostFunc(
            bench.other[0], [](void* from) { seen = *static_cast<float*>(from); }, bench.host),
        "cudaLaunchHostFunc");
  check(cudaStreamSynchronize(bench.other[0]), "cudaStreamSynchronize");
  return seen;
}

// Host threads that both work for one stream: no edge between them, but the stream's order.
float two_threads(Bench& bench, bool forgets) {
  const auto work = [&bench](cudaStream_t stream, float value) {
    launch_fill(bench.data[0], value, kCount, stream);
  };
  std::thread first(work, bench.compute[0], 1.0F);
  pause();
  std::thread second(work, forgets ? bench.other[0] : bench.compute[0], 2.0F);
  first.join();
  second.join();
  return bench.first_value(bench.data[0]);
}

struct Case {
  float (*run)(Bench&, bool forgets);
  float expected;
};

const std::map<std::string, Case>& cases() {
  static const std::map<std::string, Case> all = {
      {"kernels", {kernels, 3}},
      {"copies", {copies, 3}},
      {"peer_copies", {peer_copies, 3}},
      {"fills", {fills, 3}},
      {"products", {products, 30}},
      {"before_collective", {before_collective, 7}},
      {"after_collective", {after_collective, 8}},
      {"through_collective", {through_collective, 12}},
      {"messages", {messages, 6}},
      {"host_reads", {host_reads, 7}},
      {"host_polls", {host_polls, 7}},
      {"host_writes", {host_writes, 8}},
      {"destroyed_streams", {destroyed_streams, 7}},
      {"host_functions", {host_functions, 7}},
      {"two_threads", {two_threads, 2}},
  };
  return all;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    for (const auto& [name, one] : cases()) {
      std::printf("%s\n", name.c_str());
    }
    return 0;
  }
  const Case& one = cases().at(arguments[1]);
  const bool forgets = count > 2 && std::strcmp(arguments[2], "forget") == 0;
  Bench bench;
  const float value = one.run(bench, forgets);
  std::printf("%s: %g, expected %g\n", arguments[1], static_cast<double>(value),
              static_cast<double>(one.expected));
  return value == one.expected ? 0 : 1;
}
