// NumPy's .npy files (NEP 1), versions 1 to 3.
#pragma once

#include <intarsia/intarsia.hpp>
#include <string>
#include <vector>

/// A tensor that owns its memory.
struct Array {
  int32_t dtype = INTARSIA_UNDEFINED;
  std::vector<int64_t> shape;
  std::vector<char> bytes;  // row-major; empty for strings
  std::vector<std::string> strings;
  std::vector<intarsia_string> elements;  // views of `strings`

  /// Returns a view of this array.
  intarsia::View view();
};

/// Reads a file. Throws intarsia::Error with the file's name for anything that is not a well-formed file of
/// numbers or strings in little-endian order. `wanted` (may be INTARSIA_UNDEFINED) distinguishes types that
/// NumPy has no name for: raw elements (V1, V2) become 8-bit floats or bf16, and bytes become 4-bit and 2-bit
/// elements. Strings become UTF-8 text.
Array read_npy(const std::string& path, int32_t wanted);
/// Parses the bytes of a file, which messages call `path`.
Array parse_npy(std::vector<char> file, const std::string& path, int32_t wanted);

/// Writes the file whole or not at all. bf16 is written as raw V2, 8-bit and 4-bit floats as V1, 4-bit and
/// 2-bit integers one per byte, strings as fixed-width bytes (S). Throws intarsia::Error.
void write_npy(const std::string& path, const intarsia_tensor& tensor);

/// Returns the number of elements; throws intarsia::Error when it does not fit.
int64_t count_elements(const std::vector<int64_t>& shape);
/// Returns the bits of one element; 0 for strings and undefined.
int dtype_bits(int32_t dtype);
