// Opens the artifact and checks it before anything of it is used.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"
#include "program/program.h"

namespace intarsia {

/// A file kept open and mapped read-only as a whole.
class ProgramFile {
 public:
  static Result<std::shared_ptr<const ProgramFile>> open(const std::string& path);
  ~ProgramFile();
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  ProgramFile() = default;
  int descriptor_ = -1;
  std::span<const std::byte> bytes_;
};

/// A program that passed verify_program: indices, offsets and sizes in it can be relied on.
struct MappedProgram {
  std::string path;
  fbs::ProgramT description;
  /// As in description.constants. Numbers lie in the mapping (read-only memory!), strings in memory of their
  /// own.
  std::vector<Tensor> constants;
  std::span<const std::byte> elf;  // in the mapping
  /// One a region, in the mapping.
  std::vector<std::span<const std::byte>> blobs;
  uint64_t digest = 0;                      // of everything but the constants: the program's identity
  std::shared_ptr<const ProgramFile> file;  // null when read from memory
};

/// Opens, checks footer, digest, description and every offset, and maps. Runs nothing of it. Errors name the
/// file and say what to do.
Result<MappedProgram> read_program(const std::string& path);

/// The same for a file's bytes in memory, 64-byte aligned, which must outlive the result. Survives any bytes.
Result<MappedProgram> parse_program(std::span<const std::byte> file);

/// Compares the constants' bytes with their digests: reads all of them, so loading does not do it.
Status verify_constants(const MappedProgram& program);

}  // namespace intarsia
