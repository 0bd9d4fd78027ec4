// The calls of NCCL that communicate.
#include <cstddef>

#include <nccl.h>

#include "tests/substitute/nccl_group.h"
#include "tests/substitute/reductions.h"

namespace substitute {
namespace {

// Everything but the buffers and the stream, which stand in other places in each call.
ncclResult_t work_call(ncclComm_t handle, const NcclWork& work, cudaStream_t stream) {
  const std::size_t bytes = work.count * bytes_of(work.type);
  return nccl_call({work.function, stream, bytes}, [&] { return add_work(handle, work, stream); });
}

}  // namespace
}  // namespace substitute

// NOLINTBEGIN(readability-*): the names are NCCL's
ncclResult_t ncclAllReduce(const void* send,
                           void* receive,
                           std::size_t count,
                           ncclDataType_t type,
                           ncclRedOp_t operation,
                           ncclComm_t comm,
                           cudaStream_t stream) {
  return substitute::work_call(
      comm,
      {substitute::NcclKind::kAllReduce, "ncclAllReduce", send, receive, count, type, operation},
      stream);
}

ncclResult_t ncclReduce(const void* send,
                        void* receive,
                        std::size_t count,
                        ncclDataType_t type,
                        ncclRedOp_t operation,
                        int root,
                        ncclComm_t comm,
                        cudaStream_t stream) {
  return substitute::work_call(
      comm,
      {substitute::NcclKind::kReduce, "ncclReduce", send, receive, count, type, operation, root},
      stream);
}

ncclResult_t ncclBroadcast(const void* send,
                           void* receive,
                           std::size_t count,
                           ncclDataType_t type,
                           int root,
                           ncclComm_t comm,
                           cudaStream_t stream) {
  return substitute::work_call(comm,
                               {substitute::NcclKind::kBroadcast, "ncclBroadcast", send, receive,
                                count, type, ncclSum, root},
                               stream);
}

ncclResult_t ncclBcast(void* buffer,
                       std::size_t count,
                       ncclDataType_t type,
                       int root,
                       ncclComm_t comm,
                       cudaStream_t stream) {
  return substitute::work_call(
      comm,
      {substitute::NcclKind::kBroadcast, "ncclBcast", buffer, buffer, count, type, ncclSum, root},
      stream);
}

ncclResult_t ncclReduceScatter(const void* send,
                               void* receive,
                               std::size_t count,
                               ncclDataType_t type,
                               ncclRedOp_t operation,
                               ncclComm_t comm,
                               cudaStream_t stream) {
  return substitute::work_call(comm,
                               {substitute::NcclKind::kReduceScatter, "ncclReduceScatter", send,
                                receive, count, type, operation},
                               stream);
}

ncclResult_t ncclAllGather(const void* send,
                           void* receive,
                           std::size_t count,
                           ncclDataType_t type,
                           ncclComm_t comm,
                           cudaStream_t stream) {
  return substitute::work_call(
      comm, {substitute::NcclKind::kAllGather, "ncclAllGather", send, receive, count, type},
      stream);
}

ncclResult_t ncclSend(const void* send,
                      std::size_t count,
                      ncclDataType_t type,
                      int peer,
                      ncclComm_t comm,
                      cudaStream_t stream) {
  return substitute::work_call(
      comm, {substitute::NcclKind::kSend, "ncclSend", send, nullptr, count, type, ncclSum, peer},
      stream);
}

ncclResult_t ncclRecv(void* receive,
                      std::size_t count,
                      ncclDataType_t type,
                      int peer,
                      ncclComm_t comm,
                      cudaStream_t stream) {
  return substitute::work_call(
      comm,
      {substitute::NcclKind::kReceive, "ncclRecv", nullptr, receive, count, type, ncclSum, peer},
      stream);
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
ncclResult_t ncclAlltoAll(const void* send,
                          void* receive,
                          std::size_t count,
                          ncclDataType_t type,
                          ncclComm_t comm,
                          cudaStream_t stream) {
  return substitute::work_call(
      comm, {substitute::NcclKind::kAllToAll, "ncclAlltoAll", send, receive, count, type}, stream);
}

ncclResult_t ncclGather(const void* send,
                        void* receive,
                        std::size_t count,
                        ncclDataType_t type,
                        int root,
                        ncclComm_t comm,
                        cudaStream_t stream) {
  return substitute::work_call(
      comm,
      {substitute::NcclKind::kGather, "ncclGather", send, receive, count, type, ncclSum, root},
      stream);
}

ncclResult_t ncclScatter(const void* send,
                         void* receive,
                         std::size_t count,
                         ncclDataType_t type,
                         int root,
                         ncclComm_t comm,
                         cudaStream_t stream) {
  return substitute::work_call(
      comm,
      {substitute::NcclKind::kScatter, "ncclScatter", send, receive, count, type, ncclSum, root},
      stream);
}
#endif
// NOLINTEND(readability-*)
