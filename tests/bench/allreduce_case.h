#pragma once

#include <cstddef>
#include <vector>

// What ring_allreduce, mpi_allreduce and gloo_allreduce measure: a sum of fp32 in place, again and
// again. They are called with RANKS MIB REPETITIONS and print the seconds of each repetition, from
// when all ranks are ready to when the last is done; compare_allreduce.py puts them side by side.
namespace twinrun::bench {

struct AllreduceCase {
  int ranks = 0;
  std::size_t elements = 0;
  int repetitions = 0;
};

// Ends the program when the words are no case. Ranks are a power of two: sums of sums stay exact.
AllreduceCase read_case(int argc, char** argv);

std::vector<float> contribution(const AllreduceCase& given, int rank);

// After all repetitions.
bool is_right(const AllreduceCase& given, const std::vector<float>& array);

// `seconds` by repetition; the exit status.
int report(const std::vector<double>& seconds, bool right);

}  // namespace twinrun::bench
