#include "exec/mpi/process_group.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "exec/gate.h"

namespace twinrun::exec {
namespace {

constexpr int kFirst = 0;
constexpr auto kBeat = std::chrono::milliseconds(100);
constexpr auto kBetweenLooks = std::chrono::milliseconds(5);
constexpr double kSecondsExtraForOthers = 1;  // the first speaks before the others give it up

struct FailureHead {
  FailureKind kind = FailureKind::kOpFailed;
  OpId op = no_id<OpId>();
};

std::string text_of(const Failure& failure) {
  const FailureHead head{failure.kind, failure.op};
  std::string out(sizeof head, '\0');
  std::memcpy(out.data(), &head, sizeof head);
  return out + failure.message;
}

Failure failure_of(std::string_view text) {
  FailureHead head;
  std::memcpy(&head, text.data(), sizeof head);
  return {head.kind, head.op, std::string(text.substr(sizeof head))};
}

double seconds(Post::Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

ProcessGroup::ProcessGroup(const Plan& plan,
                           const DeviceHomes& homes,
                           Post& post,
                           GroupOptions options)
    : plan_(plan),
      homes_(homes),
      post_(post),
      options_(std::move(options)),
      parent_(::getppid()),
      arrived_(plan.size()),
      heard_(static_cast<std::size_t>(post.size()), Clock::now()),
      progress_(static_cast<std::size_t>(post.size())),
      last_beat_(Clock::now()),
      last_progress_(Clock::now()) {
  post_.on_note([this](const Note& note) { take(note); });
}

ProcessGroup::~ProcessGroup() { post_.on_note({}); }

void ProcessGroup::begun(std::chrono::steady_clock::time_point at) {
  std::fill(heard_.begin(), heard_.end(), at);
  last_progress_ = at;
  if (options_.begun) {
    options_.begun(at);
  }
}

void ProcessGroup::take(const Note& note) {
  const auto from = static_cast<std::size_t>(note.from);
  heard_[from] = Clock::now();
  switch (note.word) {
    case Word::kDone:
      arrived_[note.number] = true;
      return;
    case Word::kProgress:
      (note.from == kFirst ? all_done_ : progress_[from]) = note.number;
      return;
    case Word::kFinished:
      progress_[from] = note.number;
      ++finished_;
      return;
    case Word::kAllFinished:
      all_finished_ = true;
      return;
    case Word::kFailed:
      if (!told_) {
        told_ = failure_of(note.text);
      }
      return;
  }
}

void ProcessGroup::announce(OpId op) {
  std::set<int> told;
  for (const OpId next : plan_.successors(op)) {
    const int process = homes_.process_of(plan_.device(next));
    if (process != post_.rank() && told.insert(process).second) {
      post_.tell(process, Word::kDone, static_cast<std::uint32_t>(op));
    }
  }
}

void ProcessGroup::await(OpId op) {
  post_.wait_until([&](Transport&) { return arrived_[index_of(op)]; });
}

bool ProcessGroup::has_come(OpId op) {
  post_.poll();
  return post_.with_transport([&](Transport&) { return arrived_[index_of(op)]; });
}

std::size_t ProcessGroup::done_by_all(std::size_t done) const {
  return post_.rank() == kFirst ? std::accumulate(progress_.begin(), progress_.end(), done)
                                : std::max<std::size_t>(done, all_done_);
}

void ProcessGroup::beat(std::size_t done) {
  const auto now = Clock::now();
  if (now - last_beat_ < kBeat) {
    return;
  }
  last_beat_ = now;
  const auto all = post_.with_transport([&](Transport&) { return done_by_all(done); });
  if (post_.rank() != kFirst) {
    post_.tell(kFirst, Word::kProgress, static_cast<std::uint32_t>(done));
  } else {
    post_.tell_others(Word::kProgress, static_cast<std::uint32_t>(all));
    if (options_.progress) {
      options_.progress(all);
    }
  }
}

std::optional<Failure> ProcessGroup::silence(Clock::time_point now) const {
  const bool is_first = post_.rank() == kFirst;
  const double limit = options_.timeout_s + (is_first ? 0 : kSecondsExtraForOthers);
  for (int other = 0; other < (is_first ? post_.size() : 1); ++other) {
    if (other != post_.rank() && seconds(now - heard_[static_cast<std::size_t>(other)]) > limit) {
      return Failure{
          FailureKind::kTimeout, no_id<OpId>(),
          fmt::format("{} has not answered for {:.1f} s", homes_.name_of(plan_, other), limit)};
    }
  }
  return std::nullopt;
}

std::optional<Failure> ProcessGroup::trouble(std::size_t done) {
  const auto now = Clock::now();
  if (told_) {
    return told_;
  }
  if (const std::size_t all = done_by_all(done); all != last_done_) {
    last_done_ = all;
    last_progress_ = now;
  }
  if (auto silent = silence(now)) {
    return silent;
  }
  if (post_.rank() == kFirst && seconds(now - last_progress_) > options_.timeout_s) {
    return Failure{FailureKind::kTimeout, no_id<OpId>(),
                   fmt::format("no op has ended for {:.1f} s", options_.timeout_s)};
  }
  return std::nullopt;
}

std::optional<Failure> ProcessGroup::look(std::size_t done) {
  post_.poll();
  beat(done);
  if (::getppid() != parent_) {
    return Failure{FailureKind::kProcessDied, no_id<OpId>(),
                   "the launcher that started the processes has died"};
  }
  if (options_.is_asked_to_end && options_.is_asked_to_end()) {
    return Failure{FailureKind::kInterrupted, no_id<OpId>(), "interrupted"};
  }
  return post_.with_transport([&](Transport&) { return trouble(done); });
}

std::optional<Failure> ProcessGroup::wait_for_all(std::size_t done) {
  if (post_.rank() != kFirst) {
    post_.tell(kFirst, Word::kFinished, static_cast<std::uint32_t>(done));
  }
  const auto have_all = [&](Transport&) { return all_finished_ || finished_ + 1 == post_.size(); };
  while (!post_.wait_until(have_all, Clock::now() + kBetweenLooks)) {
    if (auto failure = look(done)) {
      return failure;
    }
  }
  if (post_.rank() == kFirst) {
    post_.tell_others(Word::kAllFinished, 0);
  }
  return std::nullopt;
}

void ProcessGroup::tell_failure(const Failure& failure) {
  if (!post_.with_transport([&](Transport&) { return told_.has_value(); })) {
    post_.tell_others(Word::kFailed, 0, text_of(failure));
  }
}

}  // namespace twinrun::exec
