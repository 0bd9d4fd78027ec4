#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "exec/known_numbers.h"
#include "exec/local_devices.h"
#include "exec/training/op_work.h"

namespace twinrun::exec {

// For plans of collectives and messages alone, which move known numbers. An op of the host puts
// them down for the exchange that follows in its stream, and counts what has come out wrong of the
// one right before it; so neither is part of an exchange's time.
class CheckedWork : public OpWork {
 public:
  // CannotRun when the plan has other ops, elements that a CPU does not add, or too many of them.
  explicit CheckedWork(const Plan& plan, const LocalDevices& here = {});

  void compute(OpId op) override;
  MovedData moved(OpId op) override;
  void finished(OpId /*op*/) override {}
  // Elements, in all exchanges so far.
  [[nodiscard]] std::int64_t wrong() const { return wrong_.load(); }

 private:
  struct Arrays {  // of a stream
    std::vector<float> array;
    std::vector<float> arrived;  // of all_to_all
    float barrier = 0;
  };
  void provide_arrays(const LocalDevices& here);
  void find_exchanges(StreamId stream);
  void put_numbers(OpId op);
  [[nodiscard]] std::int64_t count_wrong(OpId op);
  [[nodiscard]] std::int64_t count_wrong_of_collective(OpId op);
  [[nodiscard]] std::span<float> array_of(OpId op);
  [[nodiscard]] const KnownNumbers& numbers_of(OpId op) const;

  const Plan& plan_;
  std::vector<KnownNumbers> numbers_;  // by group, then one for messages
  std::vector<Arrays> arrays_;         // by stream
  std::vector<OpId> next_;             // by op of the host: the exchange to put numbers down for
  std::vector<OpId> last_;             // … and to look at; none where there is none
  std::atomic<std::int64_t> wrong_{0};
};

}  // namespace twinrun::exec
