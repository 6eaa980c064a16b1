// Constants of a program in plain C.
#pragma once

#include <string>

#include "base/architecture.h"
#include "emit_c/c_program.h"

namespace intarsia {

/// Bytes before the constants in a file of them: 16 of the program's digest, 8 of the number of bytes that
/// follow, 4 of their CRC-32 (IEEE 802.3), little-endian, and zeros.
inline constexpr size_t constants_file_header = 64;

/// Writes the constants to a file in the folder: an object that defines NAME_constants, a file of its own with
/// the digest (32 hexadecimal digits) of the program that it belongs to, or a source file.
Status write_constants(const ConstantLayout& constants, ConstantsAs form, const std::string& name, Arch arch,
                       const std::string& digest, const std::string& folder);

/// Returns the name of that file.
std::string constants_file_name(ConstantsAs form, const std::string& name);

/// Returns an array's numbers in C: words of 4 bytes, some on a line.
std::string write_words(std::span<const std::byte> bytes);

}  // namespace intarsia
