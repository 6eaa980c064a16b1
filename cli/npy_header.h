// The header of a .npy file: a Python dictionary of three entries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct NpyHeader {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;
  size_t bytes = 0;  // where the data begins
};

/// An element type as NumPy writes it: "<f4" is letter 'f' of 4 bytes.
struct NpyType {
  char letter = 0;
  size_t bytes = 0;
};

/// All of these throw intarsia::Error with the file's name.
NpyHeader parse_npy_header(const std::vector<char>& file, const std::string& path);
NpyType parse_npy_type(const std::string& descr, const std::string& path);
/// The intarsia_dtype of the elements; `wanted` decides if several would do.
int32_t dtype_of_npy(const NpyType& type, int32_t wanted, const std::string& path);

/// `width` is that of strings.
std::string descr_of_dtype(int32_t dtype, size_t width);
/// A version 1 header; the data begins at a multiple of 64.
std::string make_npy_header(const std::string& descr, const std::vector<int64_t>& shape);
