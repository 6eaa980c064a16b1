// Cores of libraries that create one thread pool per process on their own terms.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/core_set.h"

namespace intarsia {

/// Pins the pool of `library` in this process to these cores from the first call on; null stands for no cores
/// in particular. Thread-safe. Error (busy): the pool is pinned to other cores; the message names their user.
Status pin_pool(const std::string& library, const CoreSet* cores);

/// Name of the user, "stage 'a'", for whom the calling thread pins pools while this object lives.
class NamesPoolUser {
 public:
  explicit NamesPoolUser(std::string user);
  ~NamesPoolUser();
  NamesPoolUser(const NamesPoolUser&) = delete;
  NamesPoolUser& operator=(const NamesPoolUser&) = delete;

 private:
  std::string before_;
};

/// Name of at most 15 bytes for threads that the calling thread creates while this object lives, and for
/// threads that these create; bind_threads() finds them by it. The calling thread has it too, but is not
/// found.
class NamesNewThreads {
 public:
  explicit NamesNewThreads(const char* name);
  ~NamesNewThreads();
  NamesNewThreads(const NamesNewThreads&) = delete;
  NamesNewThreads& operator=(const NamesNewThreads&) = delete;

 private:
  std::array<char, 16> before_{};
};

/// Binds the threads whose name matches and that may also run elsewhere. A new thread may still set its own
/// cores afterward, so this repeats until it finds nothing to do.
void bind_threads(bool (*is_such)(std::string_view name), const CoreSet& cores);

/// Counts the threads of this process, with one system call.
int count_threads();
/// Counts the threads whose name matches, except those that have it only to pass it on.
int count_threads(bool (*is_such)(std::string_view name));

}  // namespace intarsia
