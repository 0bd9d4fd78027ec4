#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/collective/algorithms.h"
#include "exec/gate.h"

namespace twinrun::exec {

// One collective over shared memory: every rank's thread runs its own part of the schedule and
// reads from the arrays of the others.
//
//   rank r, step s:  begun(r) = s + 1            others may read what r sends in s
//                    for each receive: wait until begun(peer) > s; copy, or add; taken(peer) + 1
//                    wait until taken(r) = sends so far   then r may change what it sent
//
// So a rank never waits for more than the schedule says, and sums have one order.
class CollectiveExchange {
 public:
  explicit CollectiveExchange(const CollectiveSchedule& schedule);

  [[nodiscard]] std::size_t element_count() const {
    return static_cast<std::size_t>(schedule_.spec().bytes) / sizeof(float);
  }
  // The array of `rank`, which holds the result afterwards; returns when nobody reads it any more.
  // Once for each rank. An all_to_all sets down what arrives elsewhere.
  void run(std::uint32_t rank, std::span<float> array) { run(rank, array, array); }
  void run(std::uint32_t rank, std::span<float> array, std::span<float> into);
  void stop();

 private:
  struct Party {
    Gate begun;  // steps
    Gate taken;  // messages that others have read
    float* array = nullptr;
  };
  struct Staged {  // what is to be added once nobody reads its place any more
    std::vector<float> elements;
    float* into = nullptr;
  };
  void receive(const StepTransfers& step,
               const Transfer& transfer,
               std::uint32_t number,
               float* array,
               std::vector<Staged>& staged);

  CollectiveSchedule schedule_;
  std::vector<Party> parties_;
};

}  // namespace twinrun::exec
