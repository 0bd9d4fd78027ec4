#pragma once

#include <string>
#include <vector>

// Found by the compiler or not: where the header is missing, or is of another interface, whose
// objects look differently, what needs it is left out.
#if __has_include(<hwloc.h>)
#include <hwloc.h>
#if HWLOC_API_VERSION >> 16 == 2
#define TWINRUN_HAS_HWLOC
#endif
#endif

namespace twinrun::exec {

// libhwloc.so.15, or the file that TWINRUN_HWLOC names.
std::string hwloc_library();

#if defined(TWINRUN_HAS_HWLOC)

// The calls that are used, found when the library is opened: nothing of ours is linked to it.
class HwlocCalls {
 public:
  explicit HwlocCalls(const std::string& file);
  [[nodiscard]] bool is_open() const { return library_ != nullptr; }
  [[nodiscard]] bool is_complete() const { return is_complete_; }

  decltype(hwloc_get_api_version)* api_version = nullptr;
  decltype(hwloc_topology_init)* init = nullptr;
  decltype(hwloc_topology_destroy)* destroy = nullptr;
  decltype(hwloc_topology_set_flags)* set_flags = nullptr;
  decltype(hwloc_topology_set_type_filter)* set_type_filter = nullptr;
  decltype(hwloc_topology_set_xml)* set_xml = nullptr;
  decltype(hwloc_topology_set_synthetic)* set_synthetic = nullptr;
  decltype(hwloc_topology_load)* load = nullptr;
  decltype(hwloc_topology_is_thissystem)* is_this_system = nullptr;
  decltype(hwloc_topology_get_allowed_cpuset)* allowed = nullptr;
  decltype(hwloc_get_cpubind)* binding = nullptr;
  decltype(hwloc_get_type_depth)* depth_of = nullptr;
  decltype(hwloc_get_nbobjs_by_depth)* count_at = nullptr;
  decltype(hwloc_get_obj_by_depth)* object_at = nullptr;
  decltype(hwloc_bitmap_alloc)* new_set = nullptr;
  decltype(hwloc_bitmap_free)* free_set = nullptr;
  decltype(hwloc_bitmap_isset)* has = nullptr;
  decltype(hwloc_bitmap_next)* next_in = nullptr;

 private:
  template <class Function>
  bool find(const char* name, Function*& out);
  bool find_all();

  void* library_;  // stays open
  bool is_complete_ = false;
};

// A topology of hwloc's. Whoever gave up loading it has one without objects.
class HwlocTopology {
 public:
  HwlocTopology(const std::string& library, const std::string& file_or_description);
  HwlocTopology(const HwlocTopology&) = delete;
  HwlocTopology& operator=(const HwlocTopology&) = delete;
  ~HwlocTopology();

  [[nodiscard]] bool is_loaded() const { return is_loaded_; }
  [[nodiscard]] bool is_of_this_machine() const { return calls_.is_this_system(topology_) != 0; }
  [[nodiscard]] std::vector<hwloc_obj_t> objects(hwloc_obj_type_t type) const;
  [[nodiscard]] bool has(hwloc_const_bitmap_t set, int index) const;
  // Numbers of a set of processors that this process may run on, ascending.
  [[nodiscard]] std::vector<int> usable(hwloc_const_cpuset_t set) const;

 private:
  [[nodiscard]] bool load(const std::string& file_or_description);

  HwlocCalls calls_;
  hwloc_topology_t topology_ = nullptr;
  hwloc_bitmap_t binding_ = nullptr;
  bool is_loaded_ = false;
  bool knows_binding_ = false;
};

// What an object says of itself under a name; or "".
std::string info_of(hwloc_obj_t object, const char* name);

#endif

}  // namespace twinrun::exec
