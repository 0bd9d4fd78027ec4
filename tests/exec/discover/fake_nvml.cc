// A library in the place of libnvidia-ml.so.1, for a machine of three GPUs: the first two have four
// NVLinks to each other and two to a switch; the second and third do not reach each other; the
// third does not know its links and is of another domain. Written after NVML's reference.
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

struct PciInfo {
  char short_bus_id[16];
  unsigned domain, bus, device, pci_ids, subsystem_ids;
  char bus_id[32];
};
struct Memory {
  unsigned long long total, free, used;
};

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr const char* kBusIds[] = {"00000000:65:00.0", "00000000:B3:00.0", "00010000:01:00.0"};
constexpr const char* kSwitch = "00000000:C1:00.0";

std::intptr_t number_of(void* device) { return reinterpret_cast<std::intptr_t>(device) - 1; }

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default"))) int

FAKE nvmlInit_v2() { return kSuccess; }
FAKE nvmlShutdown() { return kSuccess; }
FAKE nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 4;  // the last is lost
  return kSuccess;
}
FAKE nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::intptr_t>(index) + 1);
  return index < 3 ? kSuccess : 15;
}
FAKE nvmlDeviceGetPciInfo_v3(void* device, PciInfo* pci) {
  std::strcpy(pci->bus_id, kBusIds[number_of(device)]);
  return kSuccess;
}
FAKE nvmlDeviceGetName(void* device, char* name, unsigned length) {
  std::snprintf(name, length, "Fake %d", static_cast<int>(number_of(device)));
  return kSuccess;
}
FAKE nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  *memory = {std::uint64_t{40} << 30, 1, 2};
  return kSuccess;
}
FAKE nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 8;
  *minor = 6;
  return kSuccess;
}
FAKE nvmlDeviceGetNvLinkState(void* device, unsigned link, int* is_active) {
  *is_active = link < 6 ? 1 : 0;  // links 6 and 7 are there and off
  return number_of(device) < 2 && link < 8 ? kSuccess : kNotSupported;
}
FAKE nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, PciInfo* pci) {
  std::strcpy(pci->bus_id, link < 4 ? kBusIds[1 - number_of(device)] : kSwitch);
  return kSuccess;
}
FAKE nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned link, int* type) {
  *type = link < 4 ? 0 : 2;
  return kSuccess;
}
FAKE nvmlDeviceGetP2PStatus(void* one, void* other, int, int* status) {
  *status = number_of(one) + number_of(other) == 3 ? 2 : 0;
  return kSuccess;
}
