// The calls of NCCL.
#include <cstring>
#include <utility>

#include <nccl.h>

#include "tests/substitute/calls.h"
#include "tests/substitute/devices.h"
#include "tests/substitute/nccl_create.h"
#include "tests/substitute/nccl_group.h"
#include "tests/substitute/reductions.h"
#include "tests/substitute/virtual_clock.h"

namespace substitute {
namespace {

template <class Body>
ncclResult_t nccl_call(const CallNote& note, Body body) {
  const Hidden hidden;
  if (const auto fault = begin_call(note)) {
    return explain_failure(static_cast<ncclResult_t>(*fault),
                           std::string(note.function) + ": a test wanted it to fail");
  }
  return body();
}

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

// Everything but the buffers and the stream, which stand in other places in each call.
ncclResult_t work_call(ncclComm_t handle, NcclWork work, cudaStream_t stream) {
  const std::size_t bytes = work.count * bytes_of(work.type);
  return nccl_call({work.function, stream, bytes}, [&] { return add_work(handle, work, stream); });
}

ncclResult_t cuda_must_work() {
  const cudaError_t error = standing_error();
  if (error == cudaSuccess) {
    return ncclSuccess;
  }
  return explain_failure(ncclUnhandledCudaError,
                         std::string("CUDA says: ") + cudaGetErrorString(error));
}

bool blocks(const ncclConfig_t* config, bool otherwise) {
  if (config == nullptr || config->blocking == NCCL_CONFIG_UNDEF_INT) {
    return otherwise;
  }
  return config->blocking != 0;
}

ncclResult_t create(
    ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank, bool is_blocking) {
  if (const ncclResult_t error = cuda_must_work(); error != ncclSuccess) {
    return error;
  }
  if (comm == nullptr || ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks ||
      id.internal[0] != '/') {
    return explain_failure(ncclInvalidArgument,
                           "the rank, the number of ranks or the unique id cannot be");
  }
  Creation creation = creation_of(static_cast<const char*>(id.internal), ranks, rank, is_blocking);
  creation.result = comm;
  return add_creation(std::move(creation));
}

}  // namespace
}  // namespace substitute

// NOLINTBEGIN(readability-identifier-naming, readability-function-size): names and parameters are
// NCCL's
using substitute::communicator_call;
using substitute::nccl_call;
using substitute::NcclKind;
using substitute::work_call;

