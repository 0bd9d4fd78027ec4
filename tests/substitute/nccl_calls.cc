// The calls of NCCL that make, end and ask communicators, and groups.
#include <cstring>
#include <utility>

#include <nccl.h>

#include "tests/substitute/calls.h"
#include "tests/substitute/devices.h"
#include "tests/substitute/nccl_create.h"
#include "tests/substitute/nccl_group.h"
#include "tests/substitute/virtual_clock.h"

namespace substitute {
namespace {

template <class Body>
ncclResult_t communicator_call(const CallNote& note, ncclComm_t handle, Body body) {
  return nccl_call(note, [&] {
    const auto communicator = communicators().find(handle);
    if (communicator == nullptr) {
      return explain_failure(ncclInvalidArgument,
                             std::string(note.function) + ": there is no such communicator");
    }
    return body(*communicator);
  });
}

// Has an answer only once the communicator is there.
template <class Answer>
ncclResult_t communicator_question(const CallNote& note, ncclComm_t handle, Answer answer) {
  return communicator_call(note, handle, [&](const Communicator& communicator) {
    if (communicator.creation() != ncclSuccess) {
      return explain_failure(ncclInvalidArgument,
                             std::string(note.function) + ": the communicator is not ready");
    }
    answer(communicator);
    return ncclSuccess;
  });
}

ncclResult_t cuda_must_work() {
  const cudaError_t error = standing_error();
  if (error == cudaSuccess) {
    return ncclSuccess;
  }
  return explain_failure(ncclUnhandledCudaError,
                         std::string("CUDA says: ") + cudaGetErrorString(error));
}

// The initializers of nccl.h write these into the structures; without them NCCL does not look
// further.
constexpr unsigned kConfigMagic = 0xcafebeef;
constexpr unsigned kSimInfoMagic = 0x74685283;

template <class Structure>
bool was_initialised(const Structure* given, unsigned magic) {
  return given == nullptr || (given->size == sizeof *given && given->magic == magic);
}

bool blocks(const ncclConfig_t* config, bool otherwise) {
  if (config == nullptr || config->blocking == NCCL_CONFIG_UNDEF_INT) {
    return otherwise;
  }
  return config->blocking != 0;
}

ncclResult_t create(
    ncclComm_t* comm, int ranks, const std::string& name, int rank, bool is_blocking) {
  if (const ncclResult_t error = cuda_must_work(); error != ncclSuccess) {
    return error;
  }
  if (comm == nullptr || ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks ||
      !name.starts_with('/')) {
    return explain_failure(ncclInvalidArgument,
                           "the rank, the number of ranks or the unique id cannot be");
  }
  Creation creation = creation_of(name, ranks, rank, is_blocking);
  creation.result = comm;
  return add_creation(std::move(creation));
}

std::string name_in(const ncclUniqueId& id) {
  const char* const text = static_cast<const char*>(id.internal);
  return {text, strnlen(text, sizeof id.internal)};
}

}  // namespace
}  // namespace substitute

