#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace twinrun::report {

// What colours and legends go by. The words are the page's, in the order of the enumerators.
enum class OpCategory : std::uint8_t {
  kForward,
  kBackward,
  kRecompute,
  kUpdate,
  kCompute,  // any other
  kCollective,
  kMessage,  // send, recv
  kCopy,
  kHost,
};
inline constexpr std::array<std::string_view, 9> kOpCategoryWords = {
    "forward",    "backward", "recompute", "update", "compute",
    "collective", "message",  "copy",      "host"};

OpCategory category_of(const Plan& plan, OpId op);

// The micro-batch of "step0/forward/conv1/mb3@rank0"; -1 without one.
std::int64_t micro_batch_of(std::string_view id);

// What an op is called and does, less what differs between steps, ranks and micro-batches: each
// distinct label once.
class TimelineLabels {
 public:
  TimelineLabels(const Plan& plan, const Trace& trace) : plan_(plan), trace_(trace) {}

  struct Found {
    std::uint32_t label = 0;
    std::int64_t micro_batch = -1;  // where the name has a '#' in its place
  };
  // `owner` is what the ids of the op's row end with: "@rank0".
  Found find(OpId op, std::string_view owner);

  // Rows of [name, category, bytes, FLOPs, more]. A name that ends with '@' goes on with the
  // row's owner; "/mb#" stands for the micro-batch where the sixth entry is 1.
  [[nodiscard]] const nlohmann::ordered_json& rows() const { return rows_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] std::string more_about(OpId op) const;

  const Plan& plan_;
  const Trace& trace_;
  std::unordered_map<std::string, std::uint32_t> known_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
  std::size_t bytes_ = 0;
};

}  // namespace twinrun::report
