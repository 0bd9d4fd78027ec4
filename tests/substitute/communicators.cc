#include "tests/substitute/communicators.h"

#include <chrono>
#include <utility>

#include "tests/substitute/refusal.h"
#include "tests/substitute/sanitizers.h"

namespace substitute {
namespace {

constexpr double kInitTimeoutSeconds = 60;

std::atomic<double>& init_timeout() {
  static std::atomic<double> seconds = kInitTimeoutSeconds;
  return seconds;
}

std::atomic<bool>& local_abort() {
  static std::atomic<bool> is_local = false;
  return is_local;
}

}  // namespace

Communicator::Communicator(int its_rank, int its_ranks, int its_device, bool blocks)
    : rank(its_rank), ranks(its_ranks), device(its_device), is_blocking(blocks) {}

std::uint64_t Communicator::issue() {
  const std::lock_guard lock(mutex_);
  return issued_++;
}

void Communicator::begin(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ == ticket; });
}

void Communicator::end(Picoseconds time) {
  const std::lock_guard lock(mutex_);
  last_end = time;
  ++ended_;
  changed_.notify_all();
}

void Communicator::drain() {
  std::unique_lock lock(mutex_);
  // Looks again and again: another process may fail.
  while (!changed_.wait_for(lock, std::chrono::milliseconds(20), [&] {
    return ended_ == issued_ || is_aborted_ || error_ != ncclSuccess || clique_ == nullptr ||
           clique_->has_failed();
  })) {
  }
}

bool Communicator::is_freed() const {
  if (is_aborted_) {
    return true;
  }
  const auto shared = clique();
  return shared != nullptr && shared->is_aborted();
}

bool Communicator::is_usable() const { return creation_ == ncclSuccess && !is_aborted_; }

void Communicator::abort() {
  is_aborted_ = true;
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  const auto shared = clique();
  if (shared == nullptr) {
    return;
  }
  if (!nccl_abort_is_local()) {
    shared->abort_all();
  }
  shared->leave(rank);
}

void Communicator::fail(ncclResult_t code, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (error_ == ncclSuccess) {
    error_ = code;
    error_text_ = text;
  }
  changed_.notify_all();
}

ncclResult_t Communicator::async_error() {
  if (creation_ != ncclSuccess) {
    return creation_;
  }
  const auto shared = clique();
  const ncclResult_t of_all = shared == nullptr ? ncclSuccess : shared->error();
  const std::lock_guard lock(mutex_);
  return error_ != ncclSuccess ? error_ : of_all;
}

std::string Communicator::error_text() {
  const auto shared = clique();
  const std::string of_all = shared == nullptr ? "" : shared->error_text();
  const std::lock_guard lock(mutex_);
  return error_text_.empty() ? of_all : error_text_;
}

void Communicator::set_clique(std::shared_ptr<Clique> clique) {
  const std::lock_guard lock(mutex_);
  clique_ = std::move(clique);
}

std::shared_ptr<Clique> Communicator::clique() const {
  const std::lock_guard lock(mutex_);
  return clique_;
}

void Communicator::set_created(ncclResult_t result, const std::string& text) {
  if (result != ncclSuccess) {
    fail(result, text);
  }
  creation_ = result;
}

ncclComm_t Communicators::add(int rank, int ranks, int device, bool is_blocking) {
  const auto made = std::make_shared<ncclComm>(rank, ranks, device, is_blocking);
  const std::lock_guard lock(mutex_);
  live_[made.get()] = made;
  return made.get();
}

std::shared_ptr<Communicator> Communicators::find(ncclComm_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(handle);
  return found == live_.end() ? nullptr : found->second;
}

void Communicators::remove(ncclComm_t handle) {
  const std::lock_guard lock(mutex_);
  live_.erase(handle);
}

std::vector<std::string> Communicators::leaks() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [handle, communicator] : live_) {
    lines.push_back("communicator of rank " + std::to_string(communicator->rank) + " of " +
                    std::to_string(communicator->ranks) + ", device " +
                    std::to_string(communicator->device));
  }
  return lines;
}

void Communicators::abort_all() {
  std::map<ncclComm_t, std::shared_ptr<Communicator>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(live_);
  }
  for (const auto& [handle, communicator] : all) {
    communicator->abort();
  }
}

void Communicators::set_times_to_zero() {
  const std::lock_guard lock(mutex_);
  for (const auto& [handle, communicator] : live_) {
    communicator->last_end = 0;
  }
}

Communicators& communicators() {
  static Communicators& only = *new Communicators;  // never destroyed: streams may outlive main
  return only;
}

double nccl_init_timeout_seconds() { return init_timeout(); }
bool nccl_abort_is_local() { return local_abort(); }

void forget_nccl_settings() {
  init_timeout() = kInitTimeoutSeconds;
  local_abort() = false;
}

void set_nccl_init_timeout_seconds(double seconds) {
  const Hidden hidden;
  init_timeout() = seconds;
}

void set_nccl_abort_is_local(bool is_local) {
  const Hidden hidden;
  local_abort() = is_local;
}

void fail_communicator(ncclComm_t communicator, ncclResult_t code) {
  const Hidden hidden;
  const auto known = communicators().find(communicator);
  if (known == nullptr) {
    refuse("fail_communicator was called for what is no communicator (any more).");
  }
  known->is_cut_off = true;
  known->fail(code, "a test cut the communicator off");
}

}  // namespace substitute
