#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "core/base/units.h"

namespace twinrun::sim {

// What is due when. Of equal dates the smaller subject comes first, so the order does not depend on
// how the dates came about.
class Timers {
 public:
  enum class Kind : std::uint8_t { kOp, kDevice };
  struct Due {
    Kind kind = Kind::kOp;
    std::uint32_t subject = 0;  // an op or a device
    std::uint32_t version = 0;  // of the device's plans; older ones are void
  };

  void set(Time date, Due due) { queue_.push({date.ps, due}); }
  [[nodiscard]] std::optional<Time> next() const {
    return queue_.empty() ? std::nullopt : std::optional<Time>{Time{queue_.top().ps}};
  }
  Due take() {
    const Due due = queue_.top().due;
    queue_.pop();
    return due;
  }

 private:
  struct Entry {
    std::int64_t ps = 0;
    Due due;
    bool operator<(const Entry& b) const {  // the earliest on top
      if (ps != b.ps) {
        return ps > b.ps;
      }
      return due.kind != b.due.kind ? due.kind > b.due.kind : due.subject > b.due.subject;
    }
  };
  std::priority_queue<Entry> queue_;
};

}  // namespace twinrun::sim
