// Gloo's all-reduce, TCP over the loopback as PyTorch uses it on one machine: processes as ranks.
// See allreduce_case.h.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/allreduce_case.h"

namespace {

using Clock = std::chrono::steady_clock;
using Context = std::shared_ptr<gloo::Context>;

Context connect(const std::string& folder, int rank, int ranks) {
  gloo::transport::tcp::attr attributes("localhost");
  attributes.iface = "lo";
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  gloo::rendezvous::FileStore store(folder);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  return context;
}

// Gloo has two functions of each name: over elements, and over memory as it wants them here.
using Reduce = void (*)(void*, const void*, const void*, std::size_t);

template <typename T>
void all_reduce(const Context& context, std::vector<T>& array, Reduce reduce) {
  gloo::AllreduceOptions options(context);
  options.setOutput(array.data(), array.size());
  options.setReduceFunction(reduce);
  gloo::allreduce(options);
}

int run_rank(const twinrun::bench::AllreduceCase& given, const std::string& folder, int rank) {
  const Context context = connect(folder, rank, given.ranks);
  std::vector<float> array = twinrun::bench::contribution(given, rank);
  std::vector<double> seconds;
  for (int i = 0; i < given.repetitions; ++i) {
    gloo::BarrierOptions barrier(context);
    gloo::barrier(barrier);
    const auto begin = Clock::now();
    all_reduce(context, array, gloo::sum<float>);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  const bool right = twinrun::bench::is_right(given, array);
  all_reduce(context, seconds, gloo::max<double>);
  return rank == 0 ? twinrun::bench::report(seconds, right) : static_cast<int>(!right);
}

int run_all(const twinrun::bench::AllreduceCase& given, const std::string& folder) {
  std::vector<pid_t> children;
  for (int rank = 1; rank < given.ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      _exit(run_rank(given, folder, rank));
    }
    children.push_back(child);
  }
  int result = run_rank(given, folder, 0);
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    result = std::max(result, WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const auto given = twinrun::bench::read_case(argc, argv);
  std::string folder = (std::filesystem::temp_directory_path() / "gloo-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror("mkdtemp");
    return 2;
  }
  const int result = run_all(given, folder);
  std::filesystem::remove_all(folder);
  return result;
}
