#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/plan/detail/complaints.h"

namespace twinrun::detail {
namespace {

// Finds members of a group in constant time: a device's stamp is the number of the question last
// asked about it, so nothing is cleared between a million collectives.
class Attendance {
 public:
  explicit Attendance(std::size_t devices) : stamp_(devices, 0) {}
  void start() { ++now_; }
  // False when the device was marked since start().
  bool mark(DeviceId device) { return std::exchange(stamp_[index_of(device)], now_) != now_; }
  [[nodiscard]] bool is_marked(DeviceId device) const { return stamp_[index_of(device)] == now_; }

 private:
  std::vector<std::uint32_t> stamp_;
  std::uint32_t now_ = 0;
};

std::string kind_text(const Plan& plan, OpId op) {
  return std::string(name_of(plan.shape(op).kind));
}

std::string root_text(const Complaints& complaints, OpId op) {
  const DeviceId root = complaints.plan.shape(op).root;
  return root == no_id<DeviceId>() ? "none" : complaints.device(root);
}

// Each rank's op against the first one's.
void check_agreement(const Complaints& complaints, OpId first, OpId other) {
  const Plan& plan = complaints.plan;
  const auto complain = [&](std::string_view key, const std::string& a, const std::string& b) {
    complaints.error(
        "E0422", other, key,
        fmt::format("the ranks of collective \"{}\" disagree in \"{}\": {} says {}, {} says {}",
                    plan.match(first), key, complaints.op(first), a, complaints.op(other), b),
        "all ranks of a collective must say the same; or give them different \"match\" names");
  };
  const CollectiveOp& a = plan.collective(first);
  const CollectiveOp& b = plan.collective(other);
  if (a.bytes != b.bytes) {
    complain("bytes", fmt::format("{}", a.bytes.count), fmt::format("{}", b.bytes.count));
  }
  if (a.shape == b.shape) {
    return;
  }
  const CollectiveShape& x = plan.shape(first);
  const CollectiveShape& y = plan.shape(other);
  if (x.kind != y.kind) {
    complain("collective", kind_text(plan, first), kind_text(plan, other));
  }
  if (x.algorithm != y.algorithm) {
    complain("algorithm", std::string(plan.algorithm_name(x)), std::string(plan.algorithm_name(y)));
  }
  if (x.dtype != y.dtype) {
    complain("dtype", std::string(name_of(x.dtype)), std::string(name_of(y.dtype)));
  }
  if (x.root != y.root) {
    complain("root", root_text(complaints, first), root_text(complaints, other));
  }
}

void check_root(const Complaints& complaints, OpId op, const Attendance& group) {
  const CollectiveShape& shape = complaints.plan.shape(op);
  if (has_root(shape.kind) && shape.root == no_id<DeviceId>()) {
    complaints.error("E0426", op, "",
                     fmt::format("the {} {} names no root", name_of(shape.kind), complaints.op(op)),
                     "add \"root\": one device of the group");
  } else if (shape.root != no_id<DeviceId>() && !group.is_marked(shape.root)) {
    complaints.error(
        "E0426", op, "root",
        fmt::format("the root {} of {} is not in the group \"{}\"", complaints.device(shape.root),
                    complaints.op(op), complaints.plan.group_name(shape.group)),
        "the root must be one device of the group");
  }
}

void complain_about_missing(const Complaints& complaints,
                            OpId first,
                            const std::vector<DeviceId>& missing) {
  constexpr std::size_t kShown = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(missing.size(), kShown); ++i) {
    names += (i == 0 ? "" : ", ") + complaints.device(missing[i]);
  }
  if (missing.size() > kShown) {
    names += fmt::format(" and {} more", missing.size() - kShown);
  }
  const Plan& plan = complaints.plan;
  complaints.error("E0423", first, "",
                   fmt::format("the collective \"{}\" of group \"{}\" has no op for {}",
                               plan.match(first), plan.group_name(plan.shape(first).group), names),
                   "every device of the group needs one op with the same \"match\" (by default "
                   "the id up to the last '@')");
}

void check_attendance(const Complaints& complaints,
                      std::span<const OpId> ops,
                      Attendance& group,
                      Attendance& present) {
  const Plan& plan = complaints.plan;
  const auto devices = plan.group_devices(plan.shape(ops.front()).group);
  constexpr std::size_t kExplained =
      50;  // a million one-rank ops of a large group are only counted
  if (ops.size() < devices.size() && complaints.diagnostics.error_count() > kExplained) {
    complain_about_missing(complaints, ops.front(), {});
    return;
  }
  group.start();
  present.start();
  for (const DeviceId device : devices) {
    group.mark(device);
  }
  std::size_t expected = 0;
  for (const OpId op : ops) {
    const DeviceId device = plan.device(op);
    if (!group.is_marked(device)) {
      complaints.error("E0425", op, "device",
                       fmt::format("{} takes part in a collective of the group \"{}\", but {} is "
                                   "not in it",
                                   complaints.op(op), plan.group_name(plan.shape(op).group),
                                   complaints.device(device)),
                       "add the device to the group, or use another group");
    } else if (!present.mark(device)) {
      complaints.error(
          "E0424", op, "",
          fmt::format("{} takes part in the collective \"{}\" twice; the second time as {}",
                      complaints.device(device), plan.match(op), complaints.op(op)),
          "give the two collectives different \"match\" names");
    } else {
      ++expected;
    }
  }
  if (expected < devices.size()) {
    std::vector<DeviceId> missing;
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(missing),
                 [&](DeviceId device) { return present.mark(device); });
    if (!missing.empty()) {
      complain_about_missing(complaints, ops.front(), missing);
    }
  }
  check_root(complaints, ops.front(), group);
}

}  // namespace

