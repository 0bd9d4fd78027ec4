#include "exec/mpi/mpi_transport.h"

#include <array>
#include <stdexcept>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "exec/backend_missing.h"
#include "exec/find_plugin.h"
#include "exec/mpi/mpi_table.h"

namespace twinrun::exec {
namespace {

constexpr const char* kPlugin = "libtwinrun-mpi.so";

class MpiTransport : public Transport {
 public:
  explicit MpiTransport(const TwinrunMpiTable& table) : table_(table) {
    check(table_.start(), "MPI_Init_thread");
  }

  [[nodiscard]] int rank() const override { return table_.rank(); }
  [[nodiscard]] int size() const override { return table_.size(); }
  [[nodiscard]] std::int64_t largest_tag() const override { return table_.largest_tag(); }

  int add_communicator(std::span<const int> ranks) override {
    int number = -1;
    check(table_.add_communicator(ranks.data(), static_cast<int>(ranks.size()), &number),
          "MPI_Comm_split");
    return number;
  }
  Request send(std::span<const float> data, const Address& to) override {
    return send(data.data(), data.size(), 0, to);
  }
  Request send_bytes(std::span<const char> data, const Address& to) override {
    return send(data.data(), data.size(), 1, to);
  }
  Request receive(std::span<float> into, const Address& from) override {
    return receive(into.data(), into.size(), 0, from);
  }
  Request receive_bytes(std::span<char> into, const Address& from) override {
    return receive(into.data(), into.size(), 1, from);
  }
  Request sum(std::span<float> in_place, int communicator) override {
    std::int64_t request = 0;
    check(table_.sum_floats(in_place.data(), static_cast<std::int64_t>(in_place.size()),
                            communicator, &request),
          "MPI_Iallreduce");
    return Request{request};
  }
  std::optional<Arrival> test(Request& request) override {
    auto handle = static_cast<std::int64_t>(request);
    int done = 0;
    Arrival arrival;
    check(table_.test(&handle, &done, &arrival.from, &arrival.bytes), "MPI_Test");
    request = Request{handle};
    return done != 0 ? std::optional(arrival) : std::nullopt;
  }

  void finish() override { check(table_.finish(), "MPI_Finalize"); }
  void abort(int exit_code) override { table_.abort(exit_code); }

 private:
  void check(int code, const char* call) const {
    if (code != 0) {
      std::array<char, 512> text{};
      table_.error_text(code, text.data(), static_cast<int>(text.size()));
      throw std::runtime_error(fmt::format("{}: {}", call, text.data()));
    }
  }
  Request send(const void* data, std::size_t count, int is_bytes, const Address& to) {
    std::int64_t request = 0;
    check(table_.send(data, static_cast<std::int64_t>(count), is_bytes, to.process, to.tag,
                      to.communicator, &request),
          "MPI_Isend");
    return Request{request};
  }
  Request receive(void* into, std::size_t count, int is_bytes, const Address& from) {
    std::int64_t request = 0;
    check(table_.receive(into, static_cast<std::int64_t>(count), is_bytes, from.process, from.tag,
                         from.communicator, &request),
          "MPI_Irecv");
    return Request{request};
  }

  TwinrunMpiTable table_;
};

}  // namespace

std::string find_mpi_plugin() { return find_plugin(kPlugin); }

std::unique_ptr<Transport> open_mpi() {
  const std::string file = find_mpi_plugin();
  if (file.empty()) {
    throw BackendMissing("this twinrun was built without MPI");
  }
  // Open MPI opens parts of its own that look for its symbols: hence global.
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    throw BackendMissing(fmt::format("MPI cannot be opened: {}", dlerror()));
  }
  using Open = int (*)(TwinrunMpiTable*);
  const auto open = reinterpret_cast<Open>(dlsym(library, "twinrun_mpi_open"));
  TwinrunMpiTable table{};
  if (open == nullptr || open(&table) != kTwinrunMpiVersion) {
    throw BackendMissing(fmt::format("{} belongs to another version of twinrun", file));
  }
  return std::make_unique<MpiTransport>(table);
}

}  // namespace twinrun::exec
