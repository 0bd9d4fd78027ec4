// A library in the place of libhwloc.so.15 that has all of its calls, by being linked to it, but
// says that its interface is the next one.
extern "C" __attribute__((visibility("default"))) unsigned hwloc_get_api_version() {
  return 0x00030000;
}
