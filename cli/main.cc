#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <unistd.h>

#include "cli/command_line.h"
#include "cli/context.h"
#include "cli/job_search.h"
#include "cli/output.h"
#include "core/base/diagnostics.h"
#include "exec/backend_missing.h"
#include "exec/not_all_came.h"

namespace {

using namespace twinrun::cli;  // NOLINT(google-build-using-namespace): the program's own file

extern "C" void end_on_signal(int signal) {
  constexpr char kErase[] = "\r\x1b[K";  // a progress line may be half drawn
  if (::isatty(STDERR_FILENO) != 0) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kErase, sizeof kErase - 1);
  }
  ::_exit(128 + signal);
}

void print_result(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot write the result");
  }
}

int run(CommandLine& line, Context& context, int argc, char** argv) {
  const std::optional<std::string> asked = line.parse(argc, argv);
  context = Context(line.options());
  if (asked) {
    print_result(*asked);
    return kSuccess;
  }
  const Output output = line.run(context);
  print_result(render(output, context.format(), context.colors_output()));
  return context.settle(output.exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // `twinrun … | head` ends quietly even if our parent ignores it
  std::signal(SIGINT, end_on_signal);
  std::signal(SIGTERM, end_on_signal);
  Context context;
  try {
    CommandLine line;
    try {
      return run(line, context, argc, argv);
    } catch (const twinrun::UsageError& error) {
      Context(line.options()).report_error(error.what(), error.help());
      return kWrongUsage;
    }
  } catch (const twinrun::InputError& error) {
    context.report(error.diagnostics());
    return dynamic_cast<const ImpossibleJob*>(&error) != nullptr ? kCannotRun : kInvalidInput;
  } catch (const twinrun::CannotRun& error) {
    context.report_error(error.what());
    return kCannotRun;
  } catch (const twinrun::exec::BackendMissing& error) {
    context.report_error(error.what(), "twinrun doctor says what is missing and how to get it");
    return kMissing;
  } catch (const twinrun::exec::NotAllCame& error) {
    context.report_error(error.what(), "start all of them, or give them more time with --timeout");
    return kTimedOut;
  } catch (const std::bad_alloc&) {
    context.report_error("out of memory", "the input is too large for this machine");
  } catch (const std::logic_error& error) {
    context.report_error(error.what(), "this is a bug in twinrun; please report it with the input");
  } catch (const std::exception& error) {
    context.report_error(error.what());
  }
  return kFailure;
}
