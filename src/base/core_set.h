// Which CPUs a thread may run on.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// CPUs by their numbers in the system.
class CoreSet {
 public:
  /// "0", "2-5", "0-1+4". Error: another text, no CPU, or a number beyond what the system can have.
  static Result<CoreSet> parse(std::string_view text);
  /// The CPUs that the calling thread may use.
  static CoreSet of_this_thread() { return of_thread(0); }
  /// The same of a thread of this process by its id in the system; 0: the calling one.
  static CoreSet of_thread(int id);

  int size() const { return static_cast<int>(cores_.size()); }
  const std::vector<int>& numbers() const { return cores_; }  // ascending
  bool contains(const CoreSet& other) const;
  /// As parse() reads it: "0-1+4".
  std::string text() const;
  auto operator<=>(const CoreSet&) const = default;

  /// From now on the calling thread runs on these CPUs only. Error: the system refuses.
  Status bind_this_thread() const;
  /// The same of another thread of this process. False: it has ended, or the system refuses.
  bool bind_thread(int id) const;

 private:
  friend class BoundThread;
  std::vector<int> cores_;  // ascending
};

/// Binds the calling thread to a core set for as long as this lives, unless it is bound to a part of it
/// already. Allocates nothing.
class BoundThread {
 public:
  explicit BoundThread(const CoreSet& cores);
  ~BoundThread();
  BoundThread(const BoundThread&) = delete;
  BoundThread& operator=(const BoundThread&) = delete;

 private:
  alignas(64) std::array<std::byte, 512> before_{};  // the system's form
  bool is_changed_ = false;
};

}  // namespace intarsia
