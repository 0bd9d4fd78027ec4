#include "exec/cpu/plan_work.h"
#include "exec/mpi/mpi_backend.h"
#include "exec/mpi/part_machine.h"
#include "exec/runner.h"

namespace twinrun::exec {
namespace {

class CpuPart : public PartMachine {
 public:
  CpuPart(const Plan& plan, const ExecuteOptions& options, const DeviceHomes& homes, Post& post)
      : plan_(plan),
        options_(options),
        work_(plan, options, homes.local_to(post.rank())),
        backend_(plan, homes, work_.ops(), post) {}

  Outcome run(const RunOptions& options) override { return run_plan(plan_, backend_, options); }
  void describe(Execution& out) const override { work_.describe(options_, out); }
  [[nodiscard]] const TrainingWork* training() const override { return work_.training(); }

 private:
  const Plan& plan_;
  ExecuteOptions options_;
  PlanWork work_;
  MpiBackend backend_;
};

}  // namespace

std::unique_ptr<PartMachine> make_cpu_part(const Plan& plan,
                                           const ExecuteOptions& options,
                                           const DeviceHomes& homes,
                                           Post& post) {
  return std::make_unique<CpuPart>(plan, options, homes, post);
}

}  // namespace twinrun::exec
