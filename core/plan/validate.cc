#include "core/plan/validate.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/hash_index.h"
#include "core/base/json_pointer.h"
#include "core/plan/detail/complaints.h"

namespace twinrun {
namespace detail {

void Complaints::error(
    const char* code, OpId op, std::string_view key, std::string message, std::string help) const {
  error_at(code, fmt::format("/ops/{}{}{}", index_of(op), key.empty() ? "" : "/", key),
           std::move(message), std::move(help));
}

void Complaints::error_at(const char* code,
                          std::string pointer,
                          std::string message,
                          std::string help) const {
  diagnostics.error(code, {file, std::move(pointer), -1, false}, std::move(message),
                    std::move(help));
}

std::string Complaints::device(DeviceId device) const {
  return fmt::format("\"{}\"", plan.device_name(device));
}

std::string Complaints::op(OpId op) const {
  constexpr std::size_t kShown = 120;
  const std::string_view id = plan.id(op);
  return id.size() <= kShown ? fmt::format("\"{}\"", id)
                             : fmt::format("\"{}…\"", id.substr(0, kShown));
}

std::string Complaints::chain(std::span<const OpId> ops, std::string_view arrow) const {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (const OpId member : ops.first(std::min(ops.size(), kShown))) {
    text += text.empty() ? "" : arrow;
    text += op(member);
  }
  if (ops.size() > kShown) {
    text += fmt::format("{}… ({} more)", arrow, ops.size() - kShown);
  }
  return text;
}

}  // namespace detail

namespace {

using detail::Complaints;

void check_ids(const Complaints& complaints) {
  const Plan& plan = complaints.plan;
  HashIndex known;
  known.reserve(plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::string_view id = plan.id(id_at<OpId>(i));
    const auto [first, is_new] =
        known.find_or_insert(hash_of(id), static_cast<std::uint32_t>(i),
                             [&](std::uint32_t at) { return plan.id(id_at<OpId>(at)) == id; });
    if (!is_new) {
      complaints.error("E0411", id_at<OpId>(i), "id",
                       fmt::format("the id {} is taken by op {} already",
                                   complaints.op(id_at<OpId>(first)), first),
                       "give every op an id of its own");
    }
  }
}

void check_self_dependencies(const Complaints& complaints) {
  const Plan& plan = complaints.plan;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    const auto before = plan.predecessors(op);
    const auto self = std::find(before.begin(), before.end(), op);
    if (self != before.end()) {
      complaints.error("E0404", op, fmt::format("after/{}", self - before.begin()),
                       fmt::format("{} waits for itself", complaints.op(op)),
                       "remove it from its own \"after\"");
    }
  }
}

void check_copies(const Complaints& complaints) {
  const Plan& plan = complaints.plan;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (plan.kind(op) == OpKind::kCopy && plan.copy(op).to == plan.device(op)) {
      complaints.error("E0434", op, "to",
                       fmt::format("{} copies from {} to itself", complaints.op(op),
                                   complaints.device(plan.device(op))),
                       "name another device, or make it a compute op with \"bytes\"");
    }
  }
}

void check_groups(const Complaints& complaints) {
  const Plan& plan = complaints.plan;
  for (std::size_t g = 0; g < plan.group_count(); ++g) {
    const auto group = id_at<GroupId>(g);
    const auto devices = plan.group_devices(group);
    std::vector<DeviceId> sorted(devices.begin(), devices.end());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) {
      complaints.error_at("E0427",
                          fmt::format("/groups/{}", escaped_for_pointer(plan.group_name(group))),
                          fmt::format("the group \"{}\" names {} twice", plan.group_name(group),
                                      complaints.device(*twice)),
                          "name every device of a group once");
    }
  }
}

// Where a device is used first, for the place of a complaint about it.
std::string first_use(const Plan& plan, DeviceId device) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    if (plan.device(op) == device) {
      return fmt::format("/ops/{}/device", i);
    }
    if (plan.kind(op) == OpKind::kCopy && plan.copy(op).to == device) {
      return fmt::format("/ops/{}/to", i);
    }
  }
  return "/devices";
}

void check_devices(const Complaints& complaints,
                   const std::function<bool(std::string_view)>& device_exists) {
  constexpr std::size_t kLookedUp = 20;  // more complaints than that are only counted
  std::size_t unknown = 0;
  for (std::size_t d = 0; d < complaints.plan.device_count(); ++d) {
    const auto device = id_at<DeviceId>(d);
    if (device_exists(complaints.plan.device_name(device))) {
      continue;
    }
    complaints.error_at("E0413",
                        ++unknown <= kLookedUp ? first_use(complaints.plan, device) : "/devices",
                        fmt::format("the topology has no device {}", complaints.device(device)),
                        "`twinrun topo show` lists the devices of a topology");
  }
}

}  // namespace

void validate(const Plan& plan, const ValidateOptions& options, Diagnostics& diagnostics) {
  const Complaints complaints{plan, options.file, diagnostics};
  if (plan.size() == 0) {
    diagnostics.warning("W0401", {options.file, "/ops", -1, false}, "the plan has no ops",
                        "add at least one op");
  }
  if (!options.ids_are_unique) {
    check_ids(complaints);
  }
  if (options.device_exists) {
    check_devices(complaints, options.device_exists);
  }
  check_self_dependencies(complaints);
  check_copies(complaints);
  check_groups(complaints);
  detail::check_collectives(complaints);
  detail::check_messages(complaints);
  detail::check_waiting(complaints);
}

Diagnostics validate(const Plan& plan, const ValidateOptions& options) {
  Diagnostics diagnostics;
  validate(plan, options, diagnostics);
  return diagnostics;
}

}  // namespace twinrun
