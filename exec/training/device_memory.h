#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "exec/local_devices.h"
#include "exec/training/tensor_machine.h"

namespace twinrun::exec {

// Where a copy goes; of other ops, their own device.
DeviceId target_device(const Plan& plan, OpId op);

// Whether the op is one rank's part of an exchange in which every rank hears of every other.
bool is_exchange(const Plan& plan, OpId op);

// The arrays of this process's devices that the payloads of a plan name, made once and then only
// read as a table; their memory is the machine's.
class DeviceMemory {
 public:
  DeviceMemory(const Plan& plan, TensorMachine& machine, const LocalDevices& here = {});

  // Which array: of rows by boundary, of elements by tensor-parallel rank and sender.
  struct Key {
    DeviceId device{};
    Store store = Store::kNone;
    std::uint32_t number = 0;  // boundary, or tensor-parallel rank
    DeviceId sender = no_id<DeviceId>();
    std::uint32_t moment = 0;   // 1 and 2: an optimizer's, of weights
    std::uint32_t version = 0;  // of a device's weights
    auto operator<=>(const Key&) const = default;
  };
  static Key key_of(DeviceId device, Store store, const Payload& payload);
  static Key moment_key(Key weights, int moment);

  [[nodiscard]] float* array(const Key& key) const;
  // Of a step's batch: steps that are there at once have rows of their own.
  [[nodiscard]] float* row(DeviceId device,
                           Store store,
                           std::size_t boundary,
                           std::int64_t step,
                           std::int64_t sample) const;
  [[nodiscard]] std::int64_t width(std::size_t boundary) const { return widths_[boundary]; }
  // The ranges that a payload names in a store of the device, in that step.
  struct Place {
    DeviceId device{};
    Store store = Store::kNone;
    std::int64_t step = 0;
    bool is_whole = false;  // rather than cut to the payload's share
  };
  [[nodiscard]] std::vector<std::span<float>> ranges(const Place& place,
                                                     const Payload& payload) const;
  // Who sent what there is in Store::kArrived, for a tensor-parallel rank.
  [[nodiscard]] std::vector<DeviceId> senders(DeviceId device, std::uint32_t tensor_rank) const;

  template <class Call>
  void for_each(const Call& call) const {
    for (const auto& [key, array] : arrays_) {
      call(key, array);
    }
  }

 private:
  void add(const Key& key, std::int64_t elements);
  void add_pass(DeviceId device, const Payload& payload);
  void add_store(DeviceId device, Store store, const Payload& payload);
  [[nodiscard]] std::int64_t copies_of(Store store) const;

  TensorMachine& machine_;
  std::map<Key, std::span<float>> arrays_;
  std::vector<std::int64_t> widths_;  // by boundary: elements of a sample on one device
  std::int64_t rows_;
  std::int64_t steps_in_flight_;
  std::int64_t batches_;
  std::int64_t elements_;  // of the model
};

}  // namespace twinrun::exec
