// Reader of program files, which checks them before any of their content is used.
#pragma once

#include <array>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files/regular_file.h"
#include "base/result.h"
#include "base/tensor_view.h"
#include "program/program.h"
#include "program/variants.h"

namespace intarsia {

/// File kept open and mapped read-only as a whole. Changing it in place changes the mapping, so whatever
/// must be checked before use comes from `copy`.
class ProgramFile {
 public:
  /// Opens a file. Errors name it.
  static Result<std::shared_ptr<const ProgramFile>> open(const std::string& path);
  /// Makes a file in memory that holds a copy of these bytes.
  static Result<std::shared_ptr<const ProgramFile>> of_bytes(std::span<const std::byte> bytes);
  ~ProgramFile();
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  /// Returns the path that it was opened by, or what messages call it.
  const std::string& name() const { return name_; }
  /// Returns the absolute path of its folder; empty for a file in memory.
  const std::string& folder() const { return folder_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Copies a part of the file to 64-byte aligned memory that no other process can change.
  Result<std::shared_ptr<std::byte>> copy(uint64_t offset, size_t bytes) const;
  /// Returns an error if the file's size or modification time has changed since it was opened.
  Status check_unchanged() const;
  /// Checks for the same file, in the same state when it was opened.
  bool is_same_file(const ProgramFile& other) const;

 private:
  ProgramFile(std::string name, RegularFile file) : name_(std::move(name)), file_(std::move(file)) {}
  static Result<std::shared_ptr<ProgramFile>> map(std::string name, RegularFile file);
  std::string name_, folder_;
  RegularFile file_;
  std::array<uint64_t, 2> identity_ = {};  // device and number of the file
  struct timespec changed_ = {};
  void* mapping_ = nullptr;  // mapping of bytes_; null if there are none
  std::span<const std::byte> bytes_;
};

/// Program that passed verify_program(): indices, offsets and sizes in it can be relied on. Of a file with
/// variants it is the one that runs here (take_variant()).
struct MappedProgram {
  std::string path;
  fbs::ProgramT description;
  /// Constants, as in description.constants. Numbers lie in the mapping (read-only memory!), strings in
  /// memory of their own.
  std::vector<Tensor> constants;
  std::span<const std::byte> elf;                      // ELF image
  std::vector<std::span<const std::byte>> blobs;       // one per region
  std::shared_ptr<const void> elf_owner, blobs_owner;  // null when read from memory
  uint64_t bytes = 0;                                  // size of the file
  std::vector<ProgramVariant> variants;     // all that the file has; empty if there is only this program
  uint64_t variant_bytes = 0;               // bytes of the file that only the others use
  uint64_t digest = 0;                      // digest of everything but the constants: the program's identity
  std::shared_ptr<const ProgramFile> file;  // null when read from memory
};

/// Opens a program, checks footer, digest, description and every offset, and maps the constants; everything
/// else is copied. Runs none of its code. Errors name the file and say what to do.
Result<MappedProgram> read_program(const std::string& path);
Result<MappedProgram> read_program(const std::shared_ptr<const ProgramFile>& file);

/// Returns the digest that a program's footer tells, unchecked; nullopt for bytes that are not a program.
std::optional<uint64_t> told_digest(std::span<const std::byte> file);

/// Reads a program from 64-byte aligned memory, which must outlive the result. Any bytes are safe.
Result<MappedProgram> parse_program(std::span<const std::byte> file);

/// Compares the constants' bytes with their digests, which reads all of them, so loading does not do it.
/// Fails, too, when the file was changed in place.
Status verify_constants(const MappedProgram& program);

}  // namespace intarsia
