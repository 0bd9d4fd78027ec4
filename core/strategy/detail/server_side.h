#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/strategy/detail/server_traffic.h"
#include "core/strategy/step_builder.h"

namespace twinrun {

// The ops of servers, and of machines that sum for their ranks, once those of the ranks are there.
class ServerSide {
 public:
  ServerSide(StepBuilder& steps, ServerTraffic& traffic);
  void emit();

 private:
  // One transfer of one step.
  struct Exchange {
    std::int64_t step = 0;
    std::size_t family = 0;
    std::size_t number = 0;  // of the transfer
    const ShardTransfer* transfer = nullptr;
    const ServerFamily* of = nullptr;
    std::string name;
    std::size_t home = 0;  // where the server keeps the weights
  };
  using Ops = std::vector<OpId>;
  // Where the gradients of somebody lie on a device.
  struct Place {
    Store store = Store::kGradients;
    DeviceId sender = no_id<DeviceId>();
  };
  // Gradients that came from one party, or from one stage of it.
  struct Arrival {
    std::string from;
    Ops ops;
    Place place;
  };
  // What the server keeps of one transfer; of one for several families where they share a tensor.
  struct Kept {
    std::size_t families = 0;  // that exchange it
    std::vector<std::vector<Arrival>>
        arrivals;  // of the step at hand, by party, of those families that were collected
    std::size_t collected = 0;
    Ops updates;  // after which the weights of the next step are there; one, or one for each party
    Ops clocks;   // when all parties' are, by step; bounded only
  };

  [[nodiscard]] Place place_of_rank(const Exchange& what, DeviceId at, std::int64_t replica) const;
  [[nodiscard]] Place place_of_party(const Exchange& what, const ServerParty& party) const;
  [[nodiscard]] Place place_in_machine(const Exchange& what, const ServerParty& party) const;
  void say_what_moves(const Exchange& what, OpId op, const Place& place);
  void say_what_is_computed(
      const Exchange& what, OpId op, Verb verb, const Place& from, Store into);

  void hold_state();
  void hold(DeviceId device, const std::string& label, MemoryPart part, Bytes bytes);
  [[nodiscard]] Exchange exchange(std::int64_t step, std::size_t family, std::size_t number) const;

  void answer(const Exchange& what);
  [[nodiscard]] Ops current_weights(const Exchange& what, std::size_t party) const;
  void answer_machine(const Exchange& what, const ServerParty& party, const Ops& after);
  void hand_to_rank(const Exchange& what,
                    DeviceId from,
                    const std::string& from_label,
                    std::int64_t replica,
                    const Ops& after);

  void collect(const Exchange& what);
  Ops arrive_from_rank(const Exchange& what,
                       DeviceId at,
                       const std::string& at_label,
                       std::int64_t replica);
  Ops sum_in_machine(const Exchange& what, const ServerParty& party);
  void find_homes();
  void update_once(const Exchange& what, Kept& kept);
  void update_each(const Exchange& what, Kept& kept);
  OpId update_with(const Exchange& what,
                   const std::string& from,
                   const std::vector<Arrival>& arrivals);
  Ops summed(const Exchange& what, const std::vector<Arrival>& arrivals);
  OpId add_sum(const Exchange& what,
               DeviceId device,
               const std::string& at_label,
               const std::string& from,
               const Ops& after);  // what is summed is said by the caller
  OpId add_update(const Exchange& what, const std::string& from, const Ops& after);

  [[nodiscard]] StreamId stream(DeviceId device,
                                const Exchange& what,
                                std::string_view use,
                                std::string_view with);
  [[nodiscard]] DeviceId server_of(const Exchange& what) const {
    return traffic_.server(what.transfer->server);
  }
  void depend(OpId op, const Ops& on);

  StepBuilder& steps_;
  ServerTraffic& traffic_;
  std::vector<std::vector<std::size_t>> homes_;  // by family and transfer: place in kept_
  std::vector<Kept> kept_;
};

}  // namespace twinrun
