#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "exec/mpi/merge_parts.h"
#include "exec/mpi/part_run.h"
#include "tests/conformance/trained_runs.h"

namespace twinrun {

// From the first process to all others.
inline std::string spread(exec::Post& post, const std::string& bytes) {
  using exec::Transport;
  const auto address = [&](int process) {
    return exec::Address{process, exec::Post::kPartTag, post.communicator()};
  };
  const auto wait = [&](auto begin) { post.wait(post.with_transport(begin)); };
  std::uint64_t size = bytes.size();
  const std::span<char> size_bytes(reinterpret_cast<char*>(&size), sizeof size);
  if (post.rank() == 0) {
    for (int other = 1; other < post.size(); ++other) {
      wait([&](Transport& transport) { return transport.send_bytes(size_bytes, address(other)); });
      wait([&](Transport& transport) { return transport.send_bytes(bytes, address(other)); });
    }
    return bytes;
  }
  wait([&](Transport& transport) { return transport.receive_bytes(size_bytes, address(0)); });
  std::string out(size, ' ');
  wait([&](Transport& transport) { return transport.receive_bytes(out, address(0)); });
  return out;
}

// Each process its part; all see the whole result. A failure leaves processes in the middle of
// something: the rest would be wrong too.
inline exec::Execution run_together(const Plan& plan,
                                    exec::Post& post,
                                    const exec::PartOptions& options) {
  const exec::Part own = exec::run_part(plan, post, options);
  std::vector<exec::Part> parts = exec::gather_parts(
      post, own, exec::Post::Clock::now() + std::chrono::seconds(own.failure ? 2 : 60));
  parts.resize(static_cast<std::size_t>(post.size()));
  for (exec::Part& part : parts) {
    if (own.failure) {
      break;
    }
    part = exec::part_from_bytes(spread(post, to_bytes(part)));
  }
  const exec::DeviceHomes homes(plan, post.size());
  if (own.failure) {
    std::fprintf(stderr, "rank %d: %s\n", post.rank(), own.failure->message.c_str());
    post.with_transport([](exec::Transport& transport) { transport.abort(1); });
  }
  return exec::merge_parts(plan, homes, parts);
}

// All processes run the same tests at the same time; the first one reports.
inline int run_all_tests(const exec::Post& post) {
  trains_in_processes = post.size() > 1;
  if (post.rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  return RUN_ALL_TESTS();
}

}  // namespace twinrun
