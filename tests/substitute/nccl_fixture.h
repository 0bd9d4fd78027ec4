#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/substitute/fixture.h"

// One communicator over all devices of one process, and a stream on each.
class NcclTest : public SubstituteTest {
 protected:
  void start(int ranks) {
    substitute::set_device_count(ranks);
    comms_.resize(static_cast<std::size_t>(ranks));
    streams_.clear();
    ASSERT_EQ(ncclCommInitAll(comms_.data(), ranks, nullptr), ncclSuccess);
    for (int rank = 0; rank < ranks; ++rank) {
      streams_.push_back(new_stream(rank));
    }
  }

  [[nodiscard]] int ranks() const { return static_cast<int>(comms_.size()); }
  [[nodiscard]] ncclComm_t comm(int rank) const { return comms_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] cudaStream_t stream(int rank) const {
    return streams_[static_cast<std::size_t>(rank)];
  }

  // One group with a call for every rank.
  void group(const std::function<ncclResult_t(int rank)>& call) const {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < ranks(); ++rank) {
      ASSERT_EQ(call(rank), ncclSuccess) << ncclGetLastError(nullptr);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  }

  static ncclResult_t async_error(ncclComm_t comm) {
    ncclResult_t error = ncclNumResults;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &error), ncclSuccess);
    return error;
  }

  // Until a rank reports something; what it reports.
  static ncclResult_t wait_for_async_error(ncclComm_t comm);
  // Whether the stream has nothing left to do, soon.
  static bool finishes(cudaStream_t stream);
  // Whether it still has something to do after a while.
  static bool stays_pending(cudaStream_t stream);

  std::vector<ncclComm_t> comms_;
  std::vector<cudaStream_t> streams_;
};
