#include "core/strategy/detail/server_side.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/strategy/optimizer_state.h"

namespace twinrun {
namespace {

std::string label_of_server(std::size_t server) { return fmt::format("server{}", server); }

}  // namespace

ServerSide::ServerSide(StepBuilder& steps, ServerTraffic& traffic)
    : steps_(steps), traffic_(traffic) {
  find_homes();
}

// A tensor that stages share is the same for all of them: their gradients make one update.
void ServerSide::find_homes() {
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> shared;  // by server and tensor
  for (const ServerFamily& family : traffic_.families()) {
    std::vector<std::size_t>& homes = homes_.emplace_back();
    for (const ShardTransfer& transfer : family.transfers) {
      std::size_t home = kept_.size();
      if (transfer.shared_as) {
        home = shared.try_emplace({transfer.server, *transfer.shared_as}, home).first->second;
      }
      if (home == kept_.size()) {
        kept_.emplace_back();
      }
      ++kept_[home].families;
      homes.push_back(home);
    }
  }
}

void ServerSide::emit() {
  hold_state();
  for (std::int64_t step = 0; step < steps_.steps(); ++step) {
    for (std::size_t family = 0; family < traffic_.families().size(); ++family) {
      const std::size_t transfers = traffic_.families()[family].transfers.size();
      for (std::size_t i = transfers; i-- > 0;) {
        answer(exchange(step, family, i));
      }
      for (std::size_t i = 0; i < transfers; ++i) {
        collect(exchange(step, family, i));
      }
    }
  }
}

ServerSide::Exchange ServerSide::exchange(std::int64_t step,
                                          std::size_t family,
                                          std::size_t number) const {
  const ServerFamily& of = traffic_.families()[family];
  const ShardTransfer& transfer = of.transfers[number];
  return {step,
          family,
          number,
          &transfer,
          &of,
          traffic_.name_of(family, transfer),
          homes_[family][number]};
}

StreamId ServerSide::stream(DeviceId device,
                            const Exchange& what,
                            std::string_view use,
                            std::string_view with) {
  return steps_.plan().stream(device, fmt::format("server{}-{}{}{}{}", what.transfer->server, use,
                                                  with.empty() ? "" : "-", with, what.of->suffix));
}

void ServerSide::depend(OpId op, const Ops& on) {
  for (const OpId before : on) {
    steps_.plan().depend(op, before);
  }
}

// ---- memory

// A server has weights, optimizer state and an fp32 sum of its shards; a machine that sums for its
// ranks has such a sum and the weights that pass through.
void ServerSide::hold_state() {
  const Training& training = steps_.job().training;
  const StateBytes state = state_bytes(training.dtype, training.optimizer);
  std::vector<std::int64_t> elements(traffic_.server_count());
  std::vector<bool> is_counted(kept_.size());
  for (std::size_t i = 0; i < traffic_.families().size(); ++i) {
    const ServerFamily& family = traffic_.families()[i];
    std::int64_t of_family = 0;
    for (std::size_t j = 0; j < family.transfers.size(); ++j) {
      const ShardTransfer& transfer = family.transfers[j];
      elements[transfer.server] += is_counted[homes_[i][j]] ? 0 : transfer.elements;
      is_counted[homes_[i][j]] = true;
      of_family += transfer.elements;
    }
    for (const ServerParty& party : family.parties) {
      if (traffic_.sums_in_machines()) {
        hold(party.device, party.label + family.suffix, MemoryPart::kBuffers,
             {of_family * (4 + state.weight)});
      }
    }
  }
  for (std::size_t server = 0; server < elements.size(); ++server) {
    const DeviceId device = traffic_.server(server);
    const std::string label = label_of_server(server);
    hold(device, label, MemoryPart::kParameters, {elements[server] * state.weight});
    hold(device, label, MemoryPart::kOptimizer, {elements[server] * state.optimizer});
    hold(device, label, MemoryPart::kGradients, {elements[server] * 4});
  }
}

void ServerSide::hold(DeviceId device, const std::string& label, MemoryPart part, Bytes bytes) {
  if (bytes.count == 0) {
    return;
  }
  const OpId setup = steps_.plan().add_marker(
      fmt::format("setup/{}@{}", kMemoryPartNames[static_cast<std::size_t>(part)], label),
      steps_.plan().stream(device, "setup"));
  steps_.plan().add_memory_effect(setup, {part, bytes, MemoryWhen::kStart});
}

// ---- what ops work on, for real runs

void ServerSide::say_what_moves(const Exchange& what, OpId op, const Place& place) {
  if (steps_.payloads().wanted()) {
    steps_.set_payload(op,
                       traffic_.payload_of(what.family, *what.transfer, place.store, place.sender));
  }
}

void ServerSide::say_what_is_computed(
    const Exchange& what, OpId op, Verb verb, const Place& from, Store into) {
  if (steps_.payloads().wanted()) {
    Payload payload = traffic_.payload_of(what.family, *what.transfer, from.store, from.sender);
    payload.verb = verb;
    payload.target = into;
    steps_.set_payload(op, payload);
  }
}

ServerSide::Place ServerSide::place_of_rank(const Exchange& what,
                                            DeviceId at,
                                            std::int64_t replica) const {
  const DeviceId rank =
      steps_.device(steps_.layout().rank(replica, what.of->stage, what.of->tensor));
  return at == rank ? Place{} : Place{Store::kArrived, rank};
}

ServerSide::Place ServerSide::place_in_machine(const Exchange& what,
                                               const ServerParty& party) const {
  return party.replicas.size() > 1 ? Place{Store::kMachineSums}
                                   : place_of_rank(what, party.device, party.replicas.front());
}

// On the server.
ServerSide::Place ServerSide::place_of_party(const Exchange& what, const ServerParty& party) const {
  if (!traffic_.sums_in_machines()) {
    return place_of_rank(what, server_of(what), party.replicas.front());
  }
  return party.device == server_of(what) ? place_in_machine(what, party)
                                         : Place{Store::kArrived, party.device};
}

// ---- weights to the ranks

void ServerSide::answer(const Exchange& what) {
  for (std::size_t i = 0; i < what.of->parties.size(); ++i) {
    const ServerParty& party = what.of->parties[i];
    const Ops after = current_weights(what, i);
    if (traffic_.sums_in_machines()) {
      answer_machine(what, party, after);
    } else {
      hand_to_rank(what, server_of(what), label_of_server(what.transfer->server),
                   party.replicas.front(), after);
    }
  }
}

ServerSide::Ops ServerSide::current_weights(const Exchange& what, std::size_t party) const {
  const Kept& kept = kept_[what.home];
  if (what.step == 0) {
    return {};
  }
  if (steps_.job().server.mode == ServerMode::kSync) {
    return kept.updates;
  }
  Ops after = {kept.updates[party]};
  const std::int64_t slowest = what.step - steps_.job().server.staleness - 1;
  if (steps_.job().server.mode == ServerMode::kBounded && slowest >= 0) {
    after.push_back(kept.clocks[static_cast<std::size_t>(slowest)]);
  }
  return after;
}

void ServerSide::answer_machine(const Exchange& what, const ServerParty& party, const Ops& after) {
  const std::string id = fmt::format("step{}/pull/{}@{}", what.step, what.name, party.label);
  const StreamId arrivals = stream(party.device, what, "pull", party.label);
  OpId arrived = no_id<OpId>();
  if (party.device == server_of(what)) {
    arrived = steps_.plan().add_marker(id, arrivals);
    depend(arrived, after);
  } else {
    const std::int32_t tag = traffic_.tag_of(what.family, *what.transfer, true, false);
    const Bytes bytes = traffic_.bytes_of(*what.transfer);
    const std::string label = label_of_server(what.transfer->server);
    arrived = steps_.plan().add_recv(id, arrivals, {server_of(what), bytes, tag});
    const OpId sent = steps_.plan().add_send(
        fmt::format("step{}/{}/send/{}/{}@{}", what.step, label, what.name, party.label, label),
        stream(server_of(what), what, "send", party.label), {party.device, bytes, tag});
    depend(sent, after);
    say_what_moves(what, sent, {Store::kServerParameters});
    say_what_moves(what, arrived, {Store::kServerParameters});
  }
  for (const std::int64_t replica : party.replicas) {
    hand_to_rank(what, party.device, party.label, replica, {arrived});
  }
}

// The rank's receive is there already; on the same device it is a marker that only waits.
void ServerSide::hand_to_rank(const Exchange& what,
                              DeviceId from,
                              const std::string& from_label,
                              std::int64_t replica,
                              const Ops& after) {
  const std::size_t rank = steps_.layout().rank(replica, what.of->stage, what.of->tensor);
  const OpId pulled = traffic_.pulled(what.step, what.family, what.number, replica);
  if (from == steps_.device(rank)) {
    return depend(pulled, after);
  }
  const std::int32_t tag =
      traffic_.tag_of(what.family, *what.transfer, true, traffic_.sums_in_machines());
  const std::string to = fmt::format("rank{}", rank);
  const OpId sent = steps_.plan().add_send(
      fmt::format("step{}/{}/send/{}/{}@{}", what.step, from_label, what.name, to, from_label),
      stream(from, what, "send", to),
      {steps_.device(rank), traffic_.bytes_of(*what.transfer), tag});
  depend(sent, after);
  say_what_moves(what, sent, {Store::kServerParameters});
}

// ---- gradients from the ranks

void ServerSide::collect(const Exchange& what) {
  const std::string server = label_of_server(what.transfer->server);
  Kept& kept = kept_[what.home];
  kept.arrivals.resize(what.of->parties.size());
  for (std::size_t i = 0; i < what.of->parties.size(); ++i) {
    const ServerParty& party = what.of->parties[i];
    Ops arrived = traffic_.sums_in_machines()
                      ? sum_in_machine(what, party)
                      : arrive_from_rank(what, server_of(what), server, party.replicas.front());
    kept.arrivals[i].push_back({party.label, std::move(arrived), place_of_party(what, party)});
  }
  if (++kept.collected < kept.families) {
    return;
  }
  if (steps_.job().server.mode == ServerMode::kSync) {
    update_once(what, kept);
  } else {
    update_each(what, kept);
  }
  kept.collected = 0;
  kept.arrivals.clear();
}

ServerSide::Ops ServerSide::arrive_from_rank(const Exchange& what,
                                             DeviceId at,
                                             const std::string& at_label,
                                             std::int64_t replica) {
  const std::size_t rank = steps_.layout().rank(replica, what.of->stage, what.of->tensor);
  if (at == steps_.device(rank)) {
    return {traffic_.pushed(what.step, what.family, what.number, replica)};
  }
  const std::int32_t tag =
      traffic_.tag_of(what.family, *what.transfer, false, traffic_.sums_in_machines());
  const std::string from = fmt::format("rank{}", rank);
  const OpId arrived = steps_.plan().add_recv(
      fmt::format("step{}/{}/recv/{}/{}@{}", what.step, at_label, what.name, from, at_label),
      stream(at, what, "recv", from),
      {steps_.device(rank), traffic_.bytes_of(*what.transfer), tag});
  say_what_moves(what, arrived, place_of_rank(what, at, replica));
  return {arrived};
}

// The sum of a machine's ranks, at the server.
ServerSide::Ops ServerSide::sum_in_machine(const Exchange& what, const ServerParty& party) {
  Ops sums;
  for (const std::int64_t replica : party.replicas) {
    const Ops arrived = arrive_from_rank(what, party.device, party.label, replica);
    const std::size_t rank = steps_.layout().rank(replica, what.of->stage, what.of->tensor);
    if (party.replicas.size() == 1) {
      sums = arrived;
      continue;
    }
    sums.push_back(add_sum(what, party.device, party.label, fmt::format("rank{}", rank), arrived));
    say_what_is_computed(what, sums.back(), Verb::kAdd, place_of_rank(what, party.device, replica),
                         Store::kMachineSums);
  }
  if (party.device == server_of(what)) {
    return sums;
  }
  const std::int32_t tag = traffic_.tag_of(what.family, *what.transfer, false, false);
  const Bytes bytes = traffic_.bytes_of(*what.transfer);
  const std::string server = label_of_server(what.transfer->server);
  const OpId sent = steps_.plan().add_send(
      fmt::format("step{}/push/{}@{}", what.step, what.name, party.label),
      stream(party.device, what, "push", party.label), {server_of(what), bytes, tag});
  depend(sent, sums);
  say_what_moves(what, sent, place_in_machine(what, party));
  const OpId arrived = steps_.plan().add_recv(
      fmt::format("step{}/{}/recv/{}/{}@{}", what.step, server, what.name, party.label, server),
      stream(server_of(what), what, "recv", party.label), {party.device, bytes, tag});
  say_what_moves(what, arrived, place_of_party(what, party));
  return {arrived};
}

ServerSide::Ops ServerSide::summed(const Exchange& what, const std::vector<Arrival>& arrivals) {
  if (arrivals.size() == 1) {
    return arrivals.front().ops;
  }
  Ops sums;
  for (const Arrival& arrival : arrivals) {
    sums.push_back(add_sum(what, server_of(what), label_of_server(what.transfer->server),
                           arrival.from, arrival.ops));
    say_what_is_computed(what, sums.back(), Verb::kAdd, arrival.place, Store::kServerSums);
  }
  return sums;
}

OpId ServerSide::update_with(const Exchange& what,
                             const std::string& from,
                             const std::vector<Arrival>& arrivals) {
  const OpId update = add_update(what, from, summed(what, arrivals));
  say_what_is_computed(what, update, Verb::kUpdate,
                       arrivals.size() == 1 ? arrivals.front().place : Place{Store::kServerSums},
                       Store::kServerParameters);
  return update;
}

void ServerSide::update_once(const Exchange& what, Kept& kept) {
  std::vector<Arrival> all;
  for (const std::vector<Arrival>& of_party : kept.arrivals) {
    all.insert(all.end(), of_party.begin(), of_party.end());
  }
  kept.updates = {update_with(what, "", all)};
}

void ServerSide::update_each(const Exchange& what, Kept& kept) {
  kept.updates.clear();
  for (std::size_t i = 0; i < kept.arrivals.size(); ++i) {
    kept.updates.push_back(update_with(what, what.of->parties[i].label, kept.arrivals[i]));
  }
  if (steps_.job().server.mode == ServerMode::kBounded) {
    const std::string server = label_of_server(what.transfer->server);
    const OpId clock = steps_.plan().add_marker(
        fmt::format("step{}/{}/clock/{}@{}", what.step, server, what.name, server),
        stream(server_of(what), what, "clock", ""));
    depend(clock, kept.updates);
    kept.clocks.push_back(clock);
  }
}

// Reads the sum and what came, writes the sum, in fp32.
OpId ServerSide::add_sum(const Exchange& what,
                         DeviceId device,
                         const std::string& at_label,
                         const std::string& from,
                         const Ops& after) {
  const OpId sum = steps_.plan().add_compute(
      fmt::format("step{}/{}/sum/{}/{}@{}", what.step, at_label, what.name, from, at_label),
      stream(device, what, "sum", from),
      {0, {what.transfer->elements * 3 * 4}, Dtype::kFp32, std::nullopt});
  depend(sum, after);
  return sum;
}

OpId ServerSide::add_update(const Exchange& what, const std::string& from, const Ops& after) {
  const Training& training = steps_.job().training;
  const UpdateWork work = update_work(training.dtype, training.optimizer);
  const OpId update = steps_.plan().add_compute(
      fmt::format("step{}/update/{}{}{}@{}", what.step, what.name, from.empty() ? "" : "/", from,
                  label_of_server(what.transfer->server)),
      stream(server_of(what), what, "update", from),
      {work.flops * static_cast<double>(what.transfer->elements),
       {work.bytes * what.transfer->elements},
       Dtype::kFp32,
       Kernel{KernelKind::kUpdate, 0, 0, 0, what.name, {}}});
  depend(update, after);
  return update;
}

}  // namespace twinrun
