#include "exec/cuda/execute_on_cuda.h"

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "exec/backend_missing.h"
#include "exec/cuda/open_gpus.h"
#include "exec/cuda/open_transport.h"
#include "exec/left_behind.h"
#include "exec/mpi/joined_run.h"
#include "exec/mpi/launcher.h"
#include "exec/training/final_weights.h"
#include "exec/training/step_reports.h"

namespace twinrun::exec {
namespace {

void wait_for(Post& post, Request request) { post.wait(request); }

// From the first process to all others.
std::string spread_from_first(Post& post, std::string bytes) {
  const auto address = [&](int process) {
    return Address{process, Post::kPartTag, post.communicator()};
  };
  std::uint64_t size = bytes.size();
  const std::span<char> size_bytes(reinterpret_cast<char*>(&size), sizeof size);
  if (post.rank() != 0) {
    wait_for(post, post.with_transport([&](Transport& transport) {
      return transport.receive_bytes(size_bytes, address(0));
    }));
    bytes.resize(size);
  }
  for (int other = 1; other < (post.rank() == 0 ? post.size() : 1); ++other) {
    wait_for(post, post.with_transport([&](Transport& transport) {
      return transport.send_bytes(size_bytes, address(other));
    }));
  }
  if (size == 0) {
    return bytes;
  }
  if (post.rank() != 0) {
    wait_for(post, post.with_transport([&](Transport& transport) {
      return transport.receive_bytes(bytes, address(0));
    }));
    return bytes;
  }
  for (int other = 1; other < post.size(); ++other) {
    wait_for(post, post.with_transport([&](Transport& transport) {
      return transport.send_bytes(bytes, address(other));
    }));
  }
  return bytes;
}

}  // namespace

MakePartMachine cuda_part_maker(std::shared_ptr<GpuRuntime> runtime, int local_rank) {
  return [runtime = std::move(runtime), local_rank](const Plan& plan, const ExecuteOptions& options,
                                                    const DeviceHomes& /*homes*/,
                                                    Post& post) -> std::unique_ptr<PartMachine> {
    CudaSetting setting{runtime, post.rank(), post.size(), local_rank};
    if (post.size() > 1) {
      setting.spread_ids = [&post](const std::string& ids) { return spread_from_first(post, ids); };
    }
    return std::make_unique<CudaPart>(plan, options, std::move(setting));
  };
}

Execution execute_on_gpus(const Plan& plan,
                          const ExecuteOptions& options,
                          const CudaSetting& setting) {
  auto part = std::make_unique<CudaPart>(plan, options, setting);
  Execution out;
  out.outcome = part->run(with_step_reports(options, part->training()));
  part->describe(out);
  if (const TrainingWork* const training = part->training();
      training != nullptr && !out.outcome.failure) {
    const std::vector<UpdatedWeights> updated = training->updated_weights();
    out.losses = mean_losses(plan.workload(), training->loss_of_samples());
    out.weights = whole_model(plan.workload(), updated);
    out.replica_disagreement = largest_disagreement(plan.workload(), updated);
  }
  if (out.outcome.left_threads) {
    leave_behind(std::move(part));  // threads, or streams, still use it
  }
  return out;
}

std::string why_cuda_is_missing() {
  try {
    open_gpus();
  } catch (const BackendMissing& error) {
    return error.what();
  }
  return "";
}

int gpu_count() {
  try {
    return open_gpus()->device_count();
  } catch (const BackendMissing&) {
    return 0;
  }
}

Execution execute_on_cuda(const Plan& plan, const ExecuteOptions& options) {
  std::shared_ptr<GpuRuntime> runtime = open_gpus();
  const std::optional<LaunchedRank> launched = launched_rank();
  if (!launched) {
    return execute_on_gpus(plan, options, {std::move(runtime)});
  }
  return run_joined(plan,
                    {options, nullptr, {}, cuda_part_maker(std::move(runtime), launched->local)},
                    open_transport(options.run.timeout_s), launched->size);
}

}  // namespace twinrun::exec
