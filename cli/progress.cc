#include "cli/progress.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

namespace twinrun::cli {
namespace {

using namespace std::chrono_literals;

std::size_t terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

// The front of the text that fits; a line that wraps cannot be redrawn. Characters, not bytes.
std::string clipped(const std::string& text, std::size_t width) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    characters += starts ? 1U : 0U;
    if (characters > width) {
      return text.substr(0, i);
    }
  }
  return text;
}

}  // namespace

Progress::Progress(const Context& context, std::string what)
    : what_(std::move(what)), start_(Clock::now()), next_(start_ + 1s) {
  if (context.is_quiet()) {
    return;
  }
  form_ = context.format() == Format::kJsonl ? Form::kJsonLines
          : ::isatty(STDERR_FILENO) != 0     ? Form::kRedrawn
                                             : Form::kLines;
  if (form_ != Form::kRedrawn) {
    next_ = start_ + 10s;
  }
}

Progress::~Progress() {
  if (drawn_ && form_ == Form::kRedrawn) {
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
  }
}

void Progress::update(std::int64_t done, std::int64_t total, const std::string& note) {
  if (form_ == Form::kNone) {
    return;
  }
  const Clock::time_point now = Clock::now();
  if (now >= next_) {
    draw(done, total, note, now);
  }
}

void Progress::draw(std::int64_t done,
                    std::int64_t total,
                    const std::string& note,
                    Clock::time_point now) {
  drawn_ = true;
  next_ = now + (form_ == Form::kRedrawn ? 100ms : 10000ms);
  if (form_ == Form::kJsonLines) {
    nlohmann::ordered_json line = {{"type", "progress"}, {"what", what_}, {"done", done}};
    line["total"] = total > 0 ? nlohmann::ordered_json(total) : nlohmann::ordered_json();
    std::fputs((line.dump() + "\n").c_str(), stderr);
    return;
  }
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string text = what_;
  if (total > 0 && done > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    text += fmt::format(" · {:.0f}%", 100 * share);
    text += note.empty() ? "" : fmt::format(" · {}", note);
    text += fmt::format(" · eta {:.0f}s", seconds / share - seconds);
  } else {
    text += note.empty() ? "" : fmt::format(" · {}", note);
    text += fmt::format(" · {:.0f}s", seconds);
  }
  if (form_ == Form::kRedrawn) {
    std::fputs(fmt::format("\r{}\x1b[K", clipped(text, terminal_width() - 1)).c_str(), stderr);
    std::fflush(stderr);
  } else {
    std::fputs((text + "\n").c_str(), stderr);
  }
}

}  // namespace twinrun::cli
