// Writer of program files.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"
#include "program/program.h"

namespace intarsia {

/// Constants as a program's file stores them, equal bytes once. Refers to the tensors that it was made from.
struct ConstantLayout {
  std::vector<std::span<const std::byte>> pieces;  // in order, each zero-padded to a multiple of 64
  std::deque<std::string> encoded;                 // string tensors, which pieces refer to
  uint64_t bytes = 0;
};

/// Lays out the constants of a program and fills program.constants[i] for constants[i]. Each is read once,
/// for its digest.
ConstantLayout lay_out_constants(fbs::ProgramT& program, std::span<const TensorView> constants);

/// Pieces of bytes in order, each zero-padded to a multiple of 64.
struct Pieces {
  std::vector<std::span<const std::byte>> spans;
  uint64_t bytes = 0;

  /// Appends a piece and returns its offset.
  uint64_t add(std::span<const std::byte> piece);
};

/// Writes `program`, whose constants are laid out, to `path`: under a temporary name in the same folder
/// first, which is renamed when everything is on the disk and removed on any failure, so that `path` is
/// either the old file or the whole new one. Returns the size of the file.
///
/// `elf` is the shared object with the code (link_objects). `blobs[i]` belongs to program.regions[i];
/// blob_offset and blob_bytes are filled here, and so is `producer`. The file depends only on the arguments,
/// byte for byte.
Result<uint64_t> write_program(const std::string& path, std::string_view elf, fbs::ProgramT& program,
                               const ConstantLayout& constants, std::span<const std::string> blobs);

/// Writes a program likewise whose regions and variants already have the offsets of their blobs and code.
Result<uint64_t> write_program(const std::string& path, std::string_view elf, const fbs::ProgramT& program,
                               const ConstantLayout& constants, const Pieces& blobs);

}  // namespace intarsia
