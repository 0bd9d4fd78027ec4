#include <cstring>
#include <stdexcept>

#include "exec/cuda/plugin/check.h"
#include "exec/cuda/plugin/cuda_gpus.h"

// What GPUs exchange, by NCCL.

namespace twinrun::exec::gpu {
namespace {

ncclComm_t native(const GpuCommunicator& communicator) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the interface knows no type of NCCL's
  return reinterpret_cast<ncclComm_t>(communicator.handle);
}

ncclDataType_t native(WireType type) {
  switch (type) {
    case WireType::kFp32:
      return ncclFloat32;
    case WireType::kFp16:
      return ncclFloat16;
    case WireType::kBf16:
      return ncclBfloat16;
  }
  return ncclFloat32;
}

std::vector<GpuCommunicator> as_ours(const std::vector<ncclComm_t>& communicators,
                                     const std::vector<int>& devices) {
  std::vector<GpuCommunicator> out;
  for (std::size_t i = 0; i < communicators.size(); ++i) {
    out.push_back({reinterpret_cast<std::uintptr_t>(communicators[i]), devices[i]});
  }
  return out;
}

}  // namespace

std::vector<GpuCommunicator> CudaGpus::join_all(std::span<const int> devices) {
  std::vector<ncclComm_t> made(devices.size());
  check(ncclCommInitAll(made.data(), static_cast<int>(devices.size()), devices.data()),
        "ncclCommInitAll");
  std::vector<GpuCommunicator> out = as_ours(made, {devices.begin(), devices.end()});
  const std::lock_guard lock(mutex_);
  for (const GpuCommunicator& one : out) {
    communicators_.insert(one.handle);
  }
  return out;
}

std::string CudaGpus::new_group_id() {
  ncclUniqueId id{};
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  return {static_cast<const char*>(id.internal), sizeof id.internal};
}

std::vector<GpuCommunicator> CudaGpus::join(const std::string& id,
                                            int ranks,
                                            std::span<const GpuMember> members) {
  ncclUniqueId native_id{};
  if (id.size() != sizeof native_id.internal) {
    throw std::runtime_error("a bug: the id of a communicator is cut off");
  }
  std::memcpy(native_id.internal, id.data(), id.size());
  std::vector<ncclComm_t> made(members.size());
  std::vector<int> devices;
  check(ncclGroupStart(), "ncclGroupStart");
  for (std::size_t i = 0; i < members.size(); ++i) {
    devices.push_back(members[i].device);
    check(cudaSetDevice(members[i].device), "cudaSetDevice");
    check(ncclCommInitRank(&made[i], ranks, native_id, members[i].rank), "ncclCommInitRank");
  }
  check(ncclGroupEnd(), "ncclGroupEnd");
  std::vector<GpuCommunicator> out = as_ours(made, devices);
  const std::lock_guard lock(mutex_);
  for (const GpuCommunicator& one : out) {
    communicators_.insert(one.handle);
  }
  return out;
}

std::string CudaGpus::trouble_of(const GpuCommunicator& communicator) {
  const std::lock_guard lock(mutex_);
  if (!communicators_.contains(communicator.handle)) {
    return "";
  }
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(native(communicator), &state), "ncclCommGetAsyncError");
  if (state == ncclSuccess || state == ncclInProgress) {
    return "";
  }
  const char* const more = ncclGetLastError(native(communicator));
  const std::string detail = more == nullptr ? "" : more;
  return std::string("NCCL: ") + ncclGetErrorString(state) +
         (detail.empty() ? "" : " (" + detail + ")");
}

// True for whoever comes first: it is to be ended once.
bool CudaGpus::forget(const GpuCommunicator& communicator) {
  const std::lock_guard lock(mutex_);
  return communicators_.erase(communicator.handle) == 1;
}

void CudaGpus::leave(const GpuCommunicator& communicator) {
  if (forget(communicator)) {
    check(cudaSetDevice(communicator.device), "cudaSetDevice");
    check(ncclCommDestroy(native(communicator)), "ncclCommDestroy");
  }
}

void CudaGpus::abort(const GpuCommunicator& communicator) {
  if (forget(communicator)) {
    check(cudaSetDevice(communicator.device), "cudaSetDevice");
    check(ncclCommAbort(native(communicator)), "ncclCommAbort");
  }
}

void CudaGpus::begin_group() { check(ncclGroupStart(), "ncclGroupStart"); }

void CudaGpus::communicate(const GpuTransfer& transfer) {
  cudaStream_t const stream = on(transfer.stream);
  ncclComm_t const with = native(transfer.communicator);
  const ncclDataType_t type = native(transfer.type);
  const auto count = static_cast<std::size_t>(transfer.count);
  const void* const from = transfer.from;
  void* const into = transfer.into;
  switch (transfer.kind) {
    case GpuTransferKind::kAllReduce:
      return check(ncclAllReduce(from, into, count, type, ncclSum, with, stream), "ncclAllReduce");
    case GpuTransferKind::kReduceScatter:
      return check(ncclReduceScatter(from, into, count, type, ncclSum, with, stream),
                   "ncclReduceScatter");
    case GpuTransferKind::kAllGather:
      return check(ncclAllGather(from, into, count, type, with, stream), "ncclAllGather");
    case GpuTransferKind::kBroadcast:
      return check(ncclBroadcast(from, into, count, type, transfer.peer, with, stream),
                   "ncclBroadcast");
    case GpuTransferKind::kReduce:
      return check(ncclReduce(from, into, count, type, ncclSum, transfer.peer, with, stream),
                   "ncclReduce");
    case GpuTransferKind::kSend:
      return check(ncclSend(from, count, type, transfer.peer, with, stream), "ncclSend");
    case GpuTransferKind::kReceive:
      return check(ncclRecv(into, count, type, transfer.peer, with, stream), "ncclRecv");
  }
}

void CudaGpus::end_group() { check(ncclGroupEnd(), "ncclGroupEnd"); }

#if defined(NCCL_SIM_INFO_INITIALIZER)  // since 2.22

bool CudaGpus::has_estimates() const { return true; }

double CudaGpus::estimate_group_s() {
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  check(ncclGroupSimulateEnd(&info), "ncclGroupSimulateEnd");
  return static_cast<double>(info.estimatedTime) * 1e-6;
}

#else

bool CudaGpus::has_estimates() const { return false; }

double CudaGpus::estimate_group_s() {
  throw std::runtime_error("NCCL predicts times since 2.22, and this one is older");
}

#endif

}  // namespace twinrun::exec::gpu
