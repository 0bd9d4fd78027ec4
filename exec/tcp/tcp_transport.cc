#include "exec/tcp/tcp_transport.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>

#include "exec/tcp/begun_messages.h"
#include "exec/tcp/connection.h"
#include "exec/tcp/join_processes.h"
#include "exec/tcp/mailbox.h"

namespace twinrun::exec {
namespace {

// Above, a message stays with its sender until it is wanted.
constexpr std::size_t kSmall = 64UL * 1024;
constexpr auto kToFinish = std::chrono::seconds(5);
constexpr int kMostEvents = 32;

std::span<const char> bytes_of(std::span<const float> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size_bytes()};
}

class TcpTransport : public Transport, private FrameTaker {
 public:
  TcpTransport(int rank, std::vector<Socket> connections);

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(peers_.size()); }
  [[nodiscard]] std::int64_t largest_tag() const override {
    return std::numeric_limits<int>::max();
  }
  [[nodiscard]] std::string name() const override { return "tcp"; }
  [[nodiscard]] bool has_sum() const override { return false; }
  [[nodiscard]] bool has_died(int process) const override {
    const Peer& peer = peers_[static_cast<std::size_t>(process)];
    return process != rank_ && peer.connection.is_ended() && !peer.said_goodbye;
  }

  // All count them alike: no message is needed.
  int add_communicator(std::span<const int> ranks) override {
    const int number = communicators_++;
    const bool is_part =
        ranks.empty() || std::find(ranks.begin(), ranks.end(), rank_) != ranks.end();
    return is_part ? number : -1;
  }
  Request send(std::span<const float> data, const Address& to) override {
    return send_bytes(bytes_of(data), to);
  }
  Request send_bytes(std::span<const char> data, const Address& to) override;
  Request receive(std::span<float> into, const Address& from) override {
    return receive_bytes({reinterpret_cast<char*>(into.data()), into.size_bytes()}, from);
  }
  Request receive_bytes(std::span<char> into, const Address& from) override;
  Request sum(std::span<float> /*in_place*/, int /*communicator*/) override {
    throw std::runtime_error("TCP has no all-reduce of its own");
  }
  std::optional<Arrival> test(Request& request) override;

  void finish() override;
  void abort(int exit_code) override;

 private:
  struct Peer {
    explicit Peer(Connection to) : connection(std::move(to)) {}

    Connection connection;
    bool said_goodbye = false;
    bool waits_to_write = false;  // the system tells when it takes more
    std::string bytes;            // of a message that comes and nobody has wanted
    std::uint64_t taker = 0;      // … or who has
    bool is_wanted = false;
  };

  std::span<char> place_for(int from, const FrameHead& head) override;
  void take(int from, const FrameHead& head) override;
  void has_left(std::uint64_t sender) override { begun_[sender].is_done = true; }

  Peer& peer(int process) { return peers_[static_cast<std::size_t>(process)]; }
  void put(int to, const FrameHead& head, std::span<const char> bytes = {});
  void send_to_itself(std::uint64_t number, const Address& to);
  std::span<char> place_in(std::uint64_t taker, int from, std::uint64_t bytes);
  void bring(std::uint64_t taker, Arrived& message);
  void accept(std::uint64_t taker, const Arrived& offer);
  void fill(std::uint64_t taker, std::span<const char> bytes, int from);
  void take_piece(const FrameHead& head);
  void progress();
  void look_at(const epoll_event& event);
  void watch(Peer& peer, int operation, bool for_writing);

  int rank_;
  int communicators_ = 0;
  Socket events_;  // an epoll
  std::vector<Peer> peers_;
  Mailbox mailbox_;
  BegunMessages begun_;
};

TcpTransport::TcpTransport(int rank, std::vector<Socket> connections)
    : rank_(rank), events_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!events_.is_open()) {
    throw std::runtime_error("epoll: " + text_of_errno(errno));
  }
  for (Socket& socket : connections) {
    const auto process = static_cast<int>(peers_.size());
    peers_.emplace_back(Connection(process, std::move(socket)));
  }
  for (int process = 0; process < size(); ++process) {
    if (process != rank_) {
      watch(peer(process), EPOLL_CTL_ADD, false);
    }
  }
}

void TcpTransport::watch(Peer& peer, int operation, bool for_writing) {
  epoll_event event{};
  event.events = for_writing ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u64 = static_cast<std::uint64_t>(&peer - peers_.data());
  ::epoll_ctl(events_.descriptor(), operation, peer.connection.socket().descriptor(), &event);
  peer.waits_to_write = for_writing;
}

// ---- what is sent

