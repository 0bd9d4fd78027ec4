#pragma once

#include <compare>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "exec/local_devices.h"

namespace twinrun::exec {

// The arrays of this process's devices that the payloads of a plan name, made once and then only
// read as a table. Pages that nobody touches take no memory.
class DeviceMemory {
 public:
  explicit DeviceMemory(const Plan& plan, const LocalDevices& here = {});

  // Which array: of rows by boundary, of elements by tensor-parallel rank and sender.
  struct Key {
    DeviceId device{};
    Store store = Store::kNone;
    std::uint32_t number = 0;  // boundary, or tensor-parallel rank
    DeviceId sender = no_id<DeviceId>();
    std::uint32_t moment = 0;  // 1 and 2: an optimizer's, of weights
    auto operator<=>(const Key&) const = default;
  };
  static Key key_of(DeviceId device, Store store, const Payload& payload);

  [[nodiscard]] float* array(const Key& key) const;
  [[nodiscard]] float* row(DeviceId device,
                           Store store,
                           std::size_t boundary,
                           std::int64_t sample) const;
  [[nodiscard]] std::int64_t width(std::size_t boundary) const { return widths_[boundary]; }
  // Of a step's batch, in one of the two copies that a device has.
  [[nodiscard]] std::span<float> batch(DeviceId device,
                                       std::int64_t step,
                                       const CountRange& samples) const;
  // The ranges that a payload names in a store, cut to its share unless all are asked for.
  [[nodiscard]] std::vector<std::span<float>> ranges(DeviceId device,
                                                     Store store,
                                                     const Payload& payload,
                                                     bool is_whole) const;

  template <class Call>
  void for_each(const Call& call) const {
    for (const auto& [key, array] : arrays_) {
      call(key, array.get());
    }
  }

 private:
  struct Free {
    void operator()(float* array) const { std::free(array); }
  };
  void add(const Key& key, std::int64_t elements);
  void add_pass(DeviceId device, const Payload& payload);
  [[nodiscard]] std::int64_t size_of(Store store, std::size_t boundary) const;

  std::map<Key, std::unique_ptr<float[], Free>> arrays_;
  std::vector<std::int64_t> widths_;  // by boundary: elements of a sample on one device
  std::int64_t rows_;
  std::int64_t elements_;  // of the model
};

}  // namespace twinrun::exec
