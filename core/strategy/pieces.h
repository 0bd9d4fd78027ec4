#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/model/model.h"
#include "core/plan/payload.h"
#include "core/strategy/job.h"
#include "core/strategy/layer_work.h"

namespace twinrun {

enum class Pass : std::uint8_t { kForward, kRecompute, kBackward };
inline constexpr std::array<std::string_view, 3> kPassWords = {"forward", "recompute", "backward"};

// What one compute op of a pass does: a layer, its gradient of input or weights, or (merged) all
// layers up to the next communication.
struct Piece {
  std::string name;
  Pass pass = Pass::kForward;
  std::vector<ComputeSpec> parts;  // kernels one after the other
  Bytes taken{};                   // activations kept from its start on
  Bytes given{};                   // … and given back at its end
  Bytes passing{};                 // held while it runs
  std::optional<TensorCollective> before;
  std::optional<TensorCollective> after;
  std::size_t block = 0;                  // of the model
  bool opens_block = false;               // the first of its block in this pass
  std::vector<std::size_t> gradients_of;  // layers whose gradients are complete at its end
  Verb verb = Verb::kNothing;             // what it does, where it is one layer: …
  std::size_t layer = 0;                  // … this one of the model
  // Set where the piece is put into a plan.
  std::string label;              // "forward/layer1.qkv"
  ComputeId compute = {};         // its parts together
  std::optional<Time> time = {};  // … on the device of rank 0, which their sums alone cannot tell
};

// The layers of consecutive blocks, as one rank runs them for one micro-batch.
struct ChunkPieces {
  std::vector<Piece> forward;
  std::vector<Piece> backward;  // with what is recomputed
  Bytes input{};                // activation that comes in, gradient that goes out
  Bytes output{};
};

struct PieceOptions {
  Recompute recompute = Recompute::kNone;
  bool recompute_whole_chunk = false;  // GPipe: one partition at a time; else block by block
  bool merged = false;                 // one op between two communications
  Dtype dtype = Dtype::kFp32;
  std::int64_t samples = 1;
  std::int64_t input_shares = 1;  // ranks that keep a share of each block's input (its tokens)
};

// Elements that come into a block, and that the last one hands on.
std::int64_t elements_into(const Model& model, std::size_t block);

ChunkPieces chunk_pieces(const Model& model,
                         std::span<const LayerWork> work,
                         std::size_t first_block,
                         std::size_t end_block,
                         const PieceOptions& options);

}  // namespace twinrun