void TcpTransport::put(int to, const FrameHead& head, std::span<const char> bytes) {
  Peer& other = peer(to);
  if (other.connection.is_ended()) {
    return;  // never to be done: whoever waits is told by has_died()
  }
  other.connection.put(head, bytes, *this);
  if (other.connection.has_to_write() && !other.waits_to_write) {
    watch(other, EPOLL_CTL_MOD, true);
  }
}

Request TcpTransport::send_bytes(std::span<const char> data, const Address& to) {
  BegunMessage begun;
  begun.other = to.process;
  begun.data = data;
  const std::uint64_t number = begun_.add(begun);
  if (to.process == rank_) {
    send_to_itself(number, to);
  } else {
    const bool is_small = data.size() <= kSmall;
    const FrameHead head{is_small ? FrameKind::kMessage : FrameKind::kOffer,
                         to.tag,
                         to.communicator,
                         0,
                         data.size(),
                         number,
                         0};
    put(to.process, head, is_small ? data : std::span<const char>());
  }
  return Request{static_cast<std::int64_t>(number)};
}

void TcpTransport::send_to_itself(std::uint64_t number, const Address& to) {
  BegunMessage& begun = begun_[number];
  Arrived message{rank_, begun.data.size(), {}, begun.data.size() > kSmall, number};
  if (!message.is_offer) {
    message.bytes.assign(begun.data.begin(), begun.data.end());
    begun.is_done = true;
  }
  if (const auto taker = mailbox_.taker_of(to)) {
    bring(*taker, message);
  } else {
    mailbox_.keep(to, std::move(message));
  }
}

// ---- what is received

Request TcpTransport::receive_bytes(std::span<char> into, const Address& from) {
  BegunMessage begun;
  begun.other = from.process;
  begun.is_receive = true;
  begun.into = into;
  const std::uint64_t taker = begun_.add(begun);
  if (auto message = mailbox_.want(from, taker)) {
    bring(taker, *message);
  }
  return Request{static_cast<std::int64_t>(taker)};
}

std::span<char> TcpTransport::place_in(std::uint64_t taker, int from, std::uint64_t bytes) {
  BegunMessage& begun = begun_[taker];
  if (bytes > begun.into.size()) {
    throw std::runtime_error(fmt::format("rank {} has sent {} bytes where {} were awaited", from,
                                         bytes, begun.into.size()));
  }
  return begun.into.first(bytes);
}

void TcpTransport::bring(std::uint64_t taker, Arrived& message) {
  if (message.is_offer) {
    accept(taker, message);
  } else {
    fill(taker, message.bytes, message.from);
  }
}

void TcpTransport::fill(std::uint64_t taker, std::span<const char> bytes, int from) {
  std::copy(bytes.begin(), bytes.end(), place_in(taker, from, bytes.size()).begin());
  BegunMessage& begun = begun_[taker];
  begun.arrival = {from, static_cast<std::int64_t>(bytes.size())};
  begun.is_done = true;
}

void TcpTransport::accept(std::uint64_t taker, const Arrived& offer) {
  if (offer.from == rank_) {
    fill(taker, begun_[offer.sender].data, rank_);
    begun_[offer.sender].is_done = true;
    return;
  }
  BegunMessage& begun = begun_[taker];
  begun.into = place_in(taker, offer.from, offer.size);  // the pieces fill it from its begin
  begun.arrival = {offer.from, 0};
  put(offer.from, {FrameKind::kAccept, 0, 0, 0, 0, offer.sender, taker});
}

std::span<char> TcpTransport::place_for(int from, const FrameHead& head) {
  if (head.kind == FrameKind::kPiece) {
    const BegunMessage& begun = begun_[head.taker];
    const auto done = static_cast<std::uint64_t>(begun.arrival.bytes);
    if (begun.arrival.from != from || begun.is_done || head.bytes > begun.into.size() - done) {
      throw std::runtime_error(fmt::format("rank {} sends more than it has offered", from));
    }
    return begun.into.subspan(done, head.bytes);
  }
  if (head.kind != FrameKind::kMessage) {
    return {};
  }
  if (head.bytes > kSmall) {
    throw std::runtime_error(fmt::format("rank {} sends {} bytes unasked", from, head.bytes));
  }
  Peer& sender = peer(from);
  const auto taker = mailbox_.taker_of({from, head.tag, head.communicator});
  sender.is_wanted = taker.has_value();
  if (taker) {
    sender.taker = *taker;
    return place_in(*taker, from, head.bytes);
  }
  sender.bytes.resize(head.bytes);
  return sender.bytes;
}

