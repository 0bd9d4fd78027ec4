#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/substitute/substitute.h"

namespace substitute {

// One cudaEventRecord: what a cudaStreamWaitEvent waits for that comes after it, even when the
// event is recorded again before the stream gets there.
class Record {
 public:
  void complete(Picoseconds time);
  // Blocks; the time at which it was complete. States the order to ThreadSanitizer, as is_complete
  // does.
  Picoseconds wait();
  [[nodiscard]] bool is_complete();
  [[nodiscard]] Picoseconds time();

 private:
  std::mutex mutex_;
  std::condition_variable completed_;
  bool is_complete_ = false;
  Picoseconds time_ = 0;
};

struct Event {
  int device = 0;
  unsigned flags = 0;
  std::uint64_t id = 0;
  std::shared_ptr<Record>
      last;  // shared with the streams that wait; nullptr before the first record

  [[nodiscard]] bool has_timing() const { return (flags & cudaEventDisableTiming) == 0; }
};

class Events {
 public:
  cudaEvent_t create(int device, unsigned flags);
  void destroy(cudaEvent_t event, std::string_view function);
  // A copy; refuses what is no event (any more).
  [[nodiscard]] Event get(cudaEvent_t event, std::string_view function);
  // Makes it the event's last.
  std::shared_ptr<Record> new_record(cudaEvent_t event);

  // cudaStreamWaitEvent that waits for something: true, or false for the one to ignore.
  bool count_wait();
  void drop_wait(std::int64_t nth);
  [[nodiscard]] std::int64_t waits();

  [[nodiscard]] std::vector<std::string> leaks();
  void end_all();

 private:
  std::mutex mutex_;
  std::map<cudaEvent_t, std::shared_ptr<Event>>
      live_;  // shared: it knows how to delete what CUDA calls it
  std::uint64_t next_id_ = 1;
  std::int64_t waits_ = 0;
  std::int64_t dropped_wait_ = 0;
};

Events& events();

}  // namespace substitute

// CUDA's name for what its handle points at.
struct CUevent_st final : substitute::Event {};
