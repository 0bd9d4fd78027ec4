#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace twinrun::exec {

// Folders of one run, gone with it: Open MPI's own files are in there too, so that nothing is left
// behind even when it is killed.
class RunFolders {
 public:
  RunFolders();
  RunFolders(const RunFolders&) = delete;
  RunFolders& operator=(const RunFolders&) = delete;
  ~RunFolders();

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::string& shared() const { return shared_; }  // for memory; "" if none

 private:
  std::string folder_;
  std::string shared_;
};

// mpirun as a child process that ends when this one does.
class Mpirun {
 public:
  // Starts so many processes of the command. What it prints goes to a file of the folder.
  // BackendMissing when there is no mpirun. The environment variable TWINRUN_MPIRUN may say how to
  // call it: "mpirun --hostfile hosts".
  Mpirun(const RunFolders& folders, int processes, const std::vector<std::string>& command);
  Mpirun(const Mpirun&) = delete;
  Mpirun& operator=(const Mpirun&) = delete;
  ~Mpirun();  // ends it

  // How it ended, as waitpid has it; nothing while it runs.
  std::optional<int> status();
  // Asks it to end its processes, then makes it.
  void end();
  // The rank of the process whose death it says that it noticed.
  [[nodiscard]] std::optional<int> first_dead() const;
  // What it printed, for people: the first lines.
  [[nodiscard]] std::string words() const;

 private:
  std::string output_file_;
  pid_t process_ = -1;
  std::optional<int> status_;
};

}  // namespace twinrun::exec
