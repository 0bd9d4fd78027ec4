// What MPI reaches between the hosts, as one line of JSON: every rank's host, the latency of a
// small message one way between the first two ranks, the rate of a large one, and of all others
// sending to the first at once.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <mpi.h>

namespace {

constexpr int kLarge = 8'000'000;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Half of the middle round trip of `bytes`; ranks other than the first two only wait.
double one_way(int rank, int bytes, int rounds) {
  std::vector<char> message(static_cast<std::size_t>(bytes));
  std::vector<double> times;
  for (int round = 0; round < rounds && rank < 2; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    if (rank == 0) {
      MPI_Send(message.data(), bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    }
    MPI_Recv(message.data(), bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) {
      MPI_Send(message.data(), bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    times.push_back(seconds_since(begin) / 2);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::sort(times.begin(), times.end());
  return times.empty() ? 0 : times[times.size() / 2];
}

double all_to_first(int rank, int ranks) {
  std::vector<char> message(kLarge);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  for (int peer = 1; rank == 0 && peer < ranks; ++peer) {
    MPI_Recv(message.data(), kLarge, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank != 0) {
    MPI_Send(message.data(), kLarge, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  return seconds_since(begin);
}

std::string hosts(int rank, int ranks) {
  std::vector<char> name(MPI_MAX_PROCESSOR_NAME);
  std::vector<char> names(name.size() * static_cast<std::size_t>(ranks));
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  const int width = MPI_MAX_PROCESSOR_NAME;
  MPI_Gather(name.data(), width, MPI_CHAR, names.data(), width, MPI_CHAR, 0, MPI_COMM_WORLD);
  std::string list;
  for (int peer = 0; rank == 0 && peer < ranks; ++peer) {
    list += (peer == 0 ? "\"" : ", \"") +
            std::string(&names[static_cast<std::size_t>(peer * width)]) + "\"";
  }
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) {
    std::fprintf(stderr, "mpi_probe needs two ranks or more\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const std::string names = hosts(rank, ranks);
  const double latency = one_way(rank, 8, 1000);
  const double large = one_way(rank, kLarge, 3);
  const double incast = all_to_first(rank, ranks);
  if (rank == 0) {
    std::printf(
        "{\"hosts\": [%s], \"latency_s\": %.9f, \"pair_Bps\": %.0f, \"into_first_Bps\": %.0f}\n",
        names.c_str(), latency, kLarge / large, (ranks - 1.0) * kLarge / incast);
  }
  MPI_Finalize();
  return 0;
}
