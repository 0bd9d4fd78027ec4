// MPI_Allreduce: processes as ranks. See allreduce_case.h.

#include <chrono>
#include <vector>

#include <mpi.h>

#include "tests/bench/allreduce_case.h"

namespace {

using Clock = std::chrono::steady_clock;

std::vector<double> measure(const twinrun::bench::AllreduceCase& given, std::vector<float>& array) {
  std::vector<double> seconds;
  for (int i = 0; i < given.repetitions; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = Clock::now();
    MPI_Allreduce(MPI_IN_PLACE, array.data(), static_cast<int>(array.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::vector<double> slowest(seconds.size());
  MPI_Reduce(seconds.data(), slowest.data(), given.repetitions, MPI_DOUBLE, MPI_MAX, 0,
             MPI_COMM_WORLD);
  return slowest;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto given = twinrun::bench::read_case(argc, argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != given.ranks) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  std::vector<float> array = twinrun::bench::contribution(given, rank);
  const std::vector<double> seconds = measure(given, array);
  int right = twinrun::bench::is_right(given, array) ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Finalize();
  return rank == 0 ? twinrun::bench::report(seconds, right == 1) : 0;
}