// NOLINTBEGIN(readability-*): the names are NCCL's
ncclResult_t ncclGetVersion(int* version) {
  return substitute::nccl_call({"ncclGetVersion"}, [&] {
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
  });
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return substitute::nccl_call({"ncclGetUniqueId"}, [&] {
    const std::string name = substitute::new_clique_name();
    std::memset(id, 0, sizeof *id);
    std::memcpy(static_cast<char*>(id->internal), name.data(), name.size());
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return substitute::nccl_call({"ncclCommInitRank"}, [&] {
    return substitute::create(comm, ranks, substitute::name_in(id), rank, true);
  });
}

ncclResult_t ncclCommInitRankConfig(
    ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return substitute::nccl_call({"ncclCommInitRankConfig"}, [&] {
    if (!substitute::was_initialised(config, substitute::kConfigMagic)) {
      return substitute::explain_failure(ncclInvalidArgument,
                                         "the config lacks NCCL_CONFIG_INITIALIZER");
    }
    return substitute::create(comm, ranks, substitute::name_in(id), rank,
                              substitute::blocks(config, true));
  });
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  return substitute::nccl_call({"ncclCommInitAll"}, [&] {
    const std::string name = substitute::new_clique_name();
    const int before = substitute::current_device();
    substitute::start_group();
    for (int rank = 0; rank < count; ++rank) {
      comms[rank] = nullptr;
      substitute::set_current_device(devices == nullptr ? rank : devices[rank]);
      const ncclResult_t result = substitute::create(&comms[rank], count, name, rank, true);
      if (result != ncclSuccess) {
        substitute::fail_group(result);
        break;
      }
    }
    substitute::set_current_device(before);
    return substitute::end_group();
  });
}

ncclResult_t ncclCommSplit(
    ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t* config) {
  return substitute::nccl_call({"ncclCommSplit"}, [&] {
    const auto parent = substitute::communicators().find(comm);
    if (parent == nullptr || !parent->is_usable() || (color < 0 && color != NCCL_SPLIT_NOCOLOR) ||
        !substitute::was_initialised(config, substitute::kConfigMagic)) {
      return substitute::explain_failure(ncclInvalidArgument,
                                         "ncclCommSplit: no such communicator, colour or config");
    }
    auto creation =
        substitute::split_of(parent, color, key, substitute::blocks(config, parent->is_blocking));
    creation.result = made;
    return substitute::add_creation(std::move(creation));
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return substitute::communicator_call({"ncclCommFinalize"}, comm,
                                       [&](substitute::Communicator& communicator) {
                                         communicator.drain();
                                         return ncclSuccess;
                                       });
}

// Waits for what is running, unless that has failed.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return substitute::communicator_call({"ncclCommDestroy"}, comm,
                                       [&](substitute::Communicator& communicator) {
                                         communicator.drain();
                                         if (communicator.async_error() != ncclSuccess) {
                                           communicator.abort();
                                         } else {
                                           communicator.clique()->leave(communicator.rank);
                                         }
                                         substitute::communicators().remove(comm);
                                         return ncclSuccess;
                                       });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return substitute::communicator_call({"ncclCommAbort"}, comm,
                                       [&](substitute::Communicator& communicator) {
                                         communicator.abort();
                                         substitute::communicators().remove(comm);
                                         return ncclSuccess;
                                       });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return substitute::communicator_call(
      {"ncclCommGetAsyncError"}, comm, [&](substitute::Communicator& communicator) {
        *error = communicator.async_error();
        if (*error != ncclSuccess && *error != ncclInProgress) {
          substitute::explain_failure(*error, communicator.error_text());
        }
        return ncclSuccess;
      });
}

const char* ncclGetLastError(ncclComm_t) { return substitute::last_nccl_failure(); }

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "a call of CUDA failed";
    case ncclSystemError:
      return "the system failed, or other ranks did not come";
    case ncclInternalError:
      return "NCCL failed inside";
    case ncclInvalidArgument:
      return "an argument has a value that is not allowed";
    case ncclInvalidUsage:
      return "NCCL was used in a way that is not allowed";
    case ncclRemoteError:
      return "another rank failed or left";
    case ncclInProgress:
      return "not finished yet";
    case ncclNumResults:
      break;
  }
  return "unknown result code";
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return substitute::communicator_question(
      {"ncclCommCount"}, comm,
      [&](const substitute::Communicator& communicator) { *count = communicator.ranks; });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return substitute::communicator_question(
      {"ncclCommCuDevice"}, comm,
      [&](const substitute::Communicator& communicator) { *device = communicator.device; });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return substitute::communicator_question(
      {"ncclCommUserRank"}, comm,
      [&](const substitute::Communicator& communicator) { *rank = communicator.rank; });
}

ncclResult_t ncclGroupStart() {
  return substitute::nccl_call({"ncclGroupStart"}, [] {
    substitute::start_group();
    return ncclSuccess;
  });
}

ncclResult_t ncclGroupEnd() {
  return substitute::nccl_call({"ncclGroupEnd"}, [] { return substitute::end_group(); });
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info) {
  return substitute::nccl_call({"ncclGroupSimulateEnd"}, [&] {
    if (!substitute::was_initialised(info, substitute::kSimInfoMagic)) {
      return substitute::explain_failure(ncclInvalidArgument,
                                         "the info lacks NCCL_SIM_INFO_INITIALIZER");
    }
    std::vector<substitute::Task> tasks;
    const ncclResult_t result = substitute::drop_group(tasks);
    if (result == ncclSuccess && info != nullptr) {
      info->estimatedTime = substitute::nccl_estimate(tasks);
    }
    return result;
  });
}
// NOLINTEND(readability-*)
