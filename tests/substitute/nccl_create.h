#pragma once

#include <string>

#include <nccl.h>

#include "tests/substitute/nccl_group.h"

namespace substitute {

// Rank `rank` of a new communicator that all name alike, on this thread's device.
Creation creation_of(const std::string& name, int ranks, int rank, bool is_blocking);
// This rank's part of a communicator for each colour of the parent's ranks, ordered by key. A rank
// without colour only tells the others so.
Creation split_of(const std::shared_ptr<Communicator>& parent,
                  int color,
                  int key,
                  bool is_blocking);

}  // namespace substitute
