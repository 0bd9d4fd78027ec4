#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exec/tcp/handshake.h"
#include "exec/tcp/socket.h"

namespace twinrun::exec {

// Takes in the processes that connect to this one: those of the ranks behind its own.
class Reception {
 public:
  // A process that has come. It gets an answer at once, or (from the first) when all are there.
  struct Guest {
    Socket socket;
    SocketAddress listens;
  };
  enum class Answers { kAtOnce, kLater };

  Reception(Socket listener, const Hello& own, Answers answers);

  // By rank, up to own rank those that are not asked for: nobody. Until all have come: NotAllCame
  // behind the deadline, BackendMissing when the run cannot begin. Those that are there are told.
  std::vector<Guest> receive(TcpClock::time_point deadline, double timeout_s);

 private:
  void take_in();
  void look_at_arrivals();
  void register_guest(ArrivingHello& arrival);
  void look_at_guests();
  [[nodiscard]] std::string missing() const;
  [[nodiscard]] std::vector<int> descriptors() const;
  [[noreturn]] void give_up(Verdict verdict, const std::string& reason);

  Socket listener_;
  Hello own_;
  Answers answers_;
  std::vector<ArrivingHello> arrivals_;
  std::vector<Guest> guests_;  // by rank
  std::vector<std::string> refused_;
  int open_ = 0;  // ranks that have not come
};

// Throws what a refusal means here: NotAllCame, BackendMissing.
[[noreturn]] void throw_refusal(Verdict verdict, const std::string& reason);

}  // namespace twinrun::exec
