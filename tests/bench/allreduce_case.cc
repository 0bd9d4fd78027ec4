#include "tests/bench/allreduce_case.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace twinrun::bench {
namespace {

constexpr std::size_t kPattern = 5;

}  // namespace

AllreduceCase read_case(int argc, char** argv) {
  AllreduceCase given;
  if (argc == 4) {
    given.ranks = std::atoi(argv[1]);
    given.elements = static_cast<std::size_t>(std::atoi(argv[2])) * 1024 * 1024 / sizeof(float);
    given.repetitions = std::atoi(argv[3]);
  }
  const bool is_power = given.ranks > 1 && (given.ranks & (given.ranks - 1)) == 0;
  // More repetitions would leave the range of fp32.
  if (!is_power || given.elements == 0 || given.repetitions < 1 || given.repetitions > 50) {
    std::fprintf(stderr, "usage: %s RANKS (2, 4, ...) MIB REPETITIONS (1 to 50)\n", argv[0]);
    std::exit(2);
  }
  return given;
}

std::vector<float> contribution(const AllreduceCase& given, int rank) {
  std::vector<float> array(given.elements);
  for (std::size_t i = 0; i < array.size(); ++i) {
    array[i] = static_cast<float>(i % kPattern) + static_cast<float>(rank);
  }
  return array;
}

bool is_right(const AllreduceCase& given, const std::vector<float>& array) {
  const double ranks = given.ranks;
  const double later = std::pow(ranks, given.repetitions - 1);  // from the second on all are equal
  for (std::size_t i = 0; i < array.size(); ++i) {
    const double first = ranks * static_cast<double>(i % kPattern) + ranks * (ranks - 1) / 2;
    if (array[i] != static_cast<float>(first * later)) {
      return false;
    }
  }
  return true;
}

int report(const std::vector<double>& seconds, bool right) {
  if (!right) {
    std::fprintf(stderr, "the sum is wrong\n");
    return 1;
  }
  for (const double one : seconds) {
    std::printf("%.9f\n", one);
  }
  return 0;
}

}  // namespace twinrun::bench
