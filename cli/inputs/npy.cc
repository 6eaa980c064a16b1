#include "cli/inputs/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "cli/inputs/npy_header.h"
#include "cli/system/files.h"
#include "cli/text/print.h"

namespace {

using intarsia::Error;

bool is_packed(int32_t dtype) { return dtype_bits(dtype) > 0 && dtype_bits(dtype) < 8; }

bool is_signed_packed(int32_t dtype) { return dtype == INTARSIA_I4 || dtype == INTARSIA_I2; }

/// Returns the size of the data; -1 when it does not fit.
int64_t bytes_of_data(const NpyHeader& header, const NpyType& type) {
  auto bytes = static_cast<int64_t>(type.bytes);
  for (int64_t size : header.shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return -1;
  }
  return bytes;
}

/// Converts elements from column-major to row-major order.
std::vector<char> to_row_major(const std::vector<char>& from, const std::vector<int64_t>& shape,
                               size_t element_bytes) {
  std::vector<char> to(from.size());
  std::vector<size_t> position(shape.size(), 0);
  std::vector<size_t> strides(shape.size(), element_bytes);  // strides of the source
  for (size_t axis = 1; axis < shape.size(); ++axis)
    strides[axis] = strides[axis - 1] * static_cast<size_t>(shape[axis - 1]);
  size_t source = 0;
  for (size_t target = 0; target < to.size(); target += element_bytes) {
    std::memcpy(&to[target], &from[source], element_bytes);
    for (size_t axis = shape.size(); axis-- > 0;) {
      source += strides[axis];
      if (++position[axis] < static_cast<size_t>(shape[axis])) break;
      source -= strides[axis] * position[axis];
      position[axis] = 0;
    }
  }
  return to;
}

void append_utf8(uint32_t code, std::string& text) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
  } else if (code < 0x10000) {
    text += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
             static_cast<char>(0x80 | (code & 0x3f))};
  } else {
    text += {static_cast<char>(0xf0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 0x3f)),
             static_cast<char>(0x80 | (code >> 6 & 0x3f)), static_cast<char>(0x80 | (code & 0x3f))};
  }
}

/// Reads one element of fixed width, without its padding zeros.
std::string read_string(const char* data, const NpyType& type, const std::string& path) {
  if (type.letter == 'S') {
    size_t size = type.bytes;
    while (size > 0 && data[size - 1] == 0) --size;
    return {data, size};
  }
  std::vector<uint32_t> codes(type.bytes / 4);
  if (!codes.empty()) std::memcpy(codes.data(), data, type.bytes);
  while (!codes.empty() && codes.back() == 0) codes.pop_back();
  std::string text;
  for (uint32_t code : codes) {
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      throw Error(fmt::format("{}: holds {:#x}, which is not a Unicode character", path, code));
    append_utf8(code, text);
  }
  return text;
}

/// Packs elements of one byte each, the first in the lowest bits.
std::vector<char> pack(const std::vector<char>& from, int32_t dtype, const std::string& path) {
  const int bits = dtype_bits(dtype);
  const size_t per_byte = static_cast<size_t>(8 / bits);
  const int lowest = is_signed_packed(dtype) ? -(1 << (bits - 1)) : 0;
  const int highest = lowest + (1 << bits) - 1;
  std::vector<char> to((from.size() + per_byte - 1) / per_byte, 0);
  for (size_t i = 0; i < from.size(); ++i) {
    const int value = lowest < 0 ? static_cast<signed char>(from[i]) : static_cast<unsigned char>(from[i]);
    if (value < lowest || value > highest)
      throw Error(
          fmt::format("{}: element {} is {}, which does not fit into {}", path, i, value, dtype_name(dtype)));
    to[i / per_byte] = static_cast<char>(
        to[i / per_byte] | (value & ((1 << bits) - 1)) << (i % per_byte * static_cast<size_t>(bits)));
  }
  return to;
}

