// Our ring over shared memory: threads as ranks. See allreduce_case.h.

#include <algorithm>
#include <barrier>
#include <chrono>
#include <deque>
#include <mutex>
#include <thread>

#include "core/collective/algorithms.h"
#include "exec/cpu/collective_exchange.h"
#include "tests/bench/allreduce_case.h"

namespace twinrun::bench {
namespace {

using Clock = std::chrono::steady_clock;

class RingBench {
 public:
  explicit RingBench(const AllreduceCase& given)
      : given_(given),
        seconds_(static_cast<std::size_t>(given.repetitions)),
        all_ready_(given.ranks) {
    CollectiveSpec spec;
    spec.ranks = static_cast<std::uint32_t>(given.ranks);
    spec.bytes = static_cast<std::int64_t>(given.elements * sizeof(float));
    const CollectiveSchedule schedule(*find_collective_algorithm("ring"), spec);
    for (int i = 0; i < given.repetitions; ++i) {
      exchanges_.emplace_back(schedule);  // the backend too has one for each collective
    }
  }

  int run() {
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < given_.ranks; ++rank) {
        threads.emplace_back([this, rank] { run_rank(rank); });
      }
    }
    return report(seconds_, is_right_);
  }

 private:
  void run_rank(int rank) {
    std::vector<float> array = contribution(given_, rank);
    std::vector<double> mine;
    for (exec::CollectiveExchange& exchange : exchanges_) {
      all_ready_.arrive_and_wait();
      const auto begin = Clock::now();
      exchange.run(static_cast<std::uint32_t>(rank), array);
      mine.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    const bool right = bench::is_right(given_, array);
    const std::lock_guard lock(mutex_);
    is_right_ = is_right_ && right;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      seconds_[i] = std::max(seconds_[i], mine[i]);
    }
  }

  AllreduceCase given_;
  std::deque<exec::CollectiveExchange> exchanges_;
  std::vector<double> seconds_;
  std::barrier<> all_ready_;
  std::mutex mutex_;
  bool is_right_ = true;
};

}  // namespace
}  // namespace twinrun::bench

int main(int argc, char** argv) {
  return twinrun::bench::RingBench(twinrun::bench::read_case(argc, argv)).run();
}
