#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/diagnostics.h"
#include "core/base/ids.h"
#include "core/plan/plan.h"

namespace twinrun::detail {

// What the parts of validate() share: the plan, and how to complain about one of its ops.
struct Complaints {
  const Plan& plan;
  const std::string& file;
  Diagnostics& diagnostics;

  // About a key of an op; key "" is the op itself.
  void error(const char* code,
             OpId op,
             std::string_view key,
             std::string message,
             std::string help = {}) const;
  void error_at(const char* code,
                std::string pointer,
                std::string message,
                std::string help = {}) const;
  // "gpu0"
  [[nodiscard]] std::string device(DeviceId device) const;
  // "forward@gpu0", in quotes and cut when long
  [[nodiscard]] std::string op(OpId op) const;
  // a → b → c, at most ten and how many more
  [[nodiscard]] std::string chain(std::span<const OpId> ops, std::string_view arrow) const;
};

void check_collectives(const Complaints& complaints);
void check_messages(const Complaints& complaints);
void check_waiting(const Complaints& complaints);

}  // namespace twinrun::detail
