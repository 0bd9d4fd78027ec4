#include "exec/discover/machine.h"

#include <algorithm>
#include <cctype>

namespace twinrun::exec {
namespace {

constexpr std::uint16_t kNvidia = 0x10DE;
constexpr std::uint16_t kAmd = 0x1002;
constexpr std::uint32_t kDisplay = 0x03;  // the first byte of a class
constexpr std::uint32_t kVga = 0x0300;    // the first two
constexpr std::uint32_t k3d = 0x0302;     // …
constexpr std::uint32_t kOtherDisplay = 0x0380;
constexpr std::uint32_t kAccelerator = 0x1200;
constexpr std::size_t kDomainDigits = 4;

}  // namespace

const PciFunction* Machine::find(const std::string& bus_id) const {
  const auto found = std::lower_bound(
      pci.begin(), pci.end(), bus_id,
      [](const PciFunction& function, const std::string& id) { return function.bus_id < id; });
  return found != pci.end() && found->bus_id == bus_id ? &*found : nullptr;
}

const DriverGpu* Machine::driver_gpu(const std::string& bus_id) const {
  const auto found = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const DriverGpu& gpu) { return gpu.bus_id == bus_id; });
  return found == gpus.end() ? nullptr : &*found;
}

std::string plain_bus_id(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t domain = std::min(out.find(':'), out.size());
  const std::size_t zeros = std::min(out.find_first_not_of('0'), domain);
  return out.substr(domain > kDomainDigits ? std::min(zeros, domain - kDomainDigits) : 0);
}

bool is_nvidia_gpu(const PciFunction& function) {
  const std::uint32_t kind = function.code >> 8;
  return function.vendor == kNvidia && (kind == kVga || kind == k3d);
}

// Servers have a display adapter of their board's controller, which is none.
bool is_other_gpu(const PciFunction& function) {
  const std::uint32_t kind = function.code >> 8;
  return function.vendor == kAmd &&
         (kind == kOtherDisplay || kind == kAccelerator || function.code >> 16 == kDisplay);
}

}  // namespace twinrun::exec
