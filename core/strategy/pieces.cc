#include "core/strategy/pieces.h"

#include <algorithm>
#include <utility>

namespace twinrun {
namespace {

class PieceMaker {
 public:
  PieceMaker(const Model& model, std::span<const LayerWork> work, const PieceOptions& options)
      : model_(model), work_(work), options_(options) {}

  ChunkPieces make(std::size_t first, std::size_t end) {
    ChunkPieces out;
    for (std::size_t block = first; block < end; ++block) {
      append_forward(block, Pass::kForward, out.forward);
    }
    if (is_full()) {
      keep_inputs(out.forward, first);
    }
    if (is_full() && options_.recompute_whole_chunk) {
      for (std::size_t block = first; block < end; ++block) {
        append_forward(block, Pass::kRecompute, out.backward);
      }
    }
    for (std::size_t block = end; block-- > first;) {
      if (is_full() && !options_.recompute_whole_chunk) {
        append_forward(block, Pass::kRecompute, out.backward);
      }
      append_backward(block, out.backward);
    }
    out.input = bytes(elements_into(model_, first));
    out.output = bytes(elements_into(model_, end));
    give_back_inputs(out.backward, first);
    return out;
  }

 private:
  [[nodiscard]] bool is_full() const { return options_.recompute == Recompute::kFull; }
  [[nodiscard]] Bytes bytes(std::int64_t elements) const {
    return {elements * options_.samples * stored_bytes(options_.dtype)};
  }

  void append_forward(std::size_t block, Pass pass, std::vector<Piece>& out) const {
    const Block& layers = model_.blocks[block];
    for (std::size_t i = 0; i < layers.layer_count; ++i) {
      const std::size_t layer = layers.first_layer + i;
      const LayerWork& work = work_[layer];
      Piece piece;
      piece.name = model_.layers[layer].name;
      piece.pass = pass;
      piece.parts = {work.forward};
      piece.verb = Verb::kForward;
      piece.layer = layer;
      piece.taken = kept(work, pass);
      piece.before = work.before_forward;
      piece.after = work.after_forward;
      piece.block = block;
      piece.opens_block = i == 0;
      out.push_back(std::move(piece));
    }
  }

  // What a layer keeps for backward: everything, without scores, or (full) only while recomputed.
  [[nodiscard]] Bytes kept(const LayerWork& work, Pass pass) const {
    if (pass == Pass::kRecompute || options_.recompute == Recompute::kNone) {
      return work.saved;
    }
    return is_full() ? Bytes{} : Bytes{work.saved.count - work.saved_scores.count};
  }

  [[nodiscard]] bool keeps_input(std::size_t block, std::size_t first) const {
    return !options_.recompute_whole_chunk || block == first;
  }

  [[nodiscard]] Bytes kept_input(std::size_t block) const {
    const std::int64_t shares = options_.input_shares;
    return bytes((elements_into(model_, block) + shares - 1) / shares);
  }

  void keep_inputs(std::vector<Piece>& pieces, std::size_t first) const {
    for (Piece& piece : pieces) {
      if (piece.opens_block && keeps_input(piece.block, first)) {
        piece.taken = kept_input(piece.block);
      }
    }
  }

  void give_back_inputs(std::vector<Piece>& pieces, std::size_t first) const {
    if (!is_full()) {
      return;
    }
    std::optional<std::size_t> next;
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
      if (piece->pass == Pass::kBackward && next != piece->block) {
        next = piece->block;  // the last of its block
        if (keeps_input(piece->block, first)) {
          piece->given.count += kept_input(piece->block).count;
        }
      }
    }
  }

  void append_backward(std::size_t block, std::vector<Piece>& out) const {
    const Block& layers = model_.blocks[block];
    for (std::size_t i = layers.layer_count; i-- > 0;) {
      const std::size_t layer = layers.first_layer + i;
      if (options_.recompute == Recompute::kSelective && work_[layer].saved_scores.count > 0) {
        append_scores(block, layer, out);
      }
      append_layer_backward(block, layer, i + 1 == layers.layer_count, out);
    }
  }

