#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "exec/mpi/merge_parts.h"
#include "exec/mpi/mpi_transport.h"
#include "exec/mpi/part_run.h"
#include "tests/conformance/trained_runs.h"

// The tests of training_test.cc in the processes of one MPI job: all run the same tests at the same
// time, each its part of every training, and all see the whole result. The first one reports.

namespace {

using namespace twinrun;        // NOLINT(google-build-using-namespace): a program's own file
using namespace twinrun::exec;  // NOLINT(google-build-using-namespace)

Post* the_post = nullptr;  // a function pointer can carry nothing

void wait(Post& post, Request request) { post.wait(request); }

// From the first process to all others.
std::string spread(Post& post, const std::string& bytes) {
  const auto address = [&](int process) {
    return Address{process, Post::kPartTag, post.communicator()};
  };
  std::uint64_t size = bytes.size();
  const std::span<char> size_bytes(reinterpret_cast<char*>(&size), sizeof size);
  if (post.rank() == 0) {
    for (int other = 1; other < post.size(); ++other) {
      wait(post, post.with_transport([&](Transport& transport) {
        return transport.send_bytes(size_bytes, address(other));
      }));
      wait(post, post.with_transport([&](Transport& transport) {
        return transport.send_bytes(bytes, address(other));
      }));
    }
    return bytes;
  }
  wait(post, post.with_transport([&](Transport& transport) {
    return transport.receive_bytes(size_bytes, address(0));
  }));
  std::string out(size, ' ');
  wait(post, post.with_transport(
                 [&](Transport& transport) { return transport.receive_bytes(out, address(0)); }));
  return out;
}

// A failure leaves processes in the middle of something: the rest would be wrong too.
Execution run_together(const Plan& plan, const ExecuteOptions& options) {
  Post& post = *the_post;
  const Part own = run_part(plan, post, {options, nullptr, {}});
  std::vector<Part> parts =
      gather_parts(post, own, Post::Clock::now() + std::chrono::seconds(own.failure ? 2 : 60));
  parts.resize(static_cast<std::size_t>(post.size()));
  for (Part& part : parts) {
    if (own.failure) {
      break;
    }
    part = part_from_bytes(spread(post, to_bytes(part)));
  }
  if (own.failure) {
    if (post.rank() == 0) {
      std::fprintf(stderr, "%s\n",
                   merge_parts(plan, DeviceHomes(plan, post.size()), parts)
                       .outcome.failure->message.c_str());
    }
    post.with_transport([](Transport& transport) { transport.abort(1); });
  }
  return merge_parts(plan, DeviceHomes(plan, post.size()), parts);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::unique_ptr<Transport> transport = open_mpi();
  Post post(*transport);
  the_post = &post;
  training_runner = run_together;
  trains_in_processes = post.size() > 1;
  if (post.rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  const int result = RUN_ALL_TESTS();
  transport->finish();
  return result;
}
