#include "exec/tcp/socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

namespace twinrun::exec {
namespace {

int milliseconds_until(TcpClock::time_point deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - TcpClock::now()).count();
  constexpr milliseconds::rep kAtMost = 1000;  // whoever waits looks at the clock again
  return static_cast<int>(std::clamp<milliseconds::rep>(left, 0, kAtMost));
}

void set_option(const Socket& socket, int level, int option, int value) {
  ::setsockopt(socket.descriptor(), level, option, &value, sizeof value);
}

Socket new_socket(int family) {
  return Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

sockaddr* writable(SocketAddress& address) { return reinterpret_cast<sockaddr*>(&address.bytes); }

const sockaddr_in& as_ipv4(const SocketAddress& address) {
  return *reinterpret_cast<const sockaddr_in*>(&address.bytes);
}

const sockaddr_in6& as_ipv6(const SocketAddress& address) {
  return *reinterpret_cast<const sockaddr_in6*>(&address.bytes);
}

// Nobody listened, and the system gave the socket the very port that it was to connect to.
bool is_connected_to_itself(const Socket& socket) {
  return own_address(socket).text() == peer_address(socket).text();
}

bool is_connected(const Socket& socket, TcpClock::time_point deadline) {
  pollfd wait{socket.descriptor(), POLLOUT, 0};
  while (::poll(&wait, 1, milliseconds_until(deadline)) <= 0) {
    if (TcpClock::now() >= deadline) {
      errno = ETIMEDOUT;
      return false;
    }
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error == 0;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

void Socket::close() {
  if (descriptor_ >= 0) {
    const int kept = errno;  // whoever gives a socket up says why afterwards
    ::close(descriptor_);
    descriptor_ = -1;
    errno = kept;
  }
}

int SocketAddress::port() const {
  return ntohs(family() == AF_INET6 ? as_ipv6(*this).sin6_port : as_ipv4(*this).sin_port);
}

bool SocketAddress::is_loopback() const {
  if (family() == AF_INET6) {
    const in6_addr& address = as_ipv6(*this).sin6_addr;
    constexpr std::uint8_t kLoopbackNet = 127;
    return IN6_IS_ADDR_LOOPBACK(&address) ||
           (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == kLoopbackNet);
  }
  return ntohl(as_ipv4(*this).sin_addr.s_addr) >> 24U == IN_LOOPBACKNET;
}

SocketAddress SocketAddress::with_port(int port) const {
  SocketAddress out = *this;
  const auto in_order = htons(static_cast<std::uint16_t>(port));
  if (family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&out.bytes)->sin6_port = in_order;
  } else {
    reinterpret_cast<sockaddr_in*>(&out.bytes)->sin_port = in_order;
  }
  return out;
}

std::string SocketAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (family() == AF_INET6) {
    ::inet_ntop(AF_INET6, &as_ipv6(*this).sin6_addr, host.data(), host.size());
    return fmt::format("[{}]:{}", host.data(), port());
  }
  ::inet_ntop(AF_INET, &as_ipv4(*this).sin_addr, host.data(), host.size());
  return fmt::format("{}:{}", host.data(), port());
}

FoundAddresses addresses_of(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* first = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &first);
  if (error != 0) {
    return {{}, ::gai_strerror(error)};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> kept(first, ::freeaddrinfo);
  FoundAddresses out;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    SocketAddress& address = out.all.emplace_back();
    std::memcpy(&address.bytes, one->ai_addr, one->ai_addrlen);
    address.length = one->ai_addrlen;
  }
  return out;
}

bool is_same_everywhere(const std::string& host) {
  in_addr ipv4{};
  in6_addr ipv6{};
  return host == "localhost" || ::inet_pton(AF_INET, host.c_str(), &ipv4) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &ipv6) == 1;
}

SocketAddress any_address(int family, int port) {
  SocketAddress out;
  out.bytes.ss_family = static_cast<sa_family_t>(family);  // an address of zeros is any
  out.length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  return out.with_port(port);
}