  void append_scores(std::size_t block, std::size_t layer, std::vector<Piece>& out) const {
    Piece piece;
    piece.name = model_.layers[layer].name;
    piece.pass = Pass::kRecompute;
    piece.parts = {work_[layer].forward};
    piece.taken = work_[layer].saved_scores;
    piece.block = block;
    out.push_back(std::move(piece));
  }

  void append_layer_backward(std::size_t block,
                             std::size_t layer,
                             bool is_first,
                             std::vector<Piece>& out) const {
    const LayerWork& work = work_[layer];
    const std::string& name = model_.layers[layer].name;
    const bool both = work.backward_input && work.backward_weight;
    const std::size_t begin = out.size();
    if (work.backward_input) {
      out.push_back(
          backward_piece(both ? name + "/input" : name, block, *work.backward_input, work));
      out.back().verb = Verb::kBackwardInput;
    }
    if (work.backward_weight) {
      out.push_back(
          backward_piece(both ? name + "/weight" : name, block, *work.backward_weight, work));
      out.back().verb = Verb::kBackwardWeight;
    }
    if (begin == out.size()) {  // the first layer of a model without weights: nothing to compute
      out.push_back(backward_piece(name, block, {0, {}, options_.dtype, std::nullopt}, work));
    }
    for (std::size_t k = begin; k < out.size(); ++k) {
      out[k].layer = layer;
    }
    out[begin].before = work.before_backward;
    out[begin].opens_block = is_first;
    if (work.backward_input) {
      out[begin].after = work.after_backward;
    }
    out.back().given = work.saved;
    if (!work.tensors.empty()) {
      out.back().gradients_of.push_back(layer);
    }
  }

  [[nodiscard]] Piece backward_piece(std::string name,
                                     std::size_t block,
                                     const ComputeSpec& spec,
                                     const LayerWork& work) const {
    Piece piece;
    piece.name = std::move(name);
    piece.pass = Pass::kBackward;
    piece.parts = {spec};
    piece.passing = work.passing;
    piece.block = block;
    return piece;
  }

  const Model& model_;
  std::span<const LayerWork> work_;
  const PieceOptions& options_;
};

// Joins pieces of one block and pass up to the next collective. Layers behind the last collective
// of a block go before it: they take as long there, and a block has one op less.
std::vector<Piece> merged(std::vector<Piece> pieces) {
  std::vector<Piece> out;
  for (Piece& piece : pieces) {
    const bool same = !out.empty() && out.back().block == piece.block &&
                      out.back().pass == piece.pass && !piece.opens_block;
    const bool joins = same && !piece.before && (!out.back().after || !piece.after);
    if (!joins) {
      out.push_back(std::move(piece));
      continue;
    }
    Piece& last = out.back();
    last.parts.insert(last.parts.end(), piece.parts.begin(), piece.parts.end());
    last.taken.count += piece.taken.count;
    last.given.count += piece.given.count;
    last.passing.count = std::max(last.passing.count, piece.passing.count);
    last.gradients_of.insert(last.gradients_of.end(), piece.gradients_of.begin(),
                             piece.gradients_of.end());
    if (piece.after) {
      last.after = piece.after;
    }
  }
  return out;
}

}  // namespace

std::int64_t elements_into(const Model& model, std::size_t block) {
  return block == 0 ? model.inputs : model.blocks[block - 1].boundary;
}

ChunkPieces chunk_pieces(const Model& model,
                         std::span<const LayerWork> work,
                         std::size_t first_block,
                         std::size_t end_block,
                         const PieceOptions& options) {
  ChunkPieces pieces = PieceMaker(model, work, options).make(first_block, end_block);
  if (options.merged) {
    pieces.forward = merged(std::move(pieces.forward));
    pieces.backward = merged(std::move(pieces.backward));
  }
  return pieces;
}

}  // namespace twinrun
