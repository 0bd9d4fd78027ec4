#include "exec/cuda/device_places.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "core/base/diagnostics.h"

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

// How many GPUs a process stands for.
int gpus_in(const std::vector<bool>& is_gpu, const DeviceHomes& homes, int process) {
  int out = 0;
  for (std::size_t i = 0; i < is_gpu.size(); ++i) {
    out += is_gpu[i] && homes.process_of(id_at<DeviceId>(i)) == process ? 1 : 0;
  }
  return out;
}

int first_gpu(const std::vector<bool>& is_gpu,
              const DeviceHomes& homes,
              const GpuProcess& process) {
  int first = 0;
  for (int other = process.rank - process.local_rank; other < process.rank; ++other) {
    first += gpus_in(is_gpu, homes, other);
  }
  const int wanted = std::max(gpus_in(is_gpu, homes, process.rank), 1);
  if (first + wanted <= process.gpus) {
    return first;
  }
  const bool is_alone = process.processes == 1;
  if (!is_alone && process.gpus == wanted) {
    return 0;  // the launcher shows each process its own
  }
  throw CannotRun(fmt::format(
      "the plan needs {} GPU{} {}, and there {} {}: take fewer devices (-n of execute, --ranks of "
      "collective), or more machines with one process for each GPU",
      first + wanted, first + wanted == 1 ? "" : "s", is_alone ? "in one process" : "on a machine",
      process.gpus == 1 ? "is" : "are", process.gpus));
}

}  // namespace

std::vector<DevicePlace> device_places(const Plan& plan,
                                       const DeviceHomes& homes,
                                       const GpuProcess& process) {
  const std::vector<bool> is_gpu = gpus_of(plan);
  std::vector<DevicePlace> out(is_gpu.size());
  bool has_any = false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].is_here = homes.process_of(id_at<DeviceId>(i)) == process.rank;
    out[i].is_host = !is_gpu[i];
    has_any = has_any || out[i].is_here;
  }
  if (!has_any) {
    return out;
  }
  const int first = first_gpu(is_gpu, homes, process);
  int next = first;
  std::map<std::string_view, int> of_machine;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].is_here && is_gpu[i]) {
      out[i].gpu = next++;
      of_machine.try_emplace(machine_of(plan.device_name(id_at<DeviceId>(i))), out[i].gpu);
    }
  }
  // A host's streams are those of the first GPU of its machine.
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].is_here && !is_gpu[i]) {
      const auto found = of_machine.find(machine_of(plan.device_name(id_at<DeviceId>(i))));
      out[i].gpu = found == of_machine.end() ? first : found->second;
    }
  }
  return out;
}

}  // namespace twinrun::exec
