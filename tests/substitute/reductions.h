#pragma once

#include <cstddef>

#include <nccl.h>

namespace substitute {

// Element by element, as NCCL's types and operations say; 16-bit floats are rounded after every
// addition, as on a ring.

// 0 for types that are not offered.
[[nodiscard]] std::size_t bytes_of(ncclDataType_t type);
[[nodiscard]] bool is_offered(ncclRedOp_t operation);

// into = into op from
void reduce_into(std::byte* into,
                 const std::byte* from,
                 std::size_t count,
                 ncclDataType_t type,
                 ncclRedOp_t operation);
// What an average does after the sum; nothing for the others.
void finish_reduction(
    std::byte* into, std::size_t count, ncclDataType_t type, ncclRedOp_t operation, int ranks);

}  // namespace substitute
