#include "core/strategy/offload_activations.h"

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
    }
    newest_.reset();
  }
  const auto out = out_.find(key);
  if (is_forward || out == out_.end()) {
    return {};
  }
  const OpId in = copies_.in(at, name_of("offload/in", {at, block, std::string(micro), {}}),
                             MemoryPart::kActivations, kept_[block]);
  steps_.plan().depend(in, out->second);
  out_.erase(out);
  return {in};
}

void OffloadActivations::after_block(
    const RankStep& at, std::size_t block, Pass pass, std::string_view micro, OpId last) {
  copies_.leave(at, last);
  if (pass == Pass::kForward && kept_[block].count > 0) {
    newest_ = Visit{at, block, std::string(micro), last};
  }
}

}  // namespace twinrun
