#include "exec/cuda/device_places.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "exec/mpi/device_homes.h"

namespace twinrun::exec {
namespace {

bool is_named_gpu(std::string_view name) {
  return name.substr(name.rfind('/') + 1).starts_with("gpu");  // npos + 1 is 0
}

std::string_view machine_of(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

std::vector<bool> gpus_of(const Plan& plan) {
  std::vector<bool> is_gpu;
  for (std::size_t i = 0; i < plan.device_count(); ++i) {
    is_gpu.push_back(is_named_gpu(plan.device_name(id_at<DeviceId>(i))));
  }
  const bool any = std::find(is_gpu.begin(), is_gpu.end(), true) != is_gpu.end();
  return any ? is_gpu : DeviceHomes::ranks(plan);
}

int first_gpu(int wanted, const VisibleGpus& gpus) {
  const int first = gpus.local_rank * wanted;
  if (first + wanted <= gpus.count) {
    return first;
  }
  if (!gpus.is_alone && gpus.count == wanted) {
    return 0;  // the launcher shows each process its own
  }
  throw CannotRun(fmt::format(
      "the plan needs {} GPU{} {}, and there {} {}: take fewer with -n, or more machines with one "
      "process each",
      wanted, wanted == 1 ? "" : "s",
      gpus.is_alone ? "in one process"
                    : fmt::format("for process {} of its machine", gpus.local_rank),
      gpus.count == 1 ? "is" : "are", gpus.count));
}

}  // namespace

std::vector<DevicePlace> device_places(const Plan& plan,
                                       const LocalDevices& here,
                                       const VisibleGpus& gpus) {
  const std::vector<bool> is_gpu = gpus_of(plan);
  const auto is_mine = [&](std::size_t i) { return here.has(id_at<DeviceId>(i)); };
  std::vector<DevicePlace> out(is_gpu.size());
  int wanted = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].is_here = is_mine(i);
    wanted += is_gpu[i] && is_mine(i) ? 1 : 0;
  }
  const bool has_any =
      std::any_of(out.begin(), out.end(), [](const DevicePlace& place) { return place.is_here; });
  const int first = has_any ? first_gpu(std::max(wanted, 1), gpus) : 0;
  int next = first;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = {is_mine(i), !is_gpu[i], first};
    if (is_gpu[i] && is_mine(i)) {
      out[i].gpu = next++;
    }
  }
  // A host's streams are those of the first GPU of its machine.
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t j = 0; out[i].is_here && out[i].is_host && j < out.size(); ++j) {
      const auto machine = [&](std::size_t at) {
        return machine_of(plan.device_name(id_at<DeviceId>(at)));
      };
      if (out[j].is_here && !out[j].is_host && machine(i) == machine(j)) {
        out[i].gpu = out[j].gpu;
        break;
      }
    }
  }
  return out;
}

}  // namespace twinrun::exec