void check_collectives(const Complaints& complaints) {
  const Plan& plan = complaints.plan;
  Attendance group(plan.device_count());
  Attendance present(plan.device_count());
  for (std::size_t i = 0; i < plan.instance_count(); ++i) {
    const auto ops = plan.instance_ops(id_at<InstanceId>(i));
    check_attendance(complaints, ops, group, present);
    for (const OpId op : ops.subspan(1)) {
      check_agreement(complaints, ops.front(), op);
    }
  }
}

void check_messages(const Complaints& complaints) {
  const Plan& plan = complaints.plan;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    const bool sends = plan.kind(op) == OpKind::kSend;
    if (!sends && plan.kind(op) != OpKind::kRecv) {
      continue;
    }
    const MessageOp& message = plan.message(op);
    const std::string_view opposite = sends ? "recv" : "send";
    if (message.peer == plan.device(op)) {
      complaints.error(
          "E0434", op, "peer",
          fmt::format("{} {} itself", complaints.op(op), sends ? "sends to" : "receives from"),
          "name another device");
    } else if (message.partner == no_id<OpId>()) {
      complaints.error(sends ? "E0431" : "E0432", op, "",
                       fmt::format("{} {} {} with tag {}, where no {} is left to meet it",
                                   complaints.op(op), sends ? "sends to" : "receives from",
                                   complaints.device(message.peer), message.tag, opposite),
                       fmt::format("add a {} on {} with \"peer\": {}, \"tag\": {}", opposite,
                                   complaints.device(message.peer),
                                   complaints.device(plan.device(op)), message.tag));
    } else if (sends && plan.message(message.partner).bytes != message.bytes) {
      complaints.error("E0433", message.partner, "bytes",
                       fmt::format("{} sends {} bytes, but {} receives {}", complaints.op(op),
                                   message.bytes.count, complaints.op(message.partner),
                                   plan.message(message.partner).bytes.count),
                       "both must name the same number; messages of one (from, to, tag) meet in "
                       "file order");
    }
  }
}

}  // namespace twinrun::detail
