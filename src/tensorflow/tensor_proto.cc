#include "tensorflow/tensor_proto.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "base/protobuf.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/fields.h"

namespace intarsia::tensorflow {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

constexpr int64_t max_elements_of_a_repeated_value =
    int64_t{1} << 28;  // limit, so that a few bytes do not become terabytes

/// Fields of a TensorProto, unchecked; numbers as stored, in the list of their kind.
struct RawTensor {
  int32_t data_type = 0;
  std::optional<SymbolicShape> shape = SymbolicShape{};
  std::optional<std::string_view> content;
  std::vector<float> floats;    // includes the parts of c64
  std::vector<double> doubles;  // includes the parts of c128
  std::vector<int64_t> integers;
  std::vector<std::string> strings;
};

template <typename Range, typename List>
void append(const Range& range, List& list) {
  for (auto value : range) list.push_back(static_cast<typename List::value_type>(value));
}

bool is_packed(const pbf_reader& message) {
  return message.wire_type() == protozero::pbf_wire_type::length_delimited;
}

void read_integers(pbf_reader& message, std::vector<int64_t>& integers) {
  if (is_packed(message))
    append(message.get_packed_int64(), integers);
  else
    integers.push_back(message.get_int64());
}

RawTensor read_fields(std::string_view bytes) {
  RawTensor raw;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case tensor_proto::dtype:
        raw.data_type = message.get_int32();
        break;
      case tensor_proto::tensor_shape:
        raw.shape = read_shape(read_bytes(message));
        break;
      case tensor_proto::tensor_content:
        raw.content = read_bytes(message);
        break;
      case tensor_proto::float_val:
      case tensor_proto::scomplex_val:
        if (is_packed(message))
          append(message.get_packed_float(), raw.floats);
        else
          raw.floats.push_back(message.get_float());
        break;
      case tensor_proto::double_val:
      case tensor_proto::dcomplex_val:
        if (is_packed(message))
          append(message.get_packed_double(), raw.doubles);
        else
          raw.doubles.push_back(message.get_double());
        break;
      case tensor_proto::int_val:
      case tensor_proto::int64_val:
      case tensor_proto::bool_val:
      case tensor_proto::half_val:
      case tensor_proto::uint32_val:
      case tensor_proto::uint64_val:
        read_integers(message, raw.integers);
        break;
      case tensor_proto::string_val:
        raw.strings.push_back(message.get_string());
        break;
      default:
        message.skip();
    }
  }
  return raw;
}

/// Writes `values`, then repeats the last one.
template <typename To, typename From>
Status fill(const std::vector<From>& values, std::span<To> to) {
  if (values.size() > to.size()) return fail("holds {} values for {} elements", values.size(), to.size());
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = values.empty() ? To{} : static_cast<To>(values[std::min(i, values.size() - 1)]);
  }
  return {};
}

template <typename Part>
Status fill_complex(const std::vector<Part>& parts, std::span<std::complex<Part>> to) {
  std::vector<std::complex<Part>> values;
  for (size_t i = 0; i + 1 < parts.size(); i += 2) values.emplace_back(parts[i], parts[i + 1]);
  return fill(values, to);
}

Status fill_listed(const RawTensor& raw, const TensorView& to) {
  switch (to.dtype) {
    case DType::f32:
      return fill(raw.floats, to.as<float>());
    case DType::f64:
      return fill(raw.doubles, to.as<double>());
    case DType::c64:
      return fill_complex(raw.floats, to.as<std::complex<float>>());
    case DType::c128:
      return fill_complex(raw.doubles, to.as<std::complex<double>>());
    case DType::string:
      return fill(raw.strings, to.as<std::string>());
    case DType::boolean: {
      std::vector<uint8_t> values;
      for (int64_t value : raw.integers) values.push_back(value != 0);
      return fill(values, to.as<uint8_t>());
    }
    case DType::i8:
    case DType::u8:
      return fill(raw.integers, to.as<uint8_t>());
    case DType::i16:
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return fill(raw.integers, to.as<uint16_t>());
    case DType::i32:
    case DType::u32:
      return fill(raw.integers, to.as<uint32_t>());
    case DType::i64:
    case DType::u64:
      return fill(raw.integers, to.as<uint64_t>());
    default:
      return fail("values of type {} are not read", dtype_name(to.dtype));
  }
}

