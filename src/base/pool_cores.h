// The cores of libraries that have one pool of threads in a process, which they make as they like.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/core_set.h"

namespace intarsia {

/// From the first call on the process holds the pool of `library` to these cores; null: to none in
/// particular. Error (busy): it holds it to others; names who wanted them. Thread-safe.
Status hold_pool(const std::string& library, const CoreSet* cores);

/// While this lives, the calling thread holds pools for whom it says: "stage 'a'".
class NamesPoolUser {
 public:
  explicit NamesPoolUser(std::string user);
  ~NamesPoolUser();
  NamesPoolUser(const NamesPoolUser&) = delete;
  NamesPoolUser& operator=(const NamesPoolUser&) = delete;

 private:
  std::string before_;
};

/// While this lives, threads that the calling one makes, and those that they make, get a name of at most 15
/// bytes, by which bind_threads() finds them. The calling one has it meanwhile, too, but is not found.
class NamesNewThreads {
 public:
  explicit NamesNewThreads(const char* name);
  ~NamesNewThreads();
  NamesNewThreads(const NamesNewThreads&) = delete;
  NamesNewThreads& operator=(const NamesNewThreads&) = delete;

 private:
  std::array<char, 16> before_{};
};

/// Binds the threads with such a name that may run elsewhere, too. A thread that has just started may set its
/// own cores afterward, so this looks until it finds nothing to do.
void bind_threads(bool (*is_such)(std::string_view name), const CoreSet& cores);

/// How many threads this process has; one system call.
int count_threads();
/// How many have such a name, but for those that only give it to others.
int count_threads(bool (*is_such)(std::string_view name));

}  // namespace intarsia
