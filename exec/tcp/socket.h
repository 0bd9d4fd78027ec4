#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

namespace twinrun::exec {

using TcpClock = std::chrono::steady_clock;

// A descriptor, closed with this object.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(); }

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  void close();

 private:
  int descriptor_ = -1;
};

// An address of either family, with its port. Plain bytes: it is sent to other processes.
struct SocketAddress {
  sockaddr_storage bytes{};
  std::uint32_t length = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  [[nodiscard]] int family() const { return bytes.ss_family; }
  [[nodiscard]] int port() const;
  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] SocketAddress with_port(int port) const;
  [[nodiscard]] std::string text() const;  // "127.0.0.1:29501", "[::1]:29501"
};

// All addresses of a host; when there are none, why.
struct FoundAddresses {
  std::vector<SocketAddress> all;
  std::string trouble;
};
FoundAddresses addresses_of(const std::string& host, int port);
// "localhost", or a number: what it stands for is the same on all machines.
bool is_same_everywhere(const std::string& host);
// Every interface of this machine.
SocketAddress any_address(int family, int port);

SocketAddress own_address(const Socket& socket);
SocketAddress peer_address(const Socket& socket);

// Sockets that wait for nobody. Not open, with errno set, when it cannot be done.
Socket listen_at(const SocketAddress& address);
Socket accept_from(const Socket& listener);
// Waits until it is connected, or the deadline has passed.
Socket connect_to(const SocketAddress& address, TcpClock::time_point deadline);

// Until one of them can be read from, or the deadline has passed; says which.
std::vector<bool> wait_to_read(const std::vector<int>& descriptors, TcpClock::time_point deadline);

// All of it, or false: the other end is gone, or the deadline has passed.
bool read_all(const Socket& socket, std::span<char> into, TcpClock::time_point deadline);
bool write_all(const Socket& socket, std::span<const char> data, TcpClock::time_point deadline);
// The other end has closed it; nothing is taken out.
bool is_closed_by_peer(const Socket& socket);

// Of a call that did not wait: it can be made again.
bool is_for_later(int number);
std::string text_of_errno(int number);

}  // namespace twinrun::exec
