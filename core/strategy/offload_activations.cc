#include "core/strategy/offload_activations.h"

#include <algorithm>

#include <fmt/format.h>

namespace twinrun {

OffloadActivations::OffloadActivations(StepBuilder& steps)
    : steps_(steps), copies_(steps), kept_(steps.model().blocks.size()) {
  for (std::size_t part = 0; part < steps.parts().size(); ++part) {
    for (const Piece& piece : steps.pieces_of(static_cast<std::int64_t>(part)).forward) {
      kept_[piece.block].count += piece.taken.count;
    }
  }
}

OffloadActivations::Key OffloadActivations::key_of(const RankStep& at,
                                                   std::size_t block,
                                                   std::string_view micro) const {
  return {block, fmt::format("{}{}", at.step, micro)};
}

std::string OffloadActivations::name_of(std::string_view what, const Visit& visit) const {
  return fmt::format("{}/{}{}", what, steps_.model().blocks[visit.block].name, visit.micro);
}

std::vector<OpId> OffloadActivations::before_block(const RankStep& at,
                                                   std::size_t block,
                                                   Pass pass,
                                                   std::string_view micro) {
  const bool is_forward = pass == Pass::kForward;
  const Key key = key_of(at, block, micro);
  if (newest_) {
    const Key of_newest = key_of(newest_->at, newest_->block, newest_->micro);
    const bool stays = !is_forward && of_newest == key;
    if (!stays) {
      out_[of_newest] = copies_.out(newest_->at, name_of("offload/out", *newest_),
                                    MemoryPart::kActivations, kept_[newest_->block], newest_->last);
      say_what_moves(out_[of_newest], *newest_, Store::kActivations, Store::kHostActivations);
    }
    newest_.reset();
  }
  const auto out = out_.find(key);
  if (is_forward || out == out_.end()) {
    return {};
  }
  const Visit visit{at, block, std::string(micro), {}, steps_.pass_data().samples};
  const OpId in =
      copies_.in(at, name_of("offload/in", visit), MemoryPart::kActivations, kept_[block]);
  steps_.plan().depend(in, out->second);
  say_what_moves(in, visit, Store::kHostActivations, Store::kActivations);
  out_.erase(out);
  return {in};
}

// What goes into the layers of the block; the samples themselves are not kept by any.
void OffloadActivations::say_what_moves(OpId copy, const Visit& visit, Store source, Store target) {
  if (!steps_.payloads().wanted()) {
    return;
  }
  const Block& layers = steps_.model().blocks[visit.block];
  const std::size_t first = std::max<std::size_t>(layers.first_layer, 1);
  Payload payload = Payloads::rows(source, first, visit.samples);
  payload.verb = Verb::kCopy;
  payload.target = target;
  payload.boundaries = static_cast<std::uint32_t>(layers.first_layer + layers.layer_count - first);
  payload.sender = steps_.device(visit.at.rank);
  steps_.set_payload(copy, payload);
}

void OffloadActivations::after_block(
    const RankStep& at, std::size_t block, Pass pass, std::string_view micro, OpId last) {
  copies_.leave(at, last);
  if (pass == Pass::kForward && kept_[block].count > 0) {
    newest_ = Visit{at, block, std::string(micro), last, steps_.pass_data().samples};
  }
}

}  // namespace twinrun
