#include "exec/cuda/event_clock.h"

#include <cmath>
#include <exception>
#include <thread>

namespace twinrun::exec {
namespace {

// A float has 24 bits: 8 s in steps of half a microsecond, which is how exact events are.
constexpr Time kOldBase{8'000'000'000'000};
constexpr int kTries = 5;
constexpr double kPicosecondsInMs = 1e9;

Time from_ms(double ms) { return Time{std::llround(ms * kPicosecondsInMs)}; }

}  // namespace

EventClock::~EventClock() {
  for (const auto& [number, device] : devices_) {
    try {
      for (const Base& base : device.bases) {
        runtime_.destroy_event(base.event);
      }
      runtime_.destroy_stream(device.stream);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): nobody to be told
    }
  }
}

void EventClock::add_device(int device) {
  if (!devices_.contains(device)) {
    devices_[device].stream = runtime_.make_stream(device, true);
  }
}

// On a stream with nothing else: it was recorded between two looks at the host's clock.
EventClock::Base EventClock::record_base(const Device& device) {
  Base best{runtime_.make_event(device.stream.device), Time{}};
  const Time before = now_();
  runtime_.record(best.event, device.stream);
  while (!runtime_.is_done(best.event)) {
    std::this_thread::yield();
  }
  best.at = Time{(before.ps + now_().ps) / 2};
  return best;
}

// The narrowest of some tries; the others tell how the event lies to it.
void EventClock::start() {
  for (auto& [number, device] : devices_) {
    Time narrowest{INT64_MAX};
    Base best;
    for (int i = 0; i < kTries; ++i) {
      const Time before = now_();
      const Base base = record_base(device);
      const Time width = now_() - before;
      if (i > 0) {
        runtime_.destroy_event(width < narrowest ? best.event : base.event);
      }
      if (width < narrowest) {
        narrowest = width;
        best = base;
      }
    }
    device.bases = {best};
  }
  renewed_ = now_();
}

std::uint32_t EventClock::base() {
  if (now_() - renewed_ > kOldBase) {
    for (auto& [number, device] : devices_) {
      const Base& old = device.bases.back();
      Base renewed = record_base(device);
      renewed.at = old.at + from_ms(runtime_.elapsed_ms(old.event, renewed.event));
      device.bases.push_back(renewed);
    }
    ++newest_;
    renewed_ = now_();
  }
  return newest_;
}

Time EventClock::time_of(const GpuEvent& event, std::uint32_t base) {
  const Base& from = devices_.at(event.device).bases[base];
  return from.at + from_ms(runtime_.elapsed_ms(from.event, event));
}

}  // namespace twinrun::exec
