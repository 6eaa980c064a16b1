// Memory of a session for values of open size: it grows to what the sizes of the runs need.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/bind_program.h"

namespace intarsia {

class OpenArenas {
 public:
  /// Makes arenas without memory, one per space of the program. `max_bytes`: the most that each may take; 0:
  /// no limit.
  OpenArenas(const BoundProgram& program, uint64_t max_bytes);

  /// Makes each arena at least as large. An arena that grows takes a quarter more than it had, so that sizes
  /// that rise by one seldom move it; its contents are lost. Errors: beyond the limit, or not enough memory;
  /// an arena may then be empty, and the next call makes it again.
  Status grow(const std::vector<uint64_t>& bytes);

  const Memory& of(size_t space) const { return arenas_[space]; }
  /// Returns a number that changes whenever an arena moves.
  uint64_t generation() const { return generation_; }

 private:
  Status grow(size_t space, uint64_t bytes);

  const BoundProgram& program_;
  uint64_t max_bytes_;
  std::vector<Memory> arenas_;  // by space
  uint64_t generation_ = 1;
};

}  // namespace intarsia
