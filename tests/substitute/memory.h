#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace substitute {

// Device memory has two faces. Its addresses lie in a range of address space that nobody may touch,
// so that the host faults when it follows a device pointer; its bytes are somewhere else, and every
// access of the substitute goes through access(). An address is never given out twice, so that an
// access after cudaFree is always seen.

enum class Place { kPageable, kPinned, kDevice };

struct Whereabouts {
  Place place = Place::kPageable;
  int device = -1;             // who owns it; of pinned memory, who was current
  std::size_t bytes_left = 0;  // from the pointer to the end of its allocation
  const void* base = nullptr;  // where the allocation begins
};

// Bytes that may be read and written as long as this is kept.
struct Bytes {
  std::byte* data = nullptr;
  std::shared_ptr<std::byte[]>
      owner;  // shared: the memory may be freed while a stream is still copying
};

// Who wants to access: the sentence when it may not begins with `what`.
struct Accessor {
  std::string_view what;          // "cudaMemcpyAsync", "the kernel _Z4fillPffi"
  int device = -1;                // whose engine reads or writes
  bool needs_peer_access = true;  // copies of the runtime do without: they go through the host
};

class DeviceMemory {
 public:
  DeviceMemory();

  // Both nullptr when the device, or this process, has no room.
  void* allocate(int device, std::size_t bytes);
  void* allocate_pinned(int device, std::size_t bytes);
  // Pins memory that the user allocated; false when it is pinned already.
  bool pin(void* from, std::size_t bytes, int device);

  // The pointer must be what allocate gave.
  [[nodiscard]] bool is_allocation(const void* pointer, Place place) const;
  void free(void* pointer);
  void free_pinned(void* pointer);
  bool unpin(void* pointer);

  // A freed or never allocated device address is refused.
  [[nodiscard]] Whereabouts find(const void* pointer) const;
  // The bytes behind a pointer, also a host's; refuses what is out of bounds, freed, or on a device
  // without access.
  [[nodiscard]] Bytes access(const void* pointer,
                             std::size_t bytes,
                             const Accessor& accessor) const;

  [[nodiscard]] std::size_t used_bytes(int device) const;
  [[nodiscard]] std::vector<std::string> leaks() const;
  void free_all();

 private:
  struct Allocation {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    int device = 0;
    bool was_freed = false;
    bool is_users = false;  // pinned by cudaHostRegister
    std::shared_ptr<std::byte[]> bytes_of;
  };
  using Allocations = std::map<std::uintptr_t, Allocation>;

  [[nodiscard]] const Allocation* find_in(const Allocations& all, const void* pointer) const;
  [[nodiscard]] bool is_reserved(const void* pointer) const;
  [[noreturn]] void refuse_unknown(const void* pointer, const Accessor& accessor) const;
  void check_access(const Allocation& allocation,
                    const void* pointer,
                    std::size_t bytes,
                    const Accessor& accessor) const;

  mutable std::mutex mutex_;
  std::uintptr_t reserved_begin_ = 0;
  std::uintptr_t reserved_end_ = 0;
  std::uintptr_t next_ = 0;
  Allocations device_;  // freed ones too, without bytes
  Allocations pinned_;
  std::vector<std::size_t> used_bytes_;  // by device
};

DeviceMemory& device_memory();

// "0x7f…"
std::string address_text(const void* pointer);

}  // namespace substitute
