#include "tests/substitute/clique.h"

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <new>
#include <utility>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace substitute {
namespace {

constexpr std::chrono::milliseconds kLook{50};  // between looks at who still lives

std::size_t index_of(int number) { return static_cast<std::size_t>(number); }

std::size_t aligned(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

std::size_t boxes_at() { return aligned(sizeof(SharedHeader)); }
std::size_t mail_at(std::size_t ranks) {
  return boxes_at() + aligned(ranks * ranks * sizeof(Mailbox));
}
std::size_t slots_at(std::size_t ranks) { return mail_at(ranks) + ranks * ranks * kMailBytes; }
std::size_t segment_bytes(std::size_t ranks) {
  return slots_at(ranks) + 2 * (ranks + 1) * kSlotBytes;
}

// Not the C library's condition variables: a process that dies in one takes the others with it.
void futex_wait(std::atomic<std::uint32_t>& word,
                std::uint32_t seen,
                std::chrono::nanoseconds longest) {
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(longest.count() / 1'000'000'000);
  timeout.tv_nsec = static_cast<long>(longest.count() % 1'000'000'000);
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Also of one that nobody has waited for yet: it is dead all the same.
bool is_alive(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  if (!std::getline(file, text)) {
    return false;
  }
  const std::size_t end_of_name = text.rfind(')');
  return end_of_name == std::string::npos || end_of_name + 2 >= text.size() ||
         (text[end_of_name + 2] != 'Z' && text[end_of_name + 2] != 'X');
}

void initialise(std::byte* base, int ranks) {
  auto* const header = new (base) SharedHeader;
  header->ranks = ranks;
  for (std::size_t box = 0; box < index_of(ranks * ranks); ++box) {
    new (base + boxes_at() + box * sizeof(Mailbox)) Mailbox;
  }
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&header->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  header->is_ready.store(1, std::memory_order_release);
}

std::byte* map_segment(int file, std::size_t bytes) {
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

// The creator gives the file its size before anybody else may map it, and says when its contents
// are ready.
std::byte* open_segment(int file,
                        std::size_t bytes,
                        std::chrono::steady_clock::time_point deadline) {
  struct stat status {};
  while (fstat(file, &status) == 0 && static_cast<std::size_t>(status.st_size) < bytes) {
    if (status.st_size > 0 || std::chrono::steady_clock::now() > deadline) {
      return nullptr;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::byte* const base = map_segment(file, bytes);
  while (base != nullptr &&
         reinterpret_cast<SharedHeader*>(base)->is_ready.load(std::memory_order_acquire) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      munmap(base, bytes);
      return nullptr;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return base;
}

// Ranks of one process share one mapping, so that ThreadSanitizer sees one memory.
struct Attached {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Clique>> by_name;
};

Attached& attached() {
  static Attached& only = *new Attached;  // never destroyed: streams may outlive main
  return only;
}

}  // namespace

std::shared_ptr<Clique> Clique::attach(const std::string& name,
                                       int ranks,
                                       double timeout_s,
                                       std::string& error) {
  Attached& all = attached();
  const std::lock_guard lock(all.mutex);
  std::weak_ptr<Clique>& known = all.by_name[name];
  if (auto clique = known.lock()) {
    error = clique->ranks == ranks ? "" : "the ranks do not agree on their number";
    return error.empty() ? clique : nullptr;
  }
  const std::size_t bytes = segment_bytes(index_of(ranks));
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                             std::chrono::duration<double>(timeout_s));
  std::byte* base = nullptr;
  int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file >= 0) {
    base = ftruncate(file, static_cast<off_t>(bytes)) == 0 ? map_segment(file, bytes) : nullptr;
    if (base != nullptr) {
      initialise(base, ranks);
    }
  } else if ((file = shm_open(name.c_str(), O_RDWR, 0600)) >= 0) {
    base = open_segment(file, bytes, deadline);
  }
  if (file >= 0) {
    close(file);
  }
  if (base == nullptr) {
    error = "the shared memory of the communicator could not be opened, or is another's";
    return nullptr;
  }
  auto clique = std::make_shared<Clique>(name, base, bytes, ranks);
  known = clique;
  return clique;
}

Clique::Clique(std::string its_name, std::byte* base, std::size_t bytes, int its_ranks)
    : shared(*reinterpret_cast<SharedHeader*>(base)),
      ranks(its_ranks),
      name(std::move(its_name)),
      base_(base),
      bytes_(bytes),
      edges_(8 * (2 * index_of(its_ranks) + index_of(its_ranks * its_ranks))) {}

Clique::~Clique() { munmap(base_, bytes_); }

Clique::Lock::Lock(Clique& clique) : clique_(clique) {
  if (pthread_mutex_lock(&clique_.shared.mutex) == EOWNERDEAD) {
    pthread_mutex_consistent(&clique_.shared.mutex);
    clique_.shared.error = ncclRemoteError;
    std::snprintf(clique_.shared.error_text.data(), clique_.shared.error_text.size(),
                  "a process of the communicator died");
  }
}

Clique::Lock::~Lock() { pthread_mutex_unlock(&clique_.shared.mutex); }

bool Clique::wait(const Condition& is_true, const Condition& gives_up) {
  auto next_look = std::chrono::steady_clock::now() + kLook;
  for (;;) {
    const std::uint32_t seen = shared.changes.load();
    {
      const Lock lock(*this);
      if (is_true()) {
        return true;
      }
    }
    if (gives_up()) {
      return false;
    }
    futex_wait(shared.changes, seen, kLook);
    if (std::chrono::steady_clock::now() > next_look) {
      check_processes();
      next_look = std::chrono::steady_clock::now() + kLook;
    }
  }
}

void Clique::wake() {
  ++shared.changes;
  futex_wake(shared.changes);
}

void Clique::check_processes() {
  const pid_t self = getpid();
  for (int rank = 0; rank < ranks; ++rank) {
    RankState state;
    {
      const Lock lock(*this);
      state = shared.rank[index_of(rank)];
    }
    if (state.has_joined && !state.has_left && state.process != self && !is_alive(state.process)) {
      fail(ncclRemoteError, "the process of rank " + std::to_string(rank) + " died");
    }
  }
}

std::string Clique::join(int rank, std::uint64_t device_key) {
  bool is_last = false;
  {
    const Lock lock(*this);
    RankState& mine = shared.rank[index_of(rank)];
    if (mine.has_joined) {
      return "rank " + std::to_string(rank) + " was created twice";
    }
    for (int other = 0; other < ranks; ++other) {
      const RankState& its = shared.rank[index_of(other)];
      if (its.has_joined && its.device_key == device_key) {
        return "ranks " + std::to_string(other) + " and " + std::to_string(rank) +
               " have the same device";
      }
    }
    mine = {getpid(), device_key, true, false};
    is_last = ++shared.joined == ranks;
  }
  if (is_last) {
    remove_name();
  }
  wake();
  return "";
}

bool Clique::all_joined() {
  const Lock lock(*this);
  return shared.joined == ranks;
}

std::string Clique::missing_ranks() {
  const Lock lock(*this);
  std::string text;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!shared.rank[index_of(rank)].has_joined) {
      text += (text.empty() ? "" : ", ") + std::to_string(rank);
    }
  }
  return text;
}

void Clique::remove_name() { shm_unlink(name.c_str()); }

void Clique::leave(int rank) {
  {
    const Lock lock(*this);
    shared.rank[index_of(rank)].has_left = true;
  }
  wake();
}

void Clique::fail(ncclResult_t code, const std::string& text) {
  {
    const Lock lock(*this);
    if (shared.error != ncclSuccess) {
      return;
    }
    shared.error = code;
    std::snprintf(shared.error_text.data(), shared.error_text.size(), "%s", text.c_str());
  }
  wake();
}

void Clique::abort_all() {
  fail(ncclRemoteError, "another rank aborted the communicator");
  {
    const Lock lock(*this);
    shared.is_aborted = true;
  }
  wake();
}

bool Clique::is_aborted() {
  const Lock lock(*this);
  return shared.is_aborted;
}

ncclResult_t Clique::error() {
  const Lock lock(*this);
  return static_cast<ncclResult_t>(shared.error);
}

std::string Clique::error_text() {
  const Lock lock(*this);
  return shared.error_text.data();
}

std::optional<Meeting> Clique::meet(std::uint64_t step,
                                    int rank,
                                    const Meeting& mine,
                                    const std::function<void()>& last,
                                    const Condition& gives_up) {
  Meeting& meeting = shared.meeting[step % 2];
  const std::uint64_t round = step / 2;
  bool is_last = false;
  std::string disagreement;
  {
    const Lock lock(*this);
    if (meeting.arrived == 0) {
      meeting.first = mine.first;
      meeting.first_rank = rank;
      meeting.start = mine.start;
      meeting.cost = mine.cost;
    } else if (!(meeting.first == mine.first)) {
      disagreement = "ranks " + std::to_string(meeting.first_rank) + " and " +
                     std::to_string(rank) +
                     " disagree on a collective: its kind, count, type, operation or root";
    }
    meeting.start = std::max(meeting.start, mine.start);
    meeting.cost = std::max(meeting.cost, mine.cost);
    is_last = ++meeting.arrived == ranks;
  }
  if (!disagreement.empty()) {
    fail(ncclInvalidUsage, disagreement);
  }
  if (is_last && !has_failed()) {
    last();
    {
      const Lock lock(*this);
      meeting.arrived = 0;
      meeting.completed = round + 1;
    }
    wake();
  }
  if (!wait([&] { return meeting.completed > round; }, gives_up)) {
    return std::nullopt;
  }
  const Lock lock(*this);
  return meeting;
}

std::byte* Clique::slot(std::uint64_t step, int rank) const {
  const std::size_t all = index_of(ranks);
  return base_ + slots_at(all) + ((step % 2) * (all + 1) + index_of(rank)) * kSlotBytes;
}

Mailbox& Clique::mailbox(int from, int to) const {
  const std::size_t box = index_of(from) * index_of(ranks) + index_of(to);
  return *reinterpret_cast<Mailbox*>(base_ + boxes_at() + box * sizeof(Mailbox));
}

std::byte* Clique::mail(int from, int to) const {
  const std::size_t all = index_of(ranks);
  return base_ + mail_at(all) + (index_of(from) * all + index_of(to)) * kMailBytes;
}

// Eight bytes apart: the sanitizer keeps one place for eight bytes.
const void* Clique::arrival_edge(std::uint64_t step, int rank) const {
  return &edges_[8 * (2 * index_of(rank) + step % 2)];
}

const void* Clique::mail_edge(int from, int to) const {
  const std::size_t all = index_of(ranks);
  return &edges_[8 * (2 * all + index_of(from) * all + index_of(to))];
}

std::optional<int> Clique::other_rank_of_thread(int rank) {
  const std::lock_guard lock(mutex_);
  const int known = lone_threads_.emplace(std::this_thread::get_id(), rank).first->second;
  return known == rank ? std::nullopt : std::optional(known);
}

}  // namespace substitute