Status fill_from_content(std::string_view content, const TensorView& to) {
  if (content.size() != to.bytes())
    return fail("has {} bytes of content, want {} for {} {}", content.size(), to.bytes(),
                dtype_name(to.dtype), print_shape(to.shape));
  if (!content.empty()) std::memcpy(to.data, content.data(), content.size());
  if (!has_legal_booleans(to)) return fail("has a boolean that is neither 0 nor 1");
  return {};
}

}  // namespace

Result<Tensor> read_tensor(std::string_view bytes) {
  const RawTensor raw = read_fields(bytes);
  const DType dtype = dtype_of(raw.data_type);
  if (dtype == DType::undefined || dtype_bits(dtype) < 8)
    return fail("a tensor of TensorFlow's type {} is not read", raw.data_type);
  const std::optional<Shape> shape = raw.shape ? static_shape(*raw.shape) : std::nullopt;
  if (!shape) return fail("a constant tensor has no known shape");
  const int64_t elements = TRY(checked_elements(*shape));
  const bool has_content = raw.content && !raw.content->empty() && dtype != DType::string;
  if (has_content ? static_cast<size_t>(elements) > raw.content->size()
                  : elements > max_elements_of_a_repeated_value) {
    return fail("a tensor of shape {} is larger than its data", print_shape(*shape));
  }
  Tensor tensor(dtype, *shape);
  TRY(with_context(
      has_content ? fill_from_content(*raw.content, tensor.view()) : fill_listed(raw, tensor.view()),
      "a tensor"));
  return tensor;
}

Result<std::string> write_tensor(const ConstTensorView& tensor) {
  const int32_t data_type = data_type_of(tensor.dtype);
  if (data_type == 0) return fail("TensorFlow has no type {}", dtype_name(tensor.dtype));
  std::string bytes;
  pbf_writer out(bytes);
  out.add_int32(tensor_proto::dtype, data_type);
  out.add_message(tensor_proto::tensor_shape, write_shape(to_symbolic(tensor.shape)));
  if (tensor.dtype == DType::string) {
    for (const std::string& text : tensor.as<std::string>()) out.add_bytes(tensor_proto::string_val, text);
  } else {
    out.add_bytes(tensor_proto::tensor_content, static_cast<const char*>(tensor.data), tensor.bytes());
  }
  return bytes;
}

std::optional<SymbolicShape> read_shape(std::string_view bytes) {
  SymbolicShape shape;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() == tensor_shape::unknown_rank) {
      if (message.get_bool()) return std::nullopt;
    } else if (message.tag() == tensor_shape::dim) {
      pbf_reader dim = message.get_message();
      int64_t size = 0;
      while (dim.next()) {
        if (dim.tag() == shape_dim::size)
          size = dim.get_int64();
        else
          dim.skip();
      }
      shape.push_back(size < 0 ? Dim::unknown() : Dim(size));
    } else {
      message.skip();
    }
  }
  return shape;
}

std::string write_shape(const std::optional<SymbolicShape>& shape) {
  std::string bytes;
  pbf_writer out(bytes);
  if (!shape) out.add_bool(tensor_shape::unknown_rank, true);
  for (const Dim& dim : shape.value_or(SymbolicShape{})) {
    pbf_writer entry(out, tensor_shape::dim);
    entry.add_int64(shape_dim::size, dim.is_number() ? dim.number() : -1);
  }
  return bytes;
}

}  // namespace intarsia::tensorflow
