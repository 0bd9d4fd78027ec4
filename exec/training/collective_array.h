#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "exec/training/op_work.h"

namespace twinrun::exec {

// An op of a collective names ranges of its device's memory; a schedule is about one array that all
// ranks have. Of an all-gather, reduce-scatter or all-to-all each range is divided among the ranks
// by itself.

std::uint32_t rank_in_group(const Plan& plan, OpId op);

// How long that array is, for what an op moves: the same on all ranks.
std::int64_t array_elements(const Plan& plan, OpId op, const MovedData& data);

// Exchanges the array; what arrives is set down in the second one, which is the same but of an
// all-to-all.
using ExchangeArray = std::function<void(std::span<float> array, std::span<float> into)>;

// Makes the array, has it exchanged, and puts what came of it back.
void with_collective_array(const Plan& plan,
                           OpId op,
                           const MovedData& data,
                           const ExchangeArray& exchange);

// Ranges behind each other, and back.
std::vector<float> packed(std::span<const std::span<float>> ranges);
void unpack(std::span<const float> from, std::span<const std::span<float>> ranges);

}  // namespace twinrun::exec
