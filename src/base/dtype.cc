#include "base/dtype.h"

#include <array>
#include <string>

namespace intarsia {
namespace {

struct Row {
  std::string_view name;
  int bits;
  char kind;  // f float, i integer, c complex, b bool, s string, - none
};

constexpr std::array<Row, dtype_count> table = {{
    {"undefined", 0, '-'},  {"f32", 32, 'f'},   {"u8", 8, 'i'},
    {"i8", 8, 'i'},         {"u16", 16, 'i'},   {"i16", 16, 'i'},
    {"i32", 32, 'i'},       {"i64", 64, 'i'},   {"string", 8 * static_cast<int>(sizeof(std::string)), 's'},
    {"bool", 8, 'b'},       {"f16", 16, 'f'},   {"f64", 64, 'f'},
    {"u32", 32, 'i'},       {"u64", 64, 'i'},   {"c64", 64, 'c'},
    {"c128", 128, 'c'},     {"bf16", 16, 'f'},  {"f8e4m3fn", 8, 'f'},
    {"f8e4m3fnuz", 8, 'f'}, {"f8e5m2", 8, 'f'}, {"f8e5m2fnuz", 8, 'f'},
    {"u4", 4, 'i'},         {"i4", 4, 'i'},     {"f4e2m1", 4, 'f'},
    {"f8e8m0", 8, 'f'},     {"u2", 2, 'i'},     {"i2", 2, 'i'},
}};

const Row& row(DType dtype) {
  return table[static_cast<size_t>(dtype) < table.size() ? static_cast<size_t>(dtype) : 0];
}

}  // namespace

std::string_view dtype_name(DType dtype) { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int dtype_bits(DType dtype) { return row(dtype).bits; }

size_t dtype_bytes(DType dtype, size_t elements) {
  const size_t bits = static_cast<size_t>(row(dtype).bits);
  return bits % 8 == 0 ? elements * (bits / 8) : (elements * bits + 7) / 8;
}

bool is_float(DType dtype) { return row(dtype).kind == 'f'; }
bool is_integer(DType dtype) { return row(dtype).kind == 'i'; }
bool is_complex(DType dtype) { return row(dtype).kind == 'c'; }

double rounding_tolerance(DType dtype) {
  if (dtype == DType::f16) return 1e-2;
  return dtype == DType::bf16 ? 6e-2 : 0;
}

}  // namespace intarsia