ncclResult_t ncclGetVersion(int* version) {
  return nccl_call({"ncclGetVersion"}, [&] {
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
  });
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return nccl_call({"ncclGetUniqueId"}, [&] {
    const std::string name = substitute::new_clique_name();
    std::memset(id, 0, sizeof *id);
    std::memcpy(static_cast<char*>(id->internal), name.data(), name.size());
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return nccl_call({"ncclCommInitRank"},
                   [&] { return substitute::create(comm, ranks, id, rank, true); });
}

ncclResult_t ncclCommInitRankConfig(
    ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return nccl_call({"ncclCommInitRankConfig"}, [&] {
    return substitute::create(comm, ranks, id, rank, substitute::blocks(config, true));
  });
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  return nccl_call({"ncclCommInitAll"}, [&] {
    if (const ncclResult_t error = substitute::cuda_must_work(); error != ncclSuccess) {
      return error;
    }
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    const int before = substitute::current_device();
    ncclResult_t result = ncclSuccess;
    substitute::start_group();
    for (int rank = 0; rank < count && result == ncclSuccess; ++rank) {
      const int device = devices == nullptr ? rank : devices[rank];
      if (!substitute::machine().has(device)) {
        result = substitute::explain_failure(ncclInvalidUsage,
                                             "there is no device " + std::to_string(device));
        break;
      }
      substitute::set_current_device(device);
      result = substitute::create(&comms[rank], count, id, rank, true);
    }
    substitute::set_current_device(before);
    const ncclResult_t end = result == ncclSuccess ? substitute::end_group() : result;
    return end;
  });
}

ncclResult_t ncclCommSplit(
    ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t* config) {
  return nccl_call({"ncclCommSplit"}, [&] {
    const auto parent = substitute::communicators().find(comm);
    if (parent == nullptr || !parent->is_usable() || (color < 0 && color != NCCL_SPLIT_NOCOLOR)) {
      return substitute::explain_failure(ncclInvalidArgument,
                                         "ncclCommSplit: no such communicator, or colour");
    }
    auto creation =
        substitute::split_of(parent, color, key, substitute::blocks(config, parent->is_blocking));
    creation.result = made;
    return substitute::add_creation(std::move(creation));
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return communicator_call({"ncclCommFinalize"}, comm, [&](substitute::Communicator& communicator) {
    communicator.drain();
    return ncclSuccess;
  });
}

// Waits for what is running, unless that has failed.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return communicator_call({"ncclCommDestroy"}, comm, [&](substitute::Communicator& communicator) {
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
  return communicator_call({"ncclCommAbort"}, comm, [&](substitute::Communicator& communicator) {
    communicator.abort();
    substitute::communicators().remove(comm);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return communicator_call({"ncclCommGetAsyncError"}, comm,
                           [&](substitute::Communicator& communicator) {
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
  return communicator_call({"ncclCommCount"}, comm,
                           [&](const substitute::Communicator& communicator) {
                             *count = communicator.ranks;
                             return ncclSuccess;
                           });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return communicator_call({"ncclCommCuDevice"}, comm,
                           [&](const substitute::Communicator& communicator) {
                             *device = communicator.device;
                             return ncclSuccess;
                           });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return communicator_call({"ncclCommUserRank"}, comm,
                           [&](const substitute::Communicator& communicator) {
                             *rank = communicator.rank;
                             return ncclSuccess;
                           });
}

ncclResult_t ncclGroupStart() {
  return nccl_call({"ncclGroupStart"}, [] {
    substitute::start_group();
    return ncclSuccess;
  });
}

ncclResult_t ncclGroupEnd() {
  return nccl_call({"ncclGroupEnd"}, [] { return substitute::end_group(); });
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info) {
  return nccl_call({"ncclGroupSimulateEnd"}, [&] {
    std::vector<substitute::Task> tasks;
    const ncclResult_t result = substitute::drop_group(tasks);
    if (result == ncclSuccess && info != nullptr) {
      info->estimatedTime = substitute::nccl_estimate(tasks);
    }
    return result;
  });
}

ncclResult_t ncclAllReduce(const void* send,
                           void* receive,
                           std::size_t count,
                           ncclDataType_t type,
                           ncclRedOp_t operation,
                           ncclComm_t comm,
                           cudaStream_t stream) {
  return work_call(
      comm, {NcclKind::kAllReduce, "ncclAllReduce", send, receive, count, type, operation}, stream);
}

ncclResult_t ncclReduce(const void* send,
                        void* receive,
                        std::size_t count,
                        ncclDataType_t type,
                        ncclRedOp_t operation,
                        int root,
                        ncclComm_t comm,
                        cudaStream_t stream) {
  return work_call(
      comm, {NcclKind::kReduce, "ncclReduce", send, receive, count, type, operation, root}, stream);
}

ncclResult_t ncclBroadcast(const void* send,
                           void* receive,
                           std::size_t count,
                           ncclDataType_t type,
                           int root,
                           ncclComm_t comm,
                           cudaStream_t stream) {
  return work_call(
      comm, {NcclKind::kBroadcast, "ncclBroadcast", send, receive, count, type, ncclSum, root},
      stream);
}

ncclResult_t ncclBcast(void* buffer,
                       std::size_t count,
                       ncclDataType_t type,
                       int root,
                       ncclComm_t comm,
                       cudaStream_t stream) {
  return work_call(comm,
                   {NcclKind::kBroadcast, "ncclBcast", buffer, buffer, count, type, ncclSum, root},
                   stream);
}

ncclResult_t ncclReduceScatter(const void* send,
                               void* receive,
                               std::size_t count,
                               ncclDataType_t type,
                               ncclRedOp_t operation,
                               ncclComm_t comm,
                               cudaStream_t stream) {
  return work_call(
      comm, {NcclKind::kReduceScatter, "ncclReduceScatter", send, receive, count, type, operation},
      stream);
}

ncclResult_t ncclAllGather(const void* send,
                           void* receive,
                           std::size_t count,
                           ncclDataType_t type,
                           ncclComm_t comm,
                           cudaStream_t stream) {
  return work_call(comm, {NcclKind::kAllGather, "ncclAllGather", send, receive, count, type},
                   stream);
}

ncclResult_t ncclSend(const void* send,
                      std::size_t count,
                      ncclDataType_t type,
                      int peer,
                      ncclComm_t comm,
                      cudaStream_t stream) {
  return work_call(comm, {NcclKind::kSend, "ncclSend", send, nullptr, count, type, ncclSum, peer},
                   stream);
}

ncclResult_t ncclRecv(void* receive,
                      std::size_t count,
                      ncclDataType_t type,
                      int peer,
                      ncclComm_t comm,
                      cudaStream_t stream) {
  return work_call(
      comm, {NcclKind::kReceive, "ncclRecv", nullptr, receive, count, type, ncclSum, peer}, stream);
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
ncclResult_t ncclAlltoAll(const void* send,
                          void* receive,
                          std::size_t count,
                          ncclDataType_t type,
                          ncclComm_t comm,
                          cudaStream_t stream) {
  return work_call(comm, {NcclKind::kAllToAll, "ncclAlltoAll", send, receive, count, type}, stream);
}

ncclResult_t ncclGather(const void* send,
                        void* receive,
                        std::size_t count,
                        ncclDataType_t type,
                        int root,
                        ncclComm_t comm,
                        cudaStream_t stream) {
  return work_call(
      comm, {NcclKind::kGather, "ncclGather", send, receive, count, type, ncclSum, root}, stream);
}

ncclResult_t ncclScatter(const void* send,
                         void* receive,
                         std::size_t count,
                         ncclDataType_t type,
                         int root,
                         ncclComm_t comm,
                         cudaStream_t stream) {
  return work_call(
      comm, {NcclKind::kScatter, "ncclScatter", send, receive, count, type, ncclSum, root}, stream);
}
#endif
// NOLINTEND
