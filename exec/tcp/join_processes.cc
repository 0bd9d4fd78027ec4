#include "exec/tcp/join_processes.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "exec/backend_missing.h"
#include "exec/not_all_came.h"
#include "exec/tcp/handshake.h"
#include "exec/tcp/reception.h"

namespace twinrun::exec {
namespace {

constexpr auto kBetweenTries = std::chrono::milliseconds(30);
constexpr auto kOneTry = std::chrono::seconds(3);          // then another address
constexpr auto kExtraForOthers = std::chrono::seconds(1);  // the first speaks before they give up

TcpClock::time_point in_seconds(double seconds) {
  return TcpClock::now() +
         std::chrono::duration_cast<TcpClock::duration>(std::chrono::duration<double>(seconds));
}

// ---- the first process

Socket listen_or_refuse(const SocketAddress& address) {
  Socket out = listen_at(address);
  if (!out.is_open() && errno != EADDRNOTAVAIL) {
    throw BackendMissing(fmt::format(
        "rank 0 cannot listen at {}: {}; TWINRUN_PORT, the same for all processes, takes another "
        "port than the one after MASTER_PORT",
        address.text(), text_of_errno(errno)));
  }
  return out;
}

// At the address that the others were told of, if this machine has it. A name that stands for the
// machine itself here (127.0.1.1) is another address elsewhere.
Socket listen_as_first(const TorchrunLaunch& launch) {
  const FoundAddresses found = addresses_of(launch.host, launch.port);
  if (found.all.empty()) {
    throw BackendMissing(fmt::format("MASTER_ADDR={}: {}", launch.host, found.trouble));
  }
  bool has_ipv6 = false;
  for (const SocketAddress& address : found.all) {
    has_ipv6 = has_ipv6 || address.family() == AF_INET6;
    if (!address.is_loopback() || is_same_everywhere(launch.host)) {
      if (Socket out = listen_or_refuse(address); out.is_open()) {
        return out;
      }
    }
  }
  return listen_or_refuse(any_address(has_ipv6 ? AF_INET6 : AF_INET, launch.port));
}

std::vector<Socket> join_as_first(const TorchrunLaunch& launch, double timeout_s) {
  const auto deadline = in_seconds(timeout_s);
  Reception reception(listen_as_first(launch), hello_of(launch), Reception::Answers::kLater);
  std::vector<Reception::Guest> guests = reception.receive(deadline, timeout_s);
  Answer answer;
  for (const Reception::Guest& guest : guests) {
    answer.listeners.push_back(guest.listens);
  }
  std::vector<Socket> out;
  for (Reception::Guest& guest : guests) {
    if (guest.socket.is_open() && !write_answer(guest.socket, answer, in_seconds(timeout_s))) {
      throw BackendMissing(fmt::format("rank {} has ended while all were joining", out.size()));
    }
    out.push_back(std::move(guest.socket));
  }
  return out;
}

// ---- the others

class Joining {
 public:
  Joining(const TorchrunLaunch& launch, double timeout_s)
      : launch_(launch),
        timeout_s_(timeout_s),
        deadline_(in_seconds(timeout_s) + kExtraForOthers),
        hello_(hello_of(launch)) {}

  std::vector<Socket> join() {
    std::vector<Socket> out(static_cast<std::size_t>(launch_.size));
    const std::vector<SocketAddress> listeners = register_at_first(out[0]);
    for (int rank = 1; rank < launch_.rank; ++rank) {
      out[static_cast<std::size_t>(rank)] =
          connect_to_rank(rank, listeners[static_cast<std::size_t>(rank)], out[0]);
    }
    Reception reception(std::move(listener_), hello_, Reception::Answers::kAtOnce);
    std::vector<Reception::Guest> guests = reception.receive(deadline_, timeout_s_);
    for (std::size_t rank = 0; rank < guests.size(); ++rank) {
      if (guests[rank].socket.is_open()) {
        out[rank] = std::move(guests[rank].socket);
      }
    }
    return out;
  }

