#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/plan/op.h"

namespace twinrun::exec {

// What a message or collective reads and writes on one device.
struct MovedData {
  std::vector<std::span<float>> ranges;
  // Of all_to_all: where it arrives, from each rank; behind each other where it is exclusive.
  std::vector<std::vector<std::span<float>>> from_each = {};
  bool is_taken = false;       // a sum: whoever reads it leaves 0 behind
  bool is_shared = false;      // others may write it meanwhile
  std::mutex* lock = nullptr;  // to be held while it is read, then; none where that is done
                               // by other means
  bool is_exclusive = false;   // nobody else uses it meanwhile, nor needs what it held

  [[nodiscard]] std::unique_lock<std::mutex> locked() const {
    return lock == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(*lock);
  }
};

// Collectives whose ranges the ranks divide among them.
constexpr bool divides_ranges(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kAllToAll;
}

// What ops do, once the runner says that they may: training for real, or something as much work.
class OpWork {
 public:
  OpWork() = default;
  OpWork(const OpWork&) = delete;
  OpWork& operator=(const OpWork&) = delete;
  virtual ~OpWork() = default;

  // An op that needs no other device.
  virtual void compute(OpId op) = 0;
  // Of sends, recvs and collectives. Whole ranges where the ranks of a collective divide them.
  virtual MovedData moved(OpId op) = 0;
  // The op is done, and what it has computed is there.
  virtual void finished(OpId op) = 0;
};

}  // namespace twinrun::exec
