#include "exec/mpi/mpirun.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/backend_missing.h"
#include "exec/mpi/launcher.h"

namespace twinrun::exec {
namespace {

namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::seconds(5);  // for it to end what it started
constexpr auto kNap = std::chrono::milliseconds(10);
constexpr const char* kSharedMemory = "/dev/shm";
constexpr std::size_t kMostLines = 6;

std::string make_folder(const fs::path& within) {
  std::string name = (within / "twinrun-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot make a folder in " + name);
  }
  return name;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) {
    out.push_back(word);
  }
  return out;
}

bool is_in_path(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    return ::access(program.c_str(), X_OK) == 0;
  }
  std::istringstream path(environment("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    if (::access((fs::path(folder) / program).c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> arguments_of(const RunFolders& folders,
                                      int processes,
                                      const std::vector<std::string>& command) {
  std::vector<std::string> out = words_of(environment("TWINRUN_MPIRUN"));
  if (out.empty()) {
    out = {"mpirun"};
  }
  const auto setting = [&](const char* name, const std::string& value) {
    out.insert(out.end(), {"--mca", name, value});
  };
  out.insert(out.end(), {"-n", std::to_string(processes), "--oversubscribe", "--bind-to", "none"});
  setting("mpi_yield_when_idle", "0");  // whoever waits here yields by itself
  setting("btl_base_warn_component_unused", "0");
  setting("orte_tmpdir_base", folders.folder());
  if (!folders.shared().empty()) {
    setting("btl_vader_backing_directory", folders.shared());
  }
  for (const char* const variable : {kFolderVariable, kSharedVariable, kParentVariable}) {
    out.insert(out.end(), {"-x", variable});
  }
  out.insert(out.end(), command.begin(), command.end());
  return out;
}

std::vector<std::string> environment_for(const RunFolders& folders) {
  std::vector<std::string> out;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    out.emplace_back(*variable);
  }
  out.push_back(fmt::format("{}={}", kFolderVariable, folders.folder()));
  out.push_back(fmt::format("{}={}", kSharedVariable, folders.shared()));
  out.push_back(fmt::format("{}={}", kParentVariable, name_of_this_process()));
  out.emplace_back("OMPI_ALLOW_RUN_AS_ROOT=1");  // containers have no other user
  out.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (std::string& word : words) {
    out.push_back(word.data());
  }
  out.push_back(nullptr);
  return out;
}

// Between fork and exec, where hardly anything is allowed.
[[noreturn]] void be_mpirun(char** argv, char** variables, const char* output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) {  // it died before that
    ::_exit(1);
  }
  ::setpgid(0, 0);  // Ctrl-C is for the parent, which ends things in order
  const int nothing = ::open("/dev/null", O_RDONLY);
  const int out = ::open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execvpe(argv[0], argv, variables);
  ::_exit(127);
}

}  // namespace

RunFolders::RunFolders() : folder_(make_folder(fs::temp_directory_path())) {
  std::error_code error;
  if (fs::is_directory(kSharedMemory, error)) {
    shared_ = make_folder(kSharedMemory);
  }
}

RunFolders::~RunFolders() {
  std::error_code error;  // what cannot be removed is no reason to fail
  fs::remove_all(folder_, error);
  if (!shared_.empty()) {
    fs::remove_all(shared_, error);
  }
}

Mpirun::Mpirun(const RunFolders& folders, int processes, const std::vector<std::string>& command)
    : output_file_(folders.folder() + "/mpirun.out") {
  std::vector<std::string> arguments = arguments_of(folders, processes, command);
  std::vector<std::string> variables = environment_for(folders);
  if (!is_in_path(arguments.front())) {
    throw BackendMissing(fmt::format("there is no {} in PATH", arguments.front()));
  }
  const std::vector<char*> argv = pointers_to(arguments);
  const std::vector<char*> envp = pointers_to(variables);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) {
    be_mpirun(const_cast<char**>(argv.data()), const_cast<char**>(envp.data()),
              output_file_.c_str(), parent);
  }
  if (process_ < 0) {
    throw std::system_error(errno, std::generic_category(), "cannot start mpirun");
  }
}

Mpirun::~Mpirun() { end(); }

std::optional<int> Mpirun::status() {
  int status = 0;
  if (!status_ && ::waitpid(process_, &status, WNOHANG) == process_) {
    status_ = status;
  }
  return status_;
}

void Mpirun::end() {
  if (status()) {
    return;
  }
  ::kill(process_, SIGTERM);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!status() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kNap);
  }
  if (!status()) {
    ::kill(process_, SIGKILL);
    int last = 0;
    ::waitpid(process_, &last, 0);
    status_ = last;
  }
}

std::optional<int> Mpirun::first_dead() const {
  constexpr std::string_view kNotice = "noticed that process rank ";
  std::ifstream in(output_file_);
  for (std::string line; std::getline(in, line);) {
    if (const std::size_t at = line.find(kNotice); at != std::string::npos) {
      const std::string number = line.substr(at + kNotice.size(), 9);
      return std::atoi(number.c_str());  // NOLINT(cert-err34-c): a number followed by words
    }
  }
  return std::nullopt;
}

std::string Mpirun::words() const {
  std::ifstream in(output_file_);
  std::string out;
  std::size_t lines = 0;
  for (std::string line; lines < kMostLines && std::getline(in, line);) {
    const bool says_something = line.find_first_not_of("-= ") != std::string::npos;
    if (says_something) {
      out += (out.empty() ? "" : " ") + line;
      ++lines;
    }
  }
  return out;
}

}  // namespace twinrun::exec
