#include "tests/substitute/nccl_create.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "tests/substitute/devices.h"

namespace substitute {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

Deadline deadline_from_now() {
  const std::chrono::duration<double> timeout(nccl_init_timeout_seconds());
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::nanoseconds>(timeout);
}

std::uint64_t device_key(int device) {
  return std::hash<std::string>()(machine().device(device).pci_bus_id);
}

void attach_and_join(Communicator& communicator, const std::string& name, int rank) {
  std::string error;
  auto clique = Clique::attach(name, communicator.ranks, nccl_init_timeout_seconds(), error);
  if (clique == nullptr) {
    throw NcclFailure{ncclSystemError, error};
  }
  communicator.set_clique(clique);
  error = clique->join(rank, device_key(communicator.device));
  if (!error.empty()) {
    throw NcclFailure{ncclInvalidUsage, error};
  }
}

void wait_for_all(const Communicator& communicator) {
  const auto clique = communicator.clique();
  const Deadline deadline = deadline_from_now();
  const auto gives_up = [&] {
    return communicator.is_freed() || clique->has_failed() ||
           std::chrono::steady_clock::now() > deadline;
  };
  if (!clique->wait([&] { return clique->shared.joined == clique->ranks; }, gives_up)) {
    if (clique->has_failed()) {
      throw NcclFailure{clique->error(), clique->error_text()};
    }
    throw NcclFailure{
        ncclSystemError,
        "these ranks did not come: " + clique->missing_ranks() +
            " (ranks of one thread are created between ncclGroupStart and ncclGroupEnd)"};
  }
}

// Parity as for the steps of collectives: a rank can only be one split ahead of another.
void post_split(Communicator& parent, std::uint64_t number, SplitPost post) {
  const auto clique = parent.clique();
  {
    const Clique::Lock lock(*clique);
    SharedHeader& shared = clique->shared;
    shared.split[number % 2][static_cast<std::size_t>(parent.rank)] = post;
    if (++shared.split_posts[number % 2] == parent.ranks) {
      shared.split_posts[number % 2] = 0;
      shared.splits_done[number % 2] = number / 2 + 1;
    }
  }
  clique->wake();
}

std::vector<SplitPost> wait_for_split(Communicator& parent, std::uint64_t number) {
  const auto clique = parent.clique();
  const Deadline deadline = deadline_from_now();
  const auto gives_up = [&] {
    return parent.is_freed() || std::chrono::steady_clock::now() > deadline;
  };
  SharedHeader& shared = clique->shared;
  if (!clique->wait([&] { return shared.splits_done[number % 2] > number / 2; }, gives_up)) {
    throw NcclFailure{ncclSystemError, "not all ranks of the communicator called ncclCommSplit"};
  }
  const Clique::Lock lock(*clique);
  const auto& posts = shared.split[number % 2];
  return {posts.begin(), posts.begin() + parent.ranks};
}

// Who has the colour, by key and then by rank.
std::vector<int> members_of(const std::vector<SplitPost>& posts, int color) {
  std::vector<int> members;
  for (int rank = 0; rank < static_cast<int>(posts.size()); ++rank) {
    if (posts[static_cast<std::size_t>(rank)].color == color) {
      members.push_back(rank);
    }
  }
  std::ranges::stable_sort(members, {},
                           [&](int rank) { return posts[static_cast<std::size_t>(rank)].key; });
  return members;
}

}  // namespace

Creation split_of(const std::shared_ptr<Communicator>& parent,
                  int color,
                  int key,
                  bool is_blocking) {
  const std::uint64_t number = parent->splits++;
  Creation creation;
  creation.phases.push_back([=] { post_split(*parent, number, {color, key}); });
  if (color == NCCL_SPLIT_NOCOLOR) {
    creation.communicator = std::make_shared<Communicator>(0, 1, parent->device, is_blocking);
    creation.phases.push_back([=] { wait_for_split(*parent, number); });
    return creation;
  }
  creation.handle = communicators().add(0, 1, parent->device, is_blocking);
  creation.communicator = communicators().find(creation.handle);
  const auto made = creation.communicator;
  creation.phases.push_back([=] {
    const std::vector<int> members = members_of(wait_for_split(*parent, number), color);
    made->ranks = static_cast<int>(members.size());
    made->rank = static_cast<int>(std::ranges::find(members, parent->rank) - members.begin());
    const std::string name =
        parent->clique()->name + "-" + std::to_string(number) + "." + std::to_string(color);
    attach_and_join(*made, name, made->rank);
  });
  creation.phases.push_back([=] { wait_for_all(*made); });
  return creation;
}

Creation creation_of(const std::string& name, int ranks, int rank, bool is_blocking) {
  Creation creation;
  creation.handle = communicators().add(rank, ranks, current_device(), is_blocking);
  creation.communicator = communicators().find(creation.handle);
  const auto made = creation.communicator;
  creation.phases.push_back([made, name, rank] { attach_and_join(*made, name, rank); });
  creation.phases.push_back([made] { wait_for_all(*made); });
  return creation;
}

}  // namespace substitute
