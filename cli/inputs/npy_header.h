// Header of a .npy file: a Python dictionary of three entries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct NpyHeader {
  std::string descr;  // element type, "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;
  size_t bytes = 0;  // offset of the data
};

/// Element type as NumPy writes it: "<f4" is letter 'f' of 4 bytes.
struct NpyType {
  char letter = 0;
  size_t bytes = 0;
};

/// Parses the header. Throws intarsia::Error with the file's name, as the two functions below do.
NpyHeader parse_npy_header(const std::vector<char>& file, const std::string& path);
NpyType parse_npy_type(const std::string& descr, const std::string& path);
/// Returns the intarsia_dtype of the elements; `wanted` decides if several would do.
int32_t dtype_of_npy(const NpyType& type, int32_t wanted, const std::string& path);

/// Returns NumPy's name of the type; `width` is that of strings.
std::string descr_of_dtype(int32_t dtype, size_t width);
/// Makes a version 1 header; the data starts at a multiple of 64.
std::string make_npy_header(const std::string& descr, const std::vector<int64_t>& shape);
