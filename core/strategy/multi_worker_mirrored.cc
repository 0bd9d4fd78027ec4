#include <utility>

#include "core/strategy/detail/builders.h"
#include "core/strategy/packed_all_reduce.h"
#include "core/strategy/step_builder.h"

// TensorFlow's MultiWorkerMirroredStrategy: as mirrored, over machines. The first worker is the
// chief: after each update it writes checkpoints and summaries on its CPU before it goes on, and in
// the next sum of gradients all others wait for it.

namespace twinrun {
namespace {

class ChiefAllReduce : public PackedAllReduce {
 public:
  explicit ChiefAllReduce(StepBuilder& steps) : PackedAllReduce(steps), steps_(steps) {}

  std::vector<OpId> before_block(const RankStep&, std::size_t, Pass pass) override {
    return pass == Pass::kForward ? std::exchange(duties_, {}) : std::vector<OpId>();
  }

  void updated(const RankStep& at, OpId update) override {
    const Time duration = steps_.job().host.checkpoint;
    if (at.rank != 0 || duration == Time{}) {
      return;
    }
    const VertexId host = steps_.host_of(steps_.layout().devices.front());
    const DeviceId device = host == no_id<VertexId>() ? steps_.device(0) : steps_.device_at(host);
    const OpId duty = steps_.plan().add_host(steps_.id(at, "chief/checkpoint"),
                                             steps_.plan().stream(device, "chief"), duration);
    steps_.plan().depend(duty, update);
    if (at.step + 1 < steps_.steps()) {  // ranks are emitted one after the other
      duties_.push_back(duty);
    }
  }

 private:
  StepBuilder& steps_;
  std::vector<OpId> duties_;  // that the next forward pass waits for
};

}  // namespace

void build_multi_worker_mirrored(StepBuilder& steps) {
  ChiefAllReduce sync(steps);
  steps.run(one_f_one_b_schedule, sync);
}

}  // namespace twinrun