 private:
  // Again and again: it may not be there yet.
  std::vector<SocketAddress> register_at_first(Socket& first) {
    while (TcpClock::now() < deadline_) {
      const FoundAddresses found = addresses_of(launch_.host, launch_.port);
      trouble_ = found.trouble;
      for (const SocketAddress& address : found.all) {
        if (auto listeners = try_at(address, first)) {
          return *std::move(listeners);
        }
      }
      std::this_thread::sleep_for(kBetweenTries);
    }
    throw NotAllCame(fmt::format("rank 0 has not come to {} port {} within {:.1f} s: {}",
                                 launch_.host, launch_.port, timeout_s_, trouble_));
  }

  std::optional<std::vector<SocketAddress>> try_at(const SocketAddress& address, Socket& first) {
    first = connect_to(address, std::min(deadline_, TcpClock::now() + kOneTry));
    if (!first.is_open()) {
      trouble_ = text_of_errno(errno);
      return std::nullopt;
    }
    listen_beside(first);
    const auto answer = greet(first);
    if (!answer) {
      trouble_ = fmt::format("whoever listens at {} does not answer", address.text());
      return std::nullopt;
    }
    if (answer->verdict != Verdict::kWelcome) {
      throw_refusal(answer->verdict, answer->reason);
    }
    if (answer->listeners.size() != static_cast<std::size_t>(launch_.size)) {
      throw BackendMissing(fmt::format("rank 0 knows of {} processes, rank {} of {}",
                                       answer->listeners.size(), launch_.rank, launch_.size));
    }
    return answer->listeners;
  }

  // Where the first process is reached, the others are. On the machine of the first itself that
  // may be its loopback, which no other machine reaches.
  void listen_beside(const Socket& first) {
    const SocketAddress here = own_address(first).with_port(0);
    const bool is_here_alone = !here.is_loopback() || is_same_everywhere(launch_.host);
    listener_ = listen_at(is_here_alone ? here : any_address(here.family(), 0));
    if (!listener_.is_open()) {
      throw BackendMissing(fmt::format("rank {} cannot listen at {}: {}", launch_.rank, here.text(),
                                       text_of_errno(errno)));
    }
    hello_.listens = here.with_port(own_address(listener_).port());
  }

  std::optional<Answer> greet(const Socket& socket) {
    const std::span<const char> bytes(reinterpret_cast<const char*>(&hello_), sizeof hello_);
    return write_all(socket, bytes, deadline_) ? read_answer(socket, deadline_) : std::nullopt;
  }

  Socket connect_to_rank(int rank, const SocketAddress& told, const Socket& first) {
    const SocketAddress through_first = peer_address(first);
    const bool is_beside_first = told.is_loopback() && !through_first.is_loopback();
    const SocketAddress address = is_beside_first ? through_first.with_port(told.port()) : told;
    Socket out = connect_to(address, deadline_);
    if (!out.is_open()) {
      throw BackendMissing(fmt::format("rank {} cannot connect to rank {} at {}: {}", launch_.rank,
                                       rank, address.text(), text_of_errno(errno)));
    }
    const auto answer = greet(out);
    if (!answer || answer->verdict != Verdict::kWelcome) {
      throw BackendMissing(fmt::format("rank {} at {} does not take rank {} in{}{}", rank,
                                       address.text(), launch_.rank, answer ? ": " : "",
                                       answer ? answer->reason : ""));
    }
    return out;
  }

  TorchrunLaunch launch_;
  double timeout_s_;
  TcpClock::time_point deadline_;
  Hello hello_;
  Socket listener_;
  std::string trouble_;
};

}  // namespace

std::vector<Socket> join_processes(const TorchrunLaunch& launch, double timeout_s) {
  return launch.rank == 0 ? join_as_first(launch, timeout_s) : Joining(launch, timeout_s).join();
}

}  // namespace twinrun::exec
