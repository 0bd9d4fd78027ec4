#include "exec/discover/hwloc_topology.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <dlfcn.h>

namespace twinrun::exec {

std::string hwloc_library() {
  const char* const given =
      std::getenv("TWINRUN_HWLOC");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return given != nullptr && *given != '\0' ? given : "libhwloc.so.15";
}

#if defined(TWINRUN_HAS_HWLOC)

template <class Function>
bool HwlocCalls::find(const char* name, Function*& out) {
  out = reinterpret_cast<Function*>(dlsym(library_, name));
  return out != nullptr;
}

// Local, so that plugins of hwloc's, which would wake GPUs, do not find it and stay away.
HwlocCalls::HwlocCalls(const std::string& file)
    : library_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  is_complete_ = library_ != nullptr && find_all();
}

bool HwlocCalls::find_all() {
  return find("hwloc_get_api_version", api_version) &&
         api_version() >> 16 == HWLOC_API_VERSION >> 16 && find("hwloc_topology_init", init) &&
         find("hwloc_topology_destroy", destroy) && find("hwloc_topology_set_flags", set_flags) &&
         find("hwloc_topology_set_type_filter", set_type_filter) &&
         find("hwloc_topology_set_xml", set_xml) &&
         find("hwloc_topology_set_synthetic", set_synthetic) && find("hwloc_topology_load", load) &&
         find("hwloc_topology_is_thissystem", is_this_system) &&
         find("hwloc_topology_get_allowed_cpuset", allowed) && find("hwloc_get_cpubind", binding) &&
         find("hwloc_get_type_depth", depth_of) && find("hwloc_get_nbobjs_by_depth", count_at) &&
         find("hwloc_get_obj_by_depth", object_at) && find("hwloc_bitmap_alloc", new_set) &&
         find("hwloc_bitmap_free", free_set) && find("hwloc_bitmap_isset", has) &&
         find("hwloc_bitmap_next", next_in);
}

HwlocTopology::HwlocTopology(const std::string& library, const std::string& file_or_description)
    : calls_(library) {
  if (!calls_.is_complete() || calls_.init(&topology_) != 0) {
    return;
  }
  is_loaded_ = load(file_or_description);
  binding_ = calls_.new_set();
  knows_binding_ = is_loaded_ && calls_.binding(topology_, binding_, HWLOC_CPUBIND_THREAD) == 0;
}

HwlocTopology::~HwlocTopology() {
  if (topology_ != nullptr) {
    calls_.free_set(binding_);
    calls_.destroy(topology_);
  }
}

// Processors that are not allowed stay in, and are left out by usable(): NUMA nodes whose memory is
// denied would take their cores along. Of this machine, adapters are found in /sys; asking hwloc
// for them would make it ask drivers.
bool HwlocTopology::load(const std::string& file_or_description) {
  const bool is_this_machine = file_or_description.empty();
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_BRIDGE, HWLOC_OBJ_PCI_DEVICE}) {
    calls_.set_type_filter(topology_, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  }
  if (!is_this_machine) {
    calls_.set_type_filter(topology_, HWLOC_OBJ_OS_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL);
  }
  std::error_code error;
  const bool is_file = std::filesystem::is_regular_file(file_or_description, error);
  return calls_.set_flags(topology_, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 &&
         (is_this_machine ||
          (is_file ? calls_.set_xml(topology_, file_or_description.c_str())
                   : calls_.set_synthetic(topology_, file_or_description.c_str())) == 0) &&
         calls_.load(topology_) == 0;
}

std::vector<hwloc_obj_t> HwlocTopology::objects(hwloc_obj_type_t type) const {
  std::vector<hwloc_obj_t> out;
  const int depth = calls_.depth_of(topology_, type);
  const unsigned count = calls_.count_at(topology_, depth);  // 0 of a depth that is none
  for (unsigned i = 0; i < count; ++i) {
    out.push_back(calls_.object_at(topology_, depth, i));
  }
  return out;
}

bool HwlocTopology::has(hwloc_const_bitmap_t set, int index) const {
  return set != nullptr && index >= 0 && calls_.has(set, static_cast<unsigned>(index)) != 0;
}

std::vector<int> HwlocTopology::usable(hwloc_const_cpuset_t set) const {
  const hwloc_const_cpuset_t allowed = calls_.allowed(topology_);
  std::vector<int> out;
  for (int cpu = set == nullptr ? -1 : calls_.next_in(set, -1); cpu >= 0;
       cpu = calls_.next_in(set, cpu)) {
    if (has(allowed, cpu) && (!knows_binding_ || has(binding_, cpu))) {
      out.push_back(cpu);
    }
  }
  return out;
}

std::string info_of(hwloc_obj_t object, const char* name) {
  for (unsigned i = 0; i < object->infos_count; ++i) {
    if (std::string_view(object->infos[i].name) == name) {
      return object->infos[i].value;
    }
  }
  return "";
}

#endif

}  // namespace twinrun::exec
