#include "exec/mpi/live_table.h"

#include <cerrno>
#include <fstream>
#include <new>
#include <sstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace twinrun::exec {
namespace {

constexpr std::size_t kHeadSize = 128;  // ops begin behind it
static_assert(sizeof(LiveTable::Head) <= kHeadSize && kHeadSize % alignof(OpTimes) == 0);

std::size_t size_for(std::size_t ops) { return kHeadSize + ops * sizeof(OpTimes); }

std::string file_of(const std::string& folder, int rank) {
  return fmt::format("{}/live.{}", folder, rank);
}

}  // namespace

std::optional<LiveTable> LiveTable::map(int descriptor, std::size_t size) {
  void* const memory =
      descriptor < 0 ? MAP_FAILED
                     : ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const int error = errno;
  if (descriptor >= 0) {
    ::close(descriptor);
  }
  errno = error;
  return memory == MAP_FAILED ? std::nullopt : std::optional(LiveTable(memory, size));
}

LiveTable LiveTable::create(const std::string& folder, int rank, std::size_t ops) {
  const std::size_t size = size_for(ops);
  const int descriptor =
      ::open(file_of(folder, rank).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool has_size = descriptor >= 0 && ::ftruncate(descriptor, static_cast<off_t>(size)) == 0;
  std::optional<LiveTable> table = map(descriptor, size);
  if (!has_size || !table) {
    throw std::system_error(errno, std::generic_category(), file_of(folder, rank));
  }
  Head* const head = new (table->memory_) Head;
  head->started = start_of_process(::getpid());
  head->process = ::getpid();
  return *std::move(table);
}

std::optional<LiveTable> LiveTable::open(const std::string& folder, int rank, std::size_t ops) {
  const int descriptor = ::open(file_of(folder, rank).c_str(), O_RDWR | O_CLOEXEC);
  struct stat status {};
  const bool fits = descriptor >= 0 && ::fstat(descriptor, &status) == 0 &&
                    static_cast<std::size_t>(status.st_size) == size_for(ops);
  if (descriptor >= 0 && !fits) {
    ::close(descriptor);
  }
  return fits ? map(descriptor, size_for(ops)) : std::nullopt;
}

LiveTable::LiveTable(LiveTable&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(other.size_) {}

LiveTable::~LiveTable() {
  if (memory_ != nullptr) {
    ::munmap(memory_, size_);
  }
}

OpTimes* LiveTable::times() const {
  return reinterpret_cast<OpTimes*>(static_cast<char*>(memory_) + kHeadSize);
}

std::int64_t start_of_process(std::int64_t process) {
  constexpr int kStartField = 22;  // of proc(5)'s stat; the second is a name in brackets
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  const std::size_t bracket = line.rfind(')');
  if (bracket == std::string::npos) {
    return 0;
  }
  std::istringstream fields(line.substr(bracket + 1));
  std::string word;
  for (int field = 3; field < kStartField; ++field) {
    fields >> word;
  }
  std::int64_t start = 0;
  fields >> start;
  return start;
}

}  // namespace twinrun::exec