SocketAddress own_address(const Socket& socket) {
  SocketAddress out;
  out.length = sizeof out.bytes;
  ::getsockname(socket.descriptor(), writable(out), &out.length);
  return out;
}

SocketAddress peer_address(const Socket& socket) {
  SocketAddress out;
  out.length = sizeof out.bytes;
  ::getpeername(socket.descriptor(), writable(out), &out.length);
  return out;
}

Socket listen_at(const SocketAddress& address) {
  Socket out = new_socket(address.family());
  // What is left of a run before does not hold the port.
  set_option(out, SOL_SOCKET, SO_REUSEADDR, 1);
  if (out.is_open() && (::bind(out.descriptor(), address.get(), address.length) != 0 ||
                        ::listen(out.descriptor(), SOMAXCONN) != 0)) {
    out.close();
  }
  return out;
}

Socket accept_from(const Socket& listener) {
  Socket out(::accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  set_option(out, IPPROTO_TCP, TCP_NODELAY, 1);
  return out;
}

Socket connect_to(const SocketAddress& address, TcpClock::time_point deadline) {
  Socket out = new_socket(address.family());
  if (!out.is_open()) {
    return out;
  }
  const bool is_begun = ::connect(out.descriptor(), address.get(), address.length) == 0 ||
                        errno == EINPROGRESS || errno == EINTR;
  if (!is_begun || !is_connected(out, deadline)) {
    out.close();
  } else if (is_connected_to_itself(out)) {
    errno = ECONNREFUSED;
    out.close();
  } else {
    set_option(out, IPPROTO_TCP, TCP_NODELAY, 1);
  }
  return out;
}

std::vector<bool> wait_to_read(const std::vector<int>& descriptors, TcpClock::time_point deadline) {
  std::vector<pollfd> waits;
  waits.reserve(descriptors.size());
  for (const int descriptor : descriptors) {
    waits.push_back({descriptor, POLLIN, 0});
  }
  ::poll(waits.data(), waits.size(), milliseconds_until(deadline));
  std::vector<bool> out;
  out.reserve(waits.size());
  for (const pollfd& wait : waits) {
    out.push_back(wait.revents != 0);
  }
  return out;
}

bool read_all(const Socket& socket, std::span<char> into, TcpClock::time_point deadline) {
  while (!into.empty()) {
    const ssize_t count = ::recv(socket.descriptor(), into.data(), into.size(), 0);
    if (count > 0) {
      into = into.subspan(static_cast<std::size_t>(count));
    } else if (count == 0 || !is_for_later(errno) || TcpClock::now() >= deadline) {
      return false;
    } else {
      wait_to_read({socket.descriptor()}, deadline);
    }
  }
  return true;
}

bool write_all(const Socket& socket, std::span<const char> data, TcpClock::time_point deadline) {
  while (!data.empty()) {
    const ssize_t count = ::send(socket.descriptor(), data.data(), data.size(), MSG_NOSIGNAL);
    if (count > 0) {
      data = data.subspan(static_cast<std::size_t>(count));
    } else if (!is_for_later(errno) || TcpClock::now() >= deadline) {
      return false;
    } else {
      pollfd wait{socket.descriptor(), POLLOUT, 0};
      ::poll(&wait, 1, milliseconds_until(deadline));
    }
  }
  return true;
}

bool is_closed_by_peer(const Socket& socket) {
  char byte = 0;
  const ssize_t count = ::recv(socket.descriptor(), &byte, 1, MSG_PEEK);
  return count == 0 || (count < 0 && !is_for_later(errno));
}

bool is_for_later(int number) {
  return number == EAGAIN || number == EWOULDBLOCK || number == EINTR;
}

std::string text_of_errno(int number) { return std::generic_category().message(number); }

}  // namespace twinrun::exec
