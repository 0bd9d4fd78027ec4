#include "tests/substitute/memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/substitute/devices.h"
#include "tests/substitute/refusal.h"

namespace substitute {
namespace {

constexpr std::size_t kAlignment = 512;  // as cudaMalloc aligns
constexpr std::size_t kGap = 4096;  // between allocations: the address after an end is nobody's
constexpr std::size_t kLargestReservation = std::size_t{4} << 40;
constexpr std::size_t kSmallestReservation = std::size_t{1} << 30;
// New memory holds rubbish, as on a GPU: as a float every element is a NaN. Only so far, since huge
// allocations that are hardly touched should stay cheap.
constexpr int kRubbish = 0xFF;
constexpr std::size_t kRubbishBytes = std::size_t{64} << 20;

// Not through the C library: sanitizers would prepare shadow memory for terabytes.
void* reserve(std::size_t bytes) {
  const long got = syscall(SYS_mmap, nullptr, bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return got == -1
             ? nullptr
             : reinterpret_cast<void*>(got);  // NOLINT(performance-no-int-to-ptr): a system call's
}

std::shared_ptr<std::byte[]> new_bytes(std::size_t bytes) {
  auto* const raw = static_cast<std::byte*>(std::calloc(std::max<std::size_t>(bytes, 1), 1));
  if (raw == nullptr) {
    return nullptr;
  }
  std::memset(raw, kRubbish, std::min(bytes, kRubbishBytes));
  return {raw, [](std::byte* old) { std::free(old); }};
}

void* pointer_at(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): the map's keys
}

std::uintptr_t number(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

std::string leak_line(const char* what, const void* at, std::size_t bytes, int device) {
  return std::to_string(bytes) + " bytes of " + what + " at " + address_text(at) + ", device " +
         std::to_string(device);
}

}  // namespace

std::string address_text(const void* pointer) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", pointer);
  return text;
}

DeviceMemory::DeviceMemory() {
  std::size_t bytes = kLargestReservation;
  void* begin = reserve(bytes);
  while (begin == nullptr && bytes > kSmallestReservation) {
    bytes /= 4;
    begin = reserve(bytes);
  }
  if (begin == nullptr) {
    refuse("no address space could be reserved for device pointers.");
  }
  reserved_begin_ = number(begin);
  reserved_end_ = reserved_begin_ + bytes;
  next_ = reserved_begin_ + kGap;
}

void* DeviceMemory::allocate(int device, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(device);
  used_bytes_.resize(std::max(used_bytes_.size(), index + 1));
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t capacity = machine().device(device).memory_bytes;
  if (rounded < bytes || rounded > capacity - std::min(capacity, used_bytes_[index])) {
    return nullptr;
  }
  const std::uintptr_t step = (rounded + kGap + kGap - 1) / kGap * kGap;
  auto owner = step <= reserved_end_ - next_ ? new_bytes(bytes) : nullptr;
  if (owner == nullptr) {
    return nullptr;
  }
  const std::uintptr_t begin = next_;
  next_ += step;
  used_bytes_[index] += rounded;
  device_[begin] = {begin, bytes, device, false, false, std::move(owner)};
  return pointer_at(begin);
}

void* DeviceMemory::allocate_pinned(int device, std::size_t bytes) {
  auto owner = new_bytes(bytes);
  if (owner == nullptr) {
    return nullptr;
  }
  void* const begin = owner.get();
  const std::lock_guard lock(mutex_);
  pinned_[number(begin)] = {number(begin), bytes, device, false, false, std::move(owner)};
  return begin;
}

bool DeviceMemory::pin(void* from, std::size_t bytes, int device) {
  const std::lock_guard lock(mutex_);
  if (find_in(pinned_, from) != nullptr) {
    return false;
  }
  pinned_[number(from)] = {number(from), bytes, device, false, true, nullptr};
  return true;
}

bool DeviceMemory::is_allocation(const void* pointer, Place place) const {
  const std::lock_guard lock(mutex_);
  const Allocations& all = place == Place::kDevice ? device_ : pinned_;
  const auto found = all.find(number(pointer));
  return found != all.end() && !found->second.was_freed && !found->second.is_users;
}

void DeviceMemory::free(void* pointer) {
  const std::lock_guard lock(mutex_);
  Allocation& allocation = device_.at(number(pointer));
  const std::size_t rounded = (allocation.bytes + kAlignment - 1) / kAlignment * kAlignment;
  used_bytes_[static_cast<std::size_t>(allocation.device)] -= rounded;
  allocation.was_freed = true;
  allocation.bytes_of.reset();
}

void DeviceMemory::free_pinned(void* pointer) {
  const std::lock_guard lock(mutex_);
  pinned_.erase(number(pointer));
}

bool DeviceMemory::unpin(void* pointer) {
  const std::lock_guard lock(mutex_);
  const auto found = pinned_.find(number(pointer));
  if (found == pinned_.end() || !found->second.is_users) {
    return false;
  }
  pinned_.erase(found);
  return true;
}

const DeviceMemory::Allocation* DeviceMemory::find_in(const Allocations& all,
                                                      const void* pointer) const {
  auto after = all.upper_bound(number(pointer));
  if (after == all.begin()) {
    return nullptr;
  }
  const Allocation& before = std::prev(after)->second;
  return number(pointer) - before.begin < std::max<std::size_t>(before.bytes, 1) ? &before
                                                                                 : nullptr;
}

bool DeviceMemory::is_reserved(const void* pointer) const {
  return number(pointer) >= reserved_begin_ && number(pointer) < reserved_end_;
}

Whereabouts DeviceMemory::find(const void* pointer) const {
  const std::lock_guard lock(mutex_);
  const bool is_device = is_reserved(pointer);
  const Allocation* const found = find_in(is_device ? device_ : pinned_, pointer);
  if (found == nullptr) {
    return {is_device ? Place::kDevice : Place::kPageable, -1, 0, nullptr};
  }
  const void* const base = pointer_at(found->begin);
  return {is_device ? Place::kDevice : Place::kPinned, found->device,
          found->begin + found->bytes - number(pointer), base};
}

void DeviceMemory::refuse_unknown(const void* pointer, const Accessor& accessor) const {
  refuse(std::string(accessor.what) + " uses " + address_text(pointer) +
         ", a device address outside of every allocation.");
}

void DeviceMemory::check_access(const Allocation& allocation,
                                const void* pointer,
                                std::size_t bytes,
                                const Accessor& accessor) const {
  const std::string what(accessor.what);
  if (allocation.was_freed) {
    refuse(what + " uses " + address_text(pointer) + ", which was freed.");
  }
  const std::size_t left = allocation.begin + allocation.bytes - number(pointer);
  if (bytes > left) {
    refuse(what + " accesses " + std::to_string(bytes) + " bytes at " + address_text(pointer) +
           ", where only " + std::to_string(left) + " of an allocation of " +
           std::to_string(allocation.bytes) + " are left.");
  }
}

Bytes DeviceMemory::access(const void* pointer, std::size_t bytes, const Accessor& accessor) const {
  const std::lock_guard lock(mutex_);
  const bool is_device = is_reserved(pointer);
  const Allocation* const found = find_in(is_device ? device_ : pinned_, pointer);
  if (found == nullptr && is_device && bytes > 0) {
    refuse_unknown(pointer, accessor);
  }
  if (found == nullptr) {
    if (accessor.needs_peer_access && bytes > 0) {
      refuse(std::string(accessor.what) + " runs on device " + std::to_string(accessor.device) +
             " and uses " + address_text(pointer) + ", memory of the host that is not pinned.");
    }
    return {static_cast<std::byte*>(const_cast<void*>(pointer)), nullptr};
  }
  check_access(*found, pointer, bytes, accessor);
  if (!is_device) {
    return {static_cast<std::byte*>(const_cast<void*>(pointer)), found->bytes_of};
  }
  if (accessor.needs_peer_access && !machine().may_access(accessor.device, found->device)) {
    refuse(std::string(accessor.what) + " runs on device " + std::to_string(accessor.device) +
           " and uses " + address_text(pointer) + " of device " + std::to_string(found->device) +
           " without peer access.");
  }
  return {found->bytes_of.get() + (number(pointer) - found->begin), found->bytes_of};
}

std::size_t DeviceMemory::used_bytes(int device) const {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(device);
  return index < used_bytes_.size() ? used_bytes_[index] : 0;
}

std::vector<std::string> DeviceMemory::leaks() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [begin, allocation] : device_) {
    if (!allocation.was_freed) {
      const void* const at = pointer_at(begin);
      lines.push_back(leak_line("device memory", at, allocation.bytes, allocation.device));
    }
  }
  for (const auto& [begin, allocation] : pinned_) {
    const void* const at = pointer_at(begin);
    lines.push_back(leak_line("pinned memory", at, allocation.bytes, allocation.device));
  }
  return lines;
}

void DeviceMemory::free_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [begin, allocation] : device_) {
    allocation.was_freed = true;
    allocation.bytes_of.reset();
  }
  pinned_.clear();
  used_bytes_.clear();
}

DeviceMemory& device_memory() {
  static DeviceMemory& only = *new DeviceMemory;  // never destroyed: streams may outlive main
  return only;
}

}  // namespace substitute
