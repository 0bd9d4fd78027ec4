#include "exec/tcp/handshake.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "exec/backend_missing.h"

namespace twinrun::exec {
namespace {

constexpr std::array<char, 8> kMagic = {'t', 'w', 'i', 'n', 'r', 'u', 'n', '\n'};
constexpr std::uint32_t kProtocol = 1;  // of the hello and of what is said afterwards
constexpr std::size_t kUnchanging = offsetof(Hello, program);
constexpr std::uint32_t kMostReason = 4096;
constexpr std::uint32_t kMostListeners = 1'000'000;

static_assert(std::is_trivially_copyable_v<Hello>);

struct AnswerHead {
  std::array<char, 8> magic = kMagic;
  Verdict verdict = Verdict::kWelcome;
  std::uint32_t reason = 0;     // bytes
  std::uint32_t listeners = 0;  // addresses
};

// FNV-1a.
std::uint64_t digest_of(std::string_view text) {
  std::uint64_t out = 14695981039346656037U;
  for (const char character : text) {
    out = (out ^ static_cast<unsigned char>(character)) * 1099511628211U;
  }
  return out;
}

std::string program_of(const Hello& hello) {
  return {hello.program.data(), ::strnlen(hello.program.data(), hello.program.size())};
}

std::string described(const Hello& hello) {
  return hello.protocol == kProtocol
             ? fmt::format("rank {} is twinrun {}", hello.rank, program_of(hello))
             : fmt::format("another process is a twinrun with protocol {}", hello.protocol);
}

template <class Plain>
std::span<char> bytes_of(Plain& plain) {
  return {reinterpret_cast<char*>(&plain), sizeof plain};
}

}  // namespace

Hello hello_of(const TorchrunLaunch& launch) {
  Hello out;
  out.magic = kMagic;
  out.protocol = kProtocol;
  out.size_of_this = sizeof out;
  constexpr std::string_view kProgram = TWINRUN_VERSION;
  std::copy_n(kProgram.begin(), std::min(kProgram.size(), out.program.size()), out.program.begin());
  out.rank = launch.rank;
  out.size = launch.size;
  out.run = digest_of(launch.run);
  return out;
}

Judgement judge(const Hello& theirs, const Hello& own) {
  if (theirs.magic != own.magic) {
    return {Verdict::kStranger, "somebody who is no twinrun has connected"};
  }
  const bool has_same_form =
      theirs.protocol == own.protocol && theirs.size_of_this == own.size_of_this;
  if (!has_same_form || program_of(theirs) != program_of(own)) {
    return {Verdict::kWrong,
            fmt::format("{}, rank {} is twinrun {} with protocol {}: all "
                        "processes need the same version",
                        described(theirs), own.rank, program_of(own), own.protocol)};
  }
  if (theirs.run != own.run) {
    return {Verdict::kStranger,
            fmt::format("rank {} of another run of torchrun has connected", theirs.rank)};
  }
  if (theirs.size != own.size) {
    return {Verdict::kWrong,
            fmt::format("rank {} was told of WORLD_SIZE={}, rank {} of WORLD_SIZE={}", theirs.rank,
                        theirs.size, own.rank, own.size)};
  }
  return {};
}

std::optional<Judgement> ArrivingHello::look(const Hello& own) {
  const std::span<char> whole = bytes_of(hello_);
  while (received_ < whole.size()) {
    const std::size_t wanted = received_ < kUnchanging ? kUnchanging : whole.size();
    const ssize_t count =
        ::recv(socket.descriptor(), whole.data() + received_, wanted - received_, 0);
    if (count <= 0) {
      is_gone_ = count == 0 || !is_for_later(errno);
      return std::nullopt;
    }
    received_ += static_cast<std::size_t>(count);
    const bool has_other_form = hello_.magic != own.magic || hello_.protocol != own.protocol ||
                                hello_.size_of_this != own.size_of_this;
    if (received_ == kUnchanging && has_other_form) {
      break;
    }
  }
  return judge(hello_, own);
}

bool write_answer(const Socket& socket, const Answer& answer, TcpClock::time_point deadline) {
  AnswerHead head;
  head.verdict = answer.verdict;
  head.reason = std::min(static_cast<std::uint32_t>(answer.reason.size()), kMostReason);
  head.listeners = static_cast<std::uint32_t>(answer.listeners.size());
  std::string bytes(bytes_of(head).begin(), bytes_of(head).end());
  bytes.append(answer.reason, 0, head.reason);
  const std::span<const char> listeners(reinterpret_cast<const char*>(answer.listeners.data()),
                                        answer.listeners.size() * sizeof(SocketAddress));
  bytes.append(listeners.begin(), listeners.end());
  return write_all(socket, bytes, deadline);
}

std::optional<Answer> read_answer(const Socket& socket, TcpClock::time_point deadline) {
  AnswerHead head;
  if (!read_all(socket, bytes_of(head), deadline)) {
    return std::nullopt;
  }
  if (head.magic != kMagic || head.reason > kMostReason || head.listeners > kMostListeners) {
    throw BackendMissing(
        fmt::format("what listens at {} is no twinrun: another port is taken with TWINRUN_PORT",
                    peer_address(socket).text()));
  }
  Answer out;
  out.verdict = head.verdict;
  out.reason.resize(head.reason);
  out.listeners.resize(head.listeners);
  const std::span<char> listeners(reinterpret_cast<char*>(out.listeners.data()),
                                  out.listeners.size() * sizeof(SocketAddress));
  if (!read_all(socket, out.reason, deadline) || !read_all(socket, listeners, deadline)) {
    return std::nullopt;
  }
  return out;
}

}  // namespace twinrun::exec
