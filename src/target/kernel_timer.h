// Program that times kernels on a machine where nothing of ours is installed.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace intarsia {

struct KernelTimer {
  std::string program;  // bytes of an executable for that machine
  std::string script;   // text of a script of sh that runs it there
  std::vector<std::pair<std::string, std::string>> sources =
      {};  // files that it was compiled from: name, text
};

}  // namespace intarsia
