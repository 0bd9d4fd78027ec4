#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace twinrun::exec {

// Where a message goes to or comes from.
struct Address {
  int process = 0;
  int tag = 0;
  int communicator = 0;
};

enum class Request : std::int64_t {};  // something that was begun and is not known to be done

struct Arrival {
  int from = 0;
  std::int64_t bytes = 0;
};

// Processes that send each other messages: over MPI, TCP, or a stand-in of the tests. Nothing waits
// in here but add_communicator() and finish(). Of one communicator, tag and pair, messages arrive
// in the order sent. One thread at a time. What fails throws std::runtime_error.
class Transport {
 public:
  static constexpr int kAnybody = -1;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual std::int64_t largest_tag() const = 0;
  [[nodiscard]] virtual std::string name() const = 0;  // "mpi"
  // By all processes together, with the same ranks; none: all. -1 where this process is no part.
  virtual int add_communicator(std::span<const int> ranks) = 0;

  // Memory must stay until the request is done.
  virtual Request send(std::span<const float> data, const Address& to) = 0;
  virtual Request send_bytes(std::span<const char> data, const Address& to) = 0;
  virtual Request receive(std::span<float> into, const Address& from) = 0;
  virtual Request receive_bytes(std::span<char> into, const Address& from) = 0;
  // MPI's own all-reduce, of transports that have one.
  [[nodiscard]] virtual bool has_sum() const = 0;
  virtual Request sum(std::span<float> in_place, int communicator) = 0;
  // Done: who sent it. Once it is done it may not be asked again.
  virtual std::optional<Arrival> test(Request& request) = 0;

  // It is known to have ended without a finish(), as far as this process has looked (test()). MPI
  // never tells: its launcher ends the others.
  [[nodiscard]] virtual bool has_died(int process) const = 0;

  virtual void finish() = 0;
  // Ends the others, or lets them see that this one is gone.
  virtual void abort(int exit_code) = 0;
};

}  // namespace twinrun::exec