void TcpTransport::take(int from, const FrameHead& head) {
  const Address address{from, head.tag, head.communicator};
  Peer& sender = peer(from);
  switch (head.kind) {
    case FrameKind::kMessage:
      if (sender.is_wanted) {
        BegunMessage& begun = begun_[sender.taker];
        begun.arrival = {from, static_cast<std::int64_t>(head.bytes)};
        begun.is_done = true;
      } else if (const auto taker = mailbox_.taker_of(address)) {  // wanted while it came
        fill(*taker, sender.bytes, from);
      } else {
        mailbox_.keep(address, {from, head.bytes, std::move(sender.bytes)});
        sender.bytes = {};
      }
      return;
    case FrameKind::kOffer: {
      Arrived offer{from, head.bytes, {}, true, head.sender};
      if (const auto taker = mailbox_.taker_of(address)) {
        bring(*taker, offer);
      } else {
        mailbox_.keep(address, std::move(offer));
      }
      return;
    }
    case FrameKind::kAccept:
      return put(from, {FrameKind::kPiece, 0, 0, 0, 0, head.sender, head.taker},
                 begun_[head.sender].data);
    case FrameKind::kPiece:
      return take_piece(head);
    case FrameKind::kGoodbye:
      sender.said_goodbye = true;
      return;
  }
  throw std::runtime_error(fmt::format("rank {} sends what makes no sense", from));
}

void TcpTransport::take_piece(const FrameHead& head) {
  BegunMessage& begun = begun_[head.taker];
  begun.arrival.bytes += static_cast<std::int64_t>(head.bytes);
  begun.is_done = static_cast<std::uint64_t>(begun.arrival.bytes) == begun.into.size();
}

std::optional<Arrival> TcpTransport::test(Request& request) {
  const auto number = static_cast<std::uint64_t>(request);
  if (!begun_[number].is_done) {
    progress();
  }
  const BegunMessage& begun = begun_[number];
  if (begun.is_done) {
    begun_.take_back(number);
    return begun.arrival;
  }
  if (begun.is_receive && begun.other >= 0 && begun.other != rank_ &&
      peer(begun.other).said_goodbye) {
    throw std::runtime_error(
        fmt::format("rank {} has ended without sending what is awaited", begun.other));
  }
  return std::nullopt;
}

// ---- the system

void TcpTransport::progress() {
  std::array<epoll_event, kMostEvents> events{};
  const int count = ::epoll_wait(events_.descriptor(), events.data(), kMostEvents, 0);
  for (int i = 0; i < count; ++i) {
    look_at(events[static_cast<std::size_t>(i)]);
  }
}

void TcpTransport::look_at(const epoll_event& event) {
  Peer& other = peers_[event.data.u64];
  if ((event.events & EPOLLOUT) != 0) {
    other.connection.write(*this);
    if (!other.connection.has_to_write()) {
      watch(other, EPOLL_CTL_MOD, false);
    }
  }
  if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    other.connection.read(*this);
  }
  if (other.connection.is_ended()) {
    other.connection.close();  // which also ends the watching
  }
}

// Says goodbye, and waits until the others have said it too: what is under way arrives.
void TcpTransport::finish() {
  const auto deadline = TcpClock::now() + kToFinish;
  const auto any = [&](const auto& is_so) {
    return std::any_of(peers_.begin(), peers_.end(), [&](const Peer& peer) {
      return &peer != &peers_[static_cast<std::size_t>(rank_)] && !peer.connection.is_ended() &&
             is_so(peer);
    });
  };
  const auto wait_while = [&](const auto& is_so) {
    while (any(is_so) && TcpClock::now() < deadline) {
      epoll_event event{};
      constexpr int kMilliseconds = 10;
      if (::epoll_wait(events_.descriptor(), &event, 1, kMilliseconds) > 0) {
        look_at(event);
      }
    }
  };
  for (int process = 0; process < size(); ++process) {
    if (process != rank_) {
      put(process, {FrameKind::kGoodbye});
    }
  }
  wait_while([](const Peer& peer) { return peer.connection.has_to_write(); });
  for (Peer& peer : peers_) {
    peer.connection.end_writing();
  }
  wait_while([](const Peer& /*peer*/) { return true; });
  for (Peer& peer : peers_) {
    peer.connection.close();
  }
}

void TcpTransport::abort(int /*exit_code*/) {
  for (Peer& peer : peers_) {
    peer.connection.close();
  }
}

}  // namespace

std::unique_ptr<Transport> transport_over(int rank, std::vector<Socket> connections) {
  return std::make_unique<TcpTransport>(rank, std::move(connections));
}

std::unique_ptr<Transport> open_tcp(const TorchrunLaunch& launch, double timeout_s) {
  return transport_over(launch.rank, join_processes(launch, timeout_s));
}

}  // namespace twinrun::exec
