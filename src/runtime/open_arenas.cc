#include "runtime/open_arenas.h"

#include <algorithm>
#include <limits>

namespace intarsia {

OpenArenas::OpenArenas(const BoundProgram& program, uint64_t max_bytes)
    : program_(program),
      max_bytes_(max_bytes == 0 ? std::numeric_limits<uint64_t>::max() : max_bytes),
      arenas_(program.spaces.size()) {}

Status OpenArenas::grow(const std::vector<uint64_t>& bytes) {
  for (size_t space = 0; space < bytes.size(); ++space)
    if (bytes[space] > arenas_[space].bytes()) TRY(grow(space, bytes[space]));
  return {};
}

Status OpenArenas::grow(size_t space, uint64_t bytes) {
  const std::string& name = program_.description().spaces[space]->name;
  if (bytes > max_bytes_)
    return fail(ErrorKind::out_of_memory,
                "{} bytes of working memory on '{}', where the session may take {} (max_arena_bytes)", bytes,
                name, max_bytes_);
  const uint64_t before = arenas_[space].bytes();
  const uint64_t wanted = std::min(std::max(bytes, before + before / 4), max_bytes_);
  arenas_[space] = Memory();
  ++generation_;
  Result<Memory> made = program_.spaces[space]->reserve(wanted);
  if (!made && wanted > bytes) made = program_.spaces[space]->reserve(bytes);
  if (!made && made.error().kind != ErrorKind::device_lost) made.error().kind = ErrorKind::out_of_memory;
  arenas_[space] = TRY(with_context(std::move(made), "{} bytes of working memory on '{}'", bytes, name));
  return {};
}

}  // namespace intarsia
