#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nccl.h>

#include "tests/substitute/clique.h"

namespace substitute {

// One rank's communicator in this process.
class Communicator {
 public:
  Communicator(int rank, int ranks, int device, bool is_blocking);

  // What it wants to run is run in the order in which it was issued, on whichever streams.
  std::uint64_t issue();
  void begin(std::uint64_t ticket);
  void end(Picoseconds time);
  // Until nothing that was issued is left; at once when it is aborted or failed.
  void drain();

  [[nodiscard]] bool is_freed() const;   // aborted here or, unless that is local, anywhere
  [[nodiscard]] bool is_usable() const;  // created, not aborted
  void abort();
  void fail(ncclResult_t code, const std::string& text);
  [[nodiscard]] ncclResult_t async_error();
  [[nodiscard]] std::string error_text();

  // The shared part, once creation has found it.
  void set_clique(std::shared_ptr<Clique> clique);
  [[nodiscard]] std::shared_ptr<Clique> clique() const;
  void set_created(ncclResult_t result, const std::string& text);
  [[nodiscard]] ncclResult_t creation() const { return creation_.load(); }

  int rank;   // of a split known only when all have told their colours; then fixed
  int ranks;  //
  const int device;
  const bool is_blocking;
  std::uint64_t step = 0;                // of collectives; only whoever has its turn uses it
  std::uint64_t splits = 0;              // only the thread that splits
  Picoseconds last_end = 0;              // only whoever has its turn
  std::atomic<bool> is_cut_off = false;  // by fail_communicator

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Clique> clique_;  // shared by the ranks of this process
  std::uint64_t issued_ = 0;
  std::uint64_t ended_ = 0;
  std::atomic<bool> is_aborted_ = false;
  std::atomic<ncclResult_t> creation_ = ncclInProgress;
  ncclResult_t error_ = ncclSuccess;
  std::string error_text_;
};

class Communicators {
 public:
  ncclComm_t add(int rank, int ranks, int device, bool is_blocking);
  // nullptr when it is none (any more).
  [[nodiscard]] std::shared_ptr<Communicator> find(ncclComm_t handle);
  void remove(ncclComm_t handle);
  [[nodiscard]] std::vector<std::string> leaks();
  void abort_all();
  void set_times_to_zero();

 private:
  std::mutex mutex_;
  std::map<ncclComm_t, std::shared_ptr<Communicator>> live_;
};

Communicators& communicators();

[[nodiscard]] double nccl_init_timeout_seconds();
[[nodiscard]] bool nccl_abort_is_local();
void forget_nccl_settings();

}  // namespace substitute

// NCCL's name for what its handle points at.
struct ncclComm final : substitute::Communicator {
  using Communicator::Communicator;
};
