#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
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
  // Memory for a stream's numbers, that lives as long as this does.
  using Allocate = std::function<std::span<float>(StreamId stream, std::size_t elements)>;

  // CannotRun when the plan has other ops, elements that are not fp32, or too many of them. Without
  // an allocator the arrays are its own.
  explicit CheckedWork(const Plan& plan,
                       const LocalDevices& here = {},
                       const Allocate& allocate = {});

  void compute(OpId op) override;
  MovedData moved(OpId op) override;
  void finished(OpId /*op*/) override {}
  // Elements, in all exchanges so far.
  [[nodiscard]] std::int64_t wrong() const { return wrong_.load(); }
  // The exchange that an op of the host looks at, and that it puts numbers down for; no_id where
  // there is none.
  [[nodiscard]] OpId looked_at_by(OpId op) const { return last_[index_of(op)]; }
  [[nodiscard]] OpId filled_by(OpId op) const { return next_[index_of(op)]; }

 private:
  struct Arrays {  // of a stream
    std::span<float> array;
    std::span<float> arrived;  // of all_to_all
    float barrier = 0;
  };
  void provide_arrays(const LocalDevices& here, const Allocate& allocate);
  void find_exchanges(StreamId stream);
  void put_numbers(OpId op);
  [[nodiscard]] std::int64_t count_wrong(OpId op);
  [[nodiscard]] std::int64_t count_wrong_of_collective(OpId op);
  [[nodiscard]] std::span<float> array_of(OpId op);
  [[nodiscard]] const KnownNumbers& numbers_of(OpId op) const;

  const Plan& plan_;
  std::vector<KnownNumbers> numbers_;    // by group, then one for messages
  std::vector<std::vector<float>> own_;  // memory without an allocator
  std::vector<Arrays> arrays_;           // by stream
  std::vector<OpId> next_;               // by op of the host: the exchange to put numbers down for
  std::vector<OpId> last_;               // … and to look at; none where there is none
  std::atomic<std::int64_t> wrong_{0};
};

}  // namespace twinrun::exec
