// What MPI reaches between the hosts, as one line of JSON: every rank's host; the seconds a small
// message takes one way between the first two; bytes a second in a stream from the first to the
// second, and from all others to the first at once.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <mpi.h>

namespace {

constexpr int kLarge = 8'000'000;
constexpr int kLargeMessages = 3;
constexpr int kRoundTrips = 1000;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void send(std::vector<char>& message, int to) {
  MPI_Send(message.data(), static_cast<int>(message.size()), MPI_CHAR, to, 0, MPI_COMM_WORLD);
}

void receive(std::vector<char>& message, int from) {
  MPI_Recv(message.data(), static_cast<int>(message.size()), MPI_CHAR, from, 0, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
}

// Half of a round trip. Of a thousand the hundredth quickest: hosts share the machine's cores, and
// what a message waits for one of them is no property of the network.
double latency(int rank) {
  std::vector<char> message(8);
  std::vector<double> times;
  for (int round = 0; round < kRoundTrips && rank < 2; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    if (rank == 0) {
      send(message, 1);
    }
    receive(message, 1 - rank);
    if (rank == 1) {
      send(message, 0);
    }
    times.push_back(seconds_since(begin) / 2);
  }
  std::sort(times.begin(), times.end());
  return times.empty() ? 0 : times[kRoundTrips / 10];
}

double stream_rate(int rank) {
  std::vector<char> message(kLarge);
  std::vector<char> answer(1);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kLargeMessages; ++i) {
    if (rank == 0) {
      send(message, 1);
    } else if (rank == 1) {
      receive(message, 0);
    }
  }
  if (rank == 0) {
    receive(answer, 1);
  } else if (rank == 1) {
    send(answer, 0);
  }
  return kLargeMessages * double{kLarge} / seconds_since(begin);
}

double rate_into_first(int rank, int ranks) {
  std::vector<std::vector<char>> messages(static_cast<std::size_t>(ranks),
                                          std::vector<char>(kLarge));
  std::vector<MPI_Request> requests;
  const auto begin = std::chrono::steady_clock::now();
  if (rank != 0) {
    send(messages[0], 0);
  }
  for (int peer = 1; rank == 0 && peer < ranks; ++peer) {
    MPI_Irecv(messages[static_cast<std::size_t>(peer)].data(), kLarge, MPI_CHAR, peer, 0,
              MPI_COMM_WORLD, &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return (ranks - 1) * double{kLarge} / seconds_since(begin);
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
  const double latency_s = latency(rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const double stream = stream_rate(rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const double into_first = rate_into_first(rank, ranks);
  if (rank == 0) {
    std::printf(
        "{\"hosts\": [%s], \"latency_s\": %.9f, \"stream_Bps\": %.0f, \"into_first_Bps\": %.0f}\n",
        names.c_str(), latency_s, stream, into_first);
  }
  MPI_Finalize();
  return 0;
}
