// Error of a command line that was used wrongly.
#pragma once

#include <stdexcept>

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
