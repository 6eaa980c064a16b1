// Functions of a driver's library that was opened at run time.
#pragma once

#include <dlfcn.h>

#include <string>

namespace intarsia {

class DriverFunctions {
 public:
  explicit DriverFunctions(void* library) : library_(library) {}

  template <typename Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  /// Returns the name of the first missing function, or empty.
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace intarsia
