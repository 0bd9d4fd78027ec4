#include "exec/mpi/device_homes.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "exec/training/device_memory.h"

namespace twinrun::exec {
namespace {

constexpr std::size_t kMostNamed = 4;

// A server's ops add, update, copy, send and receive.
bool is_work_of_rank(const Plan& plan, OpId op) {
  if (plan.kind(op) != OpKind::kCompute) {
    return plan.kind(op) == OpKind::kCollective;
  }
  if (const Payload* const payload = plan.payload(op)) {
    return payload->verb == Verb::kForward || payload->verb == Verb::kBackwardInput ||
           payload->verb == Verb::kBackwardWeight;
  }
  const Kernel* const kernel = plan.kernel(op);
  return kernel == nullptr || kernel->kind != KernelKind::kUpdate;
}

// node0 of node0/gpu3; "" where there is one machine.
std::string_view machine_of(std::string_view device) {
  const std::size_t slash = device.find('/');
  return slash == std::string_view::npos ? std::string_view() : device.substr(0, slash);
}

}  // namespace

std::vector<bool> DeviceHomes::ranks(const Plan& plan) {
  std::vector<bool> is_rank(plan.device_count());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (is_work_of_rank(plan, id_at<OpId>(i))) {
      is_rank[index_of(plan.device(id_at<OpId>(i)))] = true;
    }
  }
  if (std::find(is_rank.begin(), is_rank.end(), true) == is_rank.end()) {
    is_rank.assign(is_rank.size(), true);  // a plan of messages alone
  }
  return is_rank;
}

int DeviceHomes::rank_count(const Plan& plan) {
  const std::vector<bool> is_rank = ranks(plan);
  return static_cast<int>(std::count(is_rank.begin(), is_rank.end(), true));
}

DeviceHomes::DeviceHomes(const Plan& plan, int processes)
    : process_(plan.device_count()), number_(plan.device_count()) {
  const std::vector<bool> is_rank = ranks(plan);
  const auto rank_number = std::count(is_rank.begin(), is_rank.end(), true);
  const std::ptrdiff_t used =
      std::min<std::ptrdiff_t>(processes, std::max<std::ptrdiff_t>(rank_number, 1));
  const std::ptrdiff_t each = rank_number / used;
  const std::ptrdiff_t larger = rank_number % used;  // blocks with one more
  const auto process_of_rank = [&](std::ptrdiff_t rank) {
    const std::ptrdiff_t in_larger = larger * (each + 1);
    return static_cast<int>(rank < in_larger ? rank / (each + 1)
                                             : larger + (rank - in_larger) / each);
  };
  std::map<std::string_view, int> first_of_machine;
  std::ptrdiff_t rank = 0;
  for (std::size_t i = 0; i < process_.size(); ++i) {
    if (is_rank[i]) {
      process_[i] = process_of_rank(rank++);
      first_of_machine.try_emplace(machine_of(plan.device_name(id_at<DeviceId>(i))), process_[i]);
    }
  }
  std::vector<std::uint32_t> devices(static_cast<std::size_t>(processes));
  for (std::size_t i = 0; i < process_.size(); ++i) {
    if (!is_rank[i]) {
      const auto found = first_of_machine.find(machine_of(plan.device_name(id_at<DeviceId>(i))));
      process_[i] = found == first_of_machine.end() ? 0 : found->second;
    }
    number_[i] = devices[static_cast<std::size_t>(process_[i])]++;
    most_ = std::max(most_, number_[i] + 1);
  }
}

LocalDevices DeviceHomes::local_to(int process) const {
  std::vector<bool> is_here(process_.size());
  std::transform(process_.begin(), process_.end(), is_here.begin(),
                 [&](int home) { return home == process; });
  return LocalDevices(std::move(is_here));
}

std::string DeviceHomes::name_of(const Plan& plan, int process) const {
  std::string devices;
  std::size_t count = 0;
  for (std::size_t i = 0; i < process_.size(); ++i) {
    if (process_[i] == process && ++count <= kMostNamed) {
      devices += fmt::format("{}{}", count == 1 ? "" : ", ", plan.device_name(id_at<DeviceId>(i)));
    }
  }
  return fmt::format("rank {} ({}{})", process, count == 0 ? "no device" : devices,
                     count > kMostNamed ? ", …" : "");
}

void refuse_distant_copies(const Plan& plan, const DeviceHomes& homes) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const OpId op = id_at<OpId>(i);
    const DeviceId from = plan.device(op);
    const DeviceId to = target_device(plan, op);
    if (plan.payload(op) != nullptr && homes.process_of(from) != homes.process_of(to)) {
      throw CannotRun(fmt::format(
          "{} copies from {} to {}, which are in different processes: --backend cpu runs it, or "
          "machines with one rank each",
          plan.id(op), plan.device_name(from), plan.device_name(to)));
    }
  }
}

}  // namespace twinrun::exec