std::vector<char> unpack(const char* data, size_t count, int32_t dtype) {
  const int bits = dtype_bits(dtype);
  const size_t per_byte = static_cast<size_t>(8 / bits);
  std::vector<char> to(count);
  for (size_t i = 0; i < count; ++i) {
    int value = static_cast<unsigned char>(data[i / per_byte]) >> (i % per_byte * static_cast<size_t>(bits)) &
                ((1 << bits) - 1);
    if (is_signed_packed(dtype) && value >= 1 << (bits - 1)) value -= 1 << bits;
    to[i] = static_cast<char>(value);
  }
  return to;
}

/// Pads the strings to a uniform width, that of the longest.
std::vector<char> pad_strings(const intarsia_string* strings, size_t count, size_t width) {
  std::vector<char> bytes(count * width, 0);
  for (size_t i = 0; i < count; ++i) {
    if (strings[i].size > 0) std::memcpy(&bytes[i * width], strings[i].data, strings[i].size);
  }
  return bytes;
}

}  // namespace

int dtype_bits(int32_t dtype) {
  // Indexed by intarsia_dtype.
  static const int bits[] = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                             64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 8,  2,  2};
  return dtype < 0 || static_cast<size_t>(dtype) >= std::size(bits) ? 0 : bits[dtype];
}

int64_t count_elements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      throw Error("a shape has a negative size or too many elements");
  }
  return count;
}

intarsia::View Array::view() {
  if (dtype != INTARSIA_STRING) return {bytes.data(), dtype, shape};
  elements.clear();
  for (const std::string& text : strings) elements.push_back({text.data(), text.size()});
  return {elements.data(), dtype, shape};
}

Array read_npy(const std::string& path, int32_t wanted) { return parse_npy(read_file(path), path, wanted); }

Array parse_npy(std::vector<char> file, const std::string& path, int32_t wanted) {
  const NpyHeader header = parse_npy_header(file, path);
  const NpyType type = parse_npy_type(header.descr, path);
  Array array{dtype_of_npy(type, wanted, path), header.shape, {}, {}, {}};
  if (bytes_of_data(header, type) != static_cast<int64_t>(file.size() - header.bytes)) {
    throw Error(fmt::format(
        "{}: holds {} bytes of data, which is not what shape ({}) of '{}' takes; the file is damaged", path,
        file.size() - header.bytes, fmt::join(header.shape, ", "), header.descr));
  }
  file.erase(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(header.bytes));
  if (header.fortran_order && type.bytes > 0) file = to_row_major(file, header.shape, type.bytes);
  if (array.dtype == INTARSIA_STRING) {
    const auto count = static_cast<size_t>(count_elements(header.shape));
    if (type.bytes == 0 && count > (size_t{1} << 20))
      throw Error(path + ": holds too many empty strings; the file is damaged");
    for (size_t i = 0; i < count; ++i)
      array.strings.push_back(read_string(file.data() + i * type.bytes, type, path));
  } else {
    array.bytes = is_packed(array.dtype) ? pack(file, array.dtype, path) : std::move(file);
  }
  return array;
}

void write_npy(const std::string& path, const intarsia_tensor& tensor) {
  const std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.rank);
  const auto count = static_cast<size_t>(count_elements(shape));
  const char* data = static_cast<const char*>(tensor.data);
  size_t bytes = count * static_cast<size_t>(dtype_bits(tensor.dtype)) / 8;
  std::vector<char> converted;
  size_t width = 1;
  if (tensor.dtype == INTARSIA_STRING) {
    const auto* strings = static_cast<const intarsia_string*>(tensor.data);
    for (size_t i = 0; i < count; ++i) width = std::max(width, strings[i].size);
    converted = pad_strings(strings, count, width);
  } else if (is_packed(tensor.dtype)) {
    converted = unpack(data, count, tensor.dtype);
  }
  if (!converted.empty()) {
    data = converted.data();
    bytes = converted.size();
  }
  const std::string header = make_npy_header(descr_of_dtype(tensor.dtype, width), shape);
  write_file(path, {header, {data, bytes}});
}
