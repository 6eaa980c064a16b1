// Static libraries, as linkers of Linux and of embedded systems read them.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace intarsia {

/// Member of a static library.
struct ArchiveMember {
  std::string name;
  std::string_view object;  // bytes of an ELF object
};

/// Returns the bytes of a static library in the format of System V with an index of symbols. It depends on
/// the members alone. Error: a member is not an object.
Result<std::string> make_archive(std::span<const ArchiveMember> members);

}  // namespace intarsia
