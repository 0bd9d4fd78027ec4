#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nccl.h>

#include "tests/substitute/calls.h"
#include "tests/substitute/nccl_work.h"
#include "tests/substitute/streams.h"

namespace substitute {

// Calls between ncclGroupStart and ncclGroupEnd are kept, and done together at the end of the
// outermost group.

// Making a communicator goes in phases; each may wait for the other ranks to have done the one
// before. So a thread that makes several ranks runs the first phase of all, then the second of all,
// …
struct Creation {
  ncclComm_t handle = nullptr;
  ncclComm_t* result = nullptr;  // where the caller wants it
  std::shared_ptr<Communicator> communicator;
  std::vector<std::function<void()>> phases;  // throw NcclFailure
};

struct NcclFailure {
  ncclResult_t code;
  std::string text;
};

void start_group();
// Does what was kept; what ncclGroupEnd returns.
ncclResult_t end_group();
// Makes end_group drop what was kept and return the code.
void fail_group(ncclResult_t code);
// Drops what was kept; the tasks that would have run.
ncclResult_t drop_group(std::vector<Task>& tasks);

// Into the group, or alone and at once.
ncclResult_t add_creation(Creation creation);
ncclResult_t add_work(ncclComm_t handle, NcclWork work, cudaStream_t stream);

// ncclGetLastError's text, of this thread.
ncclResult_t explain_failure(ncclResult_t code, const std::string& text);
[[nodiscard]] const char* last_nccl_failure();

// What every call of NCCL does first; see calls.h.
template <class Body>
ncclResult_t nccl_call(const CallNote& note, Body body) {
  const Hidden hidden;
  if (const auto fault = begin_call(note)) {
    return explain_failure(static_cast<ncclResult_t>(*fault),
                           std::string(note.function) + ": a test wanted it to fail");
  }
  return body();
}

}  // namespace substitute
