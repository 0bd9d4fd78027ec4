#pragma once

#include <map>
#include <memory>
#include <vector>

#include "core/strategy/gradient_sync.h"
#include "core/strategy/server_sites.h"
#include "core/strategy/step_builder.h"

namespace twinrun {

class ServerTraffic;

// Parameter servers (Li et al., OSDI 2014). A step of a worker pulls the weights, computes, and
// pushes the gradients; servers sum and update. Explicit ops, so that a run shows who waits for
// whom:
//
//   rank     pull-server0   W0 W1 W2                       weights, in the order of forward
//            compute           F0 F1 F2 B2 B1 B0
//            push-server0                 G2 G1 G0         gradients, as soon as they are complete
//   server0  recv-rank0                   G2 G1 G0         one stream a worker
//            sum-rank0                       +2 +1 +0      3 · 4 bytes an element
//            update                             U2 U1 U0
//            send-rank0                                W0 W1 W2     of the next step
//
// Weights are pulled in the order in which forward needs them, so the first pull waits for the
// gradients that come last. With all workers' traffic on one port that makes the textbook's
// 2 N K (N workers of K bytes; 2 (N − 1) K when the server is one of them).
//
// sync     a group is updated when all workers' gradients are in; pulls see all of them
// async    each worker's gradient is applied when it comes, in a stream of its own, and its next
//          pull waits for nothing else
// bounded  as async, but the pull for step t waits until all workers' gradients of step
//          t − staleness − 1 are in (Ho et al., NeurIPS 2013)
//
// Where the sites say so, gradients are summed in each machine first, and weights come to it once.
class ServerSync : public GradientSync {
 public:
  ServerSync(StepBuilder& steps, const ServerSites& sites);
  ~ServerSync() override;

  void begin_step(const RankStep& at) override;
  std::vector<OpId> before_block(const RankStep& at, std::size_t block, Pass pass) override;
  void gradients_ready(const RankStep& at,
                       const std::vector<std::size_t>& layers,
                       OpId op) override;
  std::vector<OpId> reduced(const RankStep& at) override;
  [[nodiscard]] bool updates_on_ranks() const override { return false; }
  void finish() override;

 private:
  void pull(const RankStep& at, std::size_t number);
  void push_complete(const RankStep& at);
  void push(const RankStep& at, std::size_t number, OpId ready);

  StepBuilder& steps_;
  std::unique_ptr<ServerTraffic> traffic_;
  std::vector<std::size_t> block_of_layer_;
  // Of the rank and step at hand.
  std::map<std::size_t, std::vector<OpId>> pulls_;  // by block that needs them
  std::vector<std::size_t> missing_;                // by transfer: layers that are not ready
  std::vector<OpId> ready_;                         // by transfer: the last that became so
  std::size_t next_ = 0;                            // transfer to push
  OpId last_ready_ = no_id<OpId>();
};

// Servers as the job asks for them; sums in the machines first when asked to. Where there is no
// place for a server it complains, and what it gives does nothing.
std::unique_ptr<GradientSync> make_server_sync(StepBuilder& steps, bool sums_in_machines = false);

// Asynchronous workers start together: the first steps are not like the others. Sets what is to be
// left out of averages.
void set_server_warmup(StepBuilder& steps);

}  // namespace twinrun
