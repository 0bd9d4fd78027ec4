#pragma once

#include <string>
#include <vector>

namespace twinrun::cli {

// The command line of this process, for others that are to do the same. They cannot read our
// standard input: it is put into a file, which they read instead and which goes with this object.
class RepeatedCommand {
 public:
  RepeatedCommand();
  RepeatedCommand(const RepeatedCommand&) = delete;
  RepeatedCommand& operator=(const RepeatedCommand&) = delete;
  ~RepeatedCommand();

  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  std::string file_;  // "" when standard input is not read
};

}  // namespace twinrun::cli
