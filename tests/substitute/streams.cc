#include "tests/substitute/streams.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "tests/substitute/memory.h"
#include "tests/substitute/refusal.h"
#include "tests/substitute/sanitizers.h"
#include "tests/substitute/virtual_clock.h"

namespace substitute {

Stream::Stream(int its_device, unsigned its_flags, int its_priority, std::uint64_t its_id)
    : device(its_device), flags(its_flags), priority(its_priority), id(its_id) {}

void Stream::push(Picoseconds cost, Action action) {
  auto work = std::make_unique<Work>(Work{host_time(), cost, std::move(action)});
  happens_before(work.get());
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  ++pushed_;
  changed_.notify_all();
}

void Stream::wait() {
  drain();
  happens_after(this);
}

void Stream::drain() {
  Picoseconds time = 0;
  {
    std::unique_lock lock(mutex_);
    const std::uint64_t last = pushed_;
    changed_.wait(lock, [&] { return finished_ >= last; });
    time = now_;
  }
  join_host(time);
}

bool Stream::is_finished() {
  {
    const std::lock_guard lock(mutex_);
    if (finished_ < pushed_) {
      return false;
    }
    if (query_joins_host()) {
      join_host(now_);
    }
  }
  happens_after(this);
  return true;
}

Picoseconds Stream::time() {
  const std::lock_guard lock(mutex_);
  return now_;
}

void Stream::begin_charge(Picoseconds cost) {
  const std::lock_guard lock(mutex_);
  if (charge_) {
    refuse("begin_charge was called twice for a stream without end_charge.");
  }
  charge_ = cost;
}

void Stream::end_charge() {
  Picoseconds cost = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!charge_) {
      refuse("end_charge was called for a stream without begin_charge.");
    }
    cost = *charge_;
    charge_.reset();
  }
  push(cost, [](Picoseconds&) {});
}

bool Stream::is_charged() {
  const std::lock_guard lock(mutex_);
  return charge_.has_value();
}

void Stream::set_stalled(bool is_stalled) {
  const std::lock_guard lock(mutex_);
  is_stalled_ = is_stalled;
  changed_.notify_all();
}

void Stream::set_time_to_zero() {
  const std::lock_guard lock(mutex_);
  if (finished_ < pushed_) {
    refuse("the clock was changed while a stream had work to do.");
  }
  now_ = 0;
}

void Stream::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

std::unique_ptr<Stream::Work> Stream::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !is_stalled_ && (is_closed_ || !queue_.empty()); });
  if (queue_.empty()) {
    return nullptr;
  }
  auto work = std::move(queue_.front());
  queue_.pop_front();
  return work;
}

void Stream::finish(Picoseconds now) {
  happens_before(this);
  const std::lock_guard lock(mutex_);
  now_ = now;
  ++finished_;
  changed_.notify_all();
}

void Stream::work_off() {
  while (const auto work = next()) {
    happens_after(work.get());
    Picoseconds now = std::max(time(), work->issued);
    work->action(now);
    finish(now + work->cost);
  }
}

cudaStream_t Streams::create(int device, unsigned flags, int priority) {
  const std::lock_guard lock(mutex_);
  const auto stream = std::make_shared<CUstream_st>(device, flags, priority, next_id_++);
  live_[stream.get()] = stream;
  ++threads_;
  // Not joined: cudaStreamDestroy does not wait, and a join would be an order that CUDA does not
  // promise.
  std::thread([this, stream] { run(stream); }).detach();
  return stream.get();
}

void Streams::run(std::shared_ptr<Stream> stream) {
  const Hidden hidden;
  stream->work_off();
  stream.reset();
  const std::lock_guard lock(mutex_);
  --threads_;
  ended_.notify_all();
}

void Streams::destroy(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(stream);
  found->second->close();
  live_.erase(found);
}

std::shared_ptr<Stream> Streams::get(cudaStream_t stream, std::string_view function) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) {
    refuse(std::string(function) +
           " was called for a default stream; create a stream and name it.");
  }
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(stream);
  if (found == live_.end()) {
    refuse(std::string(function) + " was called for " + address_text(stream) +
           ", which is no stream (any more).");
  }
  return found->second;
}

std::vector<std::shared_ptr<Stream>> Streams::of_device(int device, bool blocking_only) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Stream>> found;
  for (const auto& [handle, stream] : live_) {
    const bool counts = !blocking_only || (stream->flags & cudaStreamNonBlocking) == 0;
    if (stream->device == device && counts) {
      found.push_back(stream);
    }
  }
  return found;
}

void Streams::set_times_to_zero() {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, stream] : live_) {
    stream->set_time_to_zero();
  }
}

std::vector<std::string> Streams::leaks() {
  const std::lock_guard lock(mutex_);
  std::map<std::uint64_t, std::string>
      by_id;  // in the order of their creation, the same in every run
  for (const auto& [handle, stream] : live_) {
    by_id[stream->id] =
        "stream " + std::to_string(stream->id) + " of device " + std::to_string(stream->device);
  }
  std::vector<std::string> lines;
  lines.reserve(by_id.size());
  for (auto& [id, line] : by_id) {
    lines.push_back(std::move(line));
  }
  return lines;
}

void Streams::end_all() {
  std::unique_lock lock(mutex_);
  for (const auto& [handle, stream] : live_) {
    stream->set_stalled(false);
    stream->close();
  }
  live_.clear();
  ended_.wait(lock, [&] { return threads_ == 0; });
}

Streams& streams() {
  static Streams& only = *new Streams;  // never destroyed: its threads may outlive main
  return only;
}

void enqueue(Stream& stream, const Task& task, Stream::Action action) {
  stream.push(stream.is_charged() ? 0 : cost_of(task), std::move(action));
}

void begin_charge(cudaStream_t stream, Picoseconds cost) {
  const Hidden hidden;
  streams().get(stream, "begin_charge")->begin_charge(cost);
}

void end_charge(cudaStream_t stream) {
  const Hidden hidden;
  streams().get(stream, "end_charge")->end_charge();
}

void stall(cudaStream_t stream) {
  const Hidden hidden;
  streams().get(stream, "stall")->set_stalled(true);
}

void resume(cudaStream_t stream) {
  const Hidden hidden;
  streams().get(stream, "resume")->set_stalled(false);
}

Picoseconds stream_time(cudaStream_t stream) {
  const Hidden hidden;
  return streams().get(stream, "stream_time")->time();
}

}  // namespace substitute
