#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/collective/schedule.h"
#include "core/plan/op.h"

namespace twinrun {

// What the file of an algorithm provides. Nothing is materialised: a ring of 4096 ranks has 33.5
// million messages, and each is computed when it is wanted. A barrier never gets here; it is an
// all-reduce of one element.
struct CollectiveFunctions {
  std::optional<std::string> (*refusal)(const CollectiveSpec& spec);  // a sentence; may be null
  std::uint32_t (*steps)(const CollectiveSpec& spec);
  std::int64_t (*bytes_sent)(const CollectiveSpec& spec);  // by the rank that sends most
  // Appends what a participant does in a step. Both sides list a message in the same step and, for
  // one pair and step, in the same order; so nobody can wait in a circle.
  void (*transfers)(const CollectiveSpec& spec,
                    std::uint32_t rank,
                    std::uint32_t step,
                    StepTransfers& out);
};

// A way to do collectives: one file <name>.cc and one row in algorithms.cc. `keys` are the fields
// of CollectiveSpec it reads beyond kind, ranks, bytes, element_bytes and root.
struct CollectiveAlgorithm {
  std::string_view name;
  std::string_view description;
  std::vector<CollectiveKind> kinds;
  std::vector<std::string_view> keys;
  CollectiveFunctions functions;
};

std::span<const CollectiveAlgorithm> collective_algorithms();
// By name, with - or _ between words; null when unknown.
const CollectiveAlgorithm* find_collective_algorithm(std::string_view name);

// Why the algorithm cannot do this, as a sentence; nothing when it can.
std::optional<std::string> why_not(const CollectiveAlgorithm& algorithm,
                                   const CollectiveSpec& spec);

// Who sends which chunk to whom in which step: an algorithm applied to a collective it can do.
class CollectiveSchedule {
 public:
  CollectiveSchedule(const CollectiveAlgorithm& algorithm, const CollectiveSpec& spec);

  [[nodiscard]] const CollectiveSpec& spec() const { return spec_; }  // a barrier: as all-reduce
  [[nodiscard]] std::uint32_t participants() const { return participants_; }  // ranks, then servers
  [[nodiscard]] std::uint32_t steps() const { return functions_.steps(spec_); }
  [[nodiscard]] std::int64_t bytes_sent() const { return functions_.bytes_sent(spec_); }
  // Replaces what `out` held, so that its memory is used again.
  void transfers(std::uint32_t rank, std::uint32_t step, StepTransfers& out) const;

 private:
  CollectiveSpec spec_;
  CollectiveFunctions functions_;
  std::uint32_t participants_;
};

CollectiveFunctions ring();
CollectiveFunctions double_binary_tree();
CollectiveFunctions halving_doubling();
CollectiveFunctions recursive_doubling();
CollectiveFunctions direct();
CollectiveFunctions hierarchical();
CollectiveFunctions hierarchical_tree();
CollectiveFunctions central_parameter_server();
CollectiveFunctions sharded_parameter_server();
CollectiveFunctions hierarchical_parameter_server();

}  // namespace twinrun
