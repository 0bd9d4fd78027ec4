#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/substitute/substitute.h"

namespace substitute {

inline constexpr int kLeastPriority = 0;
inline constexpr int kGreatestPriority = -5;

// A queue and a thread that works it off in order. Runs hidden from ThreadSanitizer; what is
// stated: whoever pushed comes before the work, and finished work before whoever waited for the
// stream.
class Stream {
 public:
  // `now` is the stream's virtual time at the start of the work, and may be moved on by it.
  using Action = std::function<void(Picoseconds& now)>;

  Stream(int device, unsigned flags, int priority, std::uint64_t id);

  void push(Picoseconds cost, Action action);
  // Blocks until all that was pushed so far is finished, and joins this thread's clock.
  void wait();
  // The same without stating an order to ThreadSanitizer.
  void drain();
  // Whether all of it is finished; stated to ThreadSanitizer if so.
  [[nodiscard]] bool is_finished();
  [[nodiscard]] Picoseconds time();

  void begin_charge(Picoseconds cost);
  void end_charge();
  [[nodiscard]] bool is_charged();
  void set_stalled(bool is_stalled);
  void set_time_to_zero();

  // The thread ends after the last work.
  void close();
  void work_off();

  const int device;
  const unsigned flags;
  const int priority;
  const std::uint64_t id;

 private:
  struct Work {
    Picoseconds issued;  // by the host thread's clock
    Picoseconds cost;
    Action action;
  };

  [[nodiscard]] std::unique_ptr<Work> next();
  void finish(Picoseconds now);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Work>> queue_;
  std::uint64_t pushed_ = 0;
  std::uint64_t finished_ = 0;
  Picoseconds now_ = 0;
  std::optional<Picoseconds> charge_;
  bool is_stalled_ = false;
  bool is_closed_ = false;
};

class Streams {
 public:
  cudaStream_t create(int device, unsigned flags, int priority);
  // The work that is left is still done.
  void destroy(cudaStream_t stream);
  // The stream behind the handle; refuses the default streams and what was destroyed.
  [[nodiscard]] std::shared_ptr<Stream> get(cudaStream_t stream, std::string_view function);

  // Of one device; with cudaStreamDefault only, those that cudaStreamNonBlocking did not exempt.
  [[nodiscard]] std::vector<std::shared_ptr<Stream>> of_device(int device,
                                                               bool blocking_only = false);
  void set_times_to_zero();
  [[nodiscard]] std::vector<std::string> leaks();
  void end_all();

 private:
  void run(std::shared_ptr<Stream> stream);

  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<cudaStream_t, std::shared_ptr<Stream>> live_;
  std::uint64_t next_id_ = 1;
  int threads_ = 0;
};

Streams& streams();

// Pushes, for what the task costs unless the stream is charged otherwise.
void enqueue(Stream& stream, const Task& task, Stream::Action action);

}  // namespace substitute

// CUDA's name for what its handle points at.
struct CUstream_st final : substitute::Stream {
  using Stream::Stream;
};
