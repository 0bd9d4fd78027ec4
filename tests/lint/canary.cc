// Breaks five checks of .clang-tidy on purpose. clang-tidy 14 accepts a config with a typo and then
// checks nothing; check_canary.py sees that these five are still reported. In no build target.
#include <string>

struct Base {            // cppcoreguidelines-virtual-class-destructor
  virtual void act() {}  // virtual, but deleting through Base is undefined
};

int BadName = 0;  // readability-identifier-naming

bool is_blank(std::string text) {  // performance-unnecessary-value-param
  if (text.size() == 0)
    return BadName == 0;  // container-size-empty, braces-around-statements
  return false;
}
