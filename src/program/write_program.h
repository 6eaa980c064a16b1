// Writer of program files.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/tensor_view.h"
#include "program/program.h"

namespace intarsia {

/// Writes `program` to `path`: under a temporary name in the same folder first, which is renamed when
/// everything is on the disk and removed on any failure, so that `path` is either the old file or the whole
/// new one.
///
/// `elf` is the shared object with the code (link_objects). `constants[i]` becomes program.constants[i] (the
/// field is filled here); equal bytes are stored once. `blobs[i]` belongs to program.regions[i]; blob_offset
/// and blob_bytes are filled here, and so is `producer`. The file depends only on the arguments, byte for
/// byte.
Status write_program(const std::string& path, std::string_view elf, fbs::ProgramT program,
                     std::span<const TensorView> constants, std::span<const std::string> blobs);

}  // namespace intarsia
