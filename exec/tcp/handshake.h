#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exec/tcp/socket.h"
#include "exec/tcp/torchrun.h"

namespace twinrun::exec {

// What a process says first when it connects to another. The first three never change, so that
// every version understands enough of every other to refuse it.
struct Hello {
  std::array<char, 8> magic{};
  std::uint32_t protocol = 0;
  std::uint32_t size_of_this = 0;
  std::array<char, 32> program{};  // its version
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint64_t run = 0;  // a digest: processes of another run are none of ours
  SocketAddress listens;  // where those of higher ranks reach it
};

Hello hello_of(const TorchrunLaunch& launch);

enum class Verdict : std::uint32_t {
  kWelcome,
  kStranger,  // not one of ours: refused, and nothing else happens
  kWrong,     // one of ours, and it cannot be: the run cannot begin
  kTooLate,   // somebody has not come
};

struct Judgement {
  Verdict verdict = Verdict::kWelcome;
  std::string reason;  // a sentence; "" with a welcome
};
Judgement judge(const Hello& theirs, const Hello& own);

// A connection whose hello is still on its way: reads what has come, and never waits.
class ArrivingHello {
 public:
  explicit ArrivingHello(Socket from) : socket(std::move(from)) {}

  // There when all of it, or as much as it takes to refuse it, is.
  std::optional<Judgement> look(const Hello& own);
  [[nodiscard]] const Hello& hello() const { return hello_; }
  [[nodiscard]] bool is_gone() const { return is_gone_; }

  Socket socket;

 private:
  Hello hello_;
  std::size_t received_ = 0;
  bool is_gone_ = false;
};

// To a hello: a verdict, its reason, and (from the first process) where all listen, by rank.
struct Answer {
  Verdict verdict = Verdict::kWelcome;
  std::string reason;
  std::vector<SocketAddress> listeners;
};
bool write_answer(const Socket& socket, const Answer& answer, TcpClock::time_point deadline);
// Nothing when the other end has closed, or nothing has come until the deadline. BackendMissing
// when it is no answer of a twinrun.
std::optional<Answer> read_answer(const Socket& socket, TcpClock::time_point deadline);

}  // namespace twinrun::exec
