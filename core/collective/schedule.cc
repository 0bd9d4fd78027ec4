#include "core/collective/schedule.h"

namespace twinrun {

namespace {

void add(std::vector<Transfer>& list, const Transfer& transfer) {
  if (transfer.from.size() > 0) {
    list.push_back(transfer);
  }
}

}  // namespace

void StepTransfers::clear() {
  sends.clear();
  receives.clear();
}

void StepTransfers::send(std::uint32_t peer, ByteRange chunk, Action action) {
  add(sends, {peer, action, chunk, chunk.begin});
}

void StepTransfers::receive(std::uint32_t peer, ByteRange chunk, Action action) {
  add(receives, {peer, action, chunk, chunk.begin});
}

void StepTransfers::send_into(std::uint32_t peer, ByteRange chunk, std::int64_t into) {
  add(sends, {peer, Action::kCopy, chunk, into});
}

void StepTransfers::receive_into(std::uint32_t peer, ByteRange chunk, std::int64_t into) {
  add(receives, {peer, Action::kCopy, chunk, into});
}

}  // namespace twinrun
