#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "core/base/ids.h"

namespace twinrun {

enum class PayloadId : std::uint32_t {};  // a distinct payload of a plan

// Part [begin, end) of something that is counted: samples of a step's batch, elements of a model.
struct CountRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  bool operator==(const CountRange&) const = default;
};

// What an op does with tensors. Words of a plan file stand beside each list, in the same order.
enum class Verb : std::uint8_t {
  kNothing,
  kForward,
  kBackwardInput,   // gradient of a layer's input
  kBackwardWeight,  // gradient of its weights
  kUpdate,          // source: gradients, target: weights
  kCopy,            // source to target, on the same device
  kAdd,             // the same, added to what is there
  kMove,            // of messages and collectives: where they read and write
};
inline constexpr std::array<std::string_view, 8> kVerbWords = {
    "nothing", "forward", "backward_input", "backward_weight", "update", "copy", "add", "move"};

// Where a device keeps tensors. Of activations there is one array for each boundary between layers,
// a row for each sample of the batch; the others are flat arrays over the elements of the model.
enum class Store : std::uint8_t {
  kNone,
  kSamples,              // the batch, as the data pipeline hands it out
  kBatches,              // copies of it on the device, those of two steps in turn
  kActivations,          // by boundary
  kActivationGradients,  // by boundary
  kParameters,           // that forward and backward read
  kGradients,            // that backward writes
  kReduced,              // buckets: gradients on their way through a collective
  kArrived,              // what another device sent, until it is summed; one array for each sender
  kMachineSums,          // of gradients, in a machine
  kServerSums,           // … on a server
  kServerParameters,     // the server's own weights
  kHostActivations,      // moved out of a device: nothing that can be used is left there
  kHostGradients,        // that a device sent to its host: a sum, until they are used
  kHostParameters,       // the host's own weights
};
inline constexpr std::array<std::string_view, 15> kStoreWords = {"none",
                                                                 "samples",
                                                                 "batches",
                                                                 "activations",
                                                                 "activation_gradients",
                                                                 "parameters",
                                                                 "gradients",
                                                                 "reduced",
                                                                 "arrived",
                                                                 "machine_sums",
                                                                 "server_sums",
                                                                 "server_parameters",
                                                                 "host_activations",
                                                                 "host_gradients",
                                                                 "host_parameters"};

constexpr bool has_rows(Store store) {
  return store == Store::kSamples || store == Store::kBatches || store == Store::kActivations ||
         store == Store::kActivationGradients || store == Store::kHostActivations;
}

// A device has one for each other device: who sent it, or whose it is.
constexpr bool has_sender(Store store) {
  return store == Store::kArrived || store == Store::kHostActivations ||
         store == Store::kHostGradients || store == Store::kHostParameters;
}

// Whoever reads such a sum leaves 0 behind.
constexpr bool is_sum(Store store) {
  return store == Store::kMachineSums || store == Store::kServerSums ||
         store == Store::kHostGradients;
}

// What an op works on, so that it can be run for real; the simulator never looks at it. Many ops
// have the same one, and a plan keeps each once.
struct Payload {
  Verb verb = Verb::kNothing;
  Store source = Store::kNone;
  Store target = Store::kNone;
  bool accumulates = false;               // adds to the gradients of earlier micro-batches
  std::uint32_t layer = 0;                // of a pass; of activations that move, their boundary:
                                          // layer b reads boundary b and writes b + 1
  std::uint32_t boundaries = 1;           // … so many from there on
  std::uint32_t tensor_rank = 0;          // whose share of divided layers this is
  std::uint32_t version = 0;              // of weights: passes read it, updates write it …
  std::uint32_t versions = 1;             // … where so many are kept in turn, from the one before
  DeviceId sender = no_id<DeviceId>();    // of stores that have one for each
  std::uint32_t share = 0;                // only this part of each range below …
  std::uint32_t shares = 1;               // … of so many equal ones, the larger first
  CountRange samples = {};                // of the step's batch over all replicas
  std::vector<CountRange> elements = {};  // in the order of Workload::layers
  bool operator==(const Payload&) const = default;
};

}  // namespace twinrun
