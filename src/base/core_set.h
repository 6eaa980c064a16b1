// Sets of CPUs that a thread may run on.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// Set of CPUs, by their numbers in the system.
class CoreSet {
 public:
  /// Parses "0", "2-5" or "0-1+4". Errors: any other text, no CPU, or a number no system has.
  static Result<CoreSet> parse(std::string_view text);
  /// Returns the CPUs that the calling thread may use.
  static CoreSet of_this_thread() { return of_thread(0); }
  /// Returns the CPUs that a thread of this process may use, by its system id; 0 is the calling thread.
  static CoreSet of_thread(int id);

  int size() const { return static_cast<int>(cores_.size()); }
  const std::vector<int>& numbers() const { return cores_; }  // ascending
  bool contains(const CoreSet& other) const;
  /// Returns the set as parse() reads it: "0-1+4".
  std::string text() const;
  auto operator<=>(const CoreSet&) const = default;

  /// Restricts the calling thread to these CPUs. Error: the system refuses.
  Status bind_this_thread() const;
  /// Restricts another thread of this process. Returns false if it has ended or the system refuses.
  bool bind_thread(int id) const;

 private:
  friend class BoundThread;
  friend std::vector<CoreSet> divide_cores(const CoreSet& cores, int size);
  std::vector<int> cores_;  // ascending
};

/// Divides the CPUs into sets of `size` ("0+1", "2+3"); leftover CPUs are in no set.
std::vector<CoreSet> divide_cores(const CoreSet& cores, int size);

/// Parses the text like CoreSet::parse. Errors: those of parse, or CPUs that the calling thread may not use.
Result<CoreSet> usable_cores(std::string_view text);
/// Error (not_found): the calling thread may not use all of these CPUs.
Status check_usable(const CoreSet& cores);

/// Binds the calling thread to a core set while this object lives, unless the thread is already bound to a
/// subset. Allocates nothing.
class BoundThread {
 public:
  explicit BoundThread(const CoreSet& cores);
  ~BoundThread();
  BoundThread(const BoundThread&) = delete;
  BoundThread& operator=(const BoundThread&) = delete;

 private:
  alignas(64) std::array<std::byte, 512> before_{};  // former CPUs, in the system's format
  bool is_changed_ = false;
};

}  // namespace intarsia
