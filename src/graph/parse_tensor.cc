#include "graph/parse_tensor.h"

#include <charconv>
#include <cstring>
#include <limits>

#include "graph/parse_dim.h"

namespace intarsia {
namespace {

template <typename T>
Result<T> parse_element(TextScanner& scanner) {
  if constexpr (std::is_same_v<T, std::string>) {
    return scanner.quoted();
  } else if constexpr (std::is_same_v<T, float>) {
    return scanner.real_f32();
  } else if constexpr (std::is_same_v<T, double>) {
    return scanner.real();
  } else {
    const size_t start = scanner.position();
    const std::string_view text = scanner.plain("-");
    T value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return value;
    scanner.go_back(start);
    return scanner.want("an integer that fits in the tensor's type");
  }
}

Result<Tensor> check_booleans(TextScanner& scanner, Tensor tensor) {
  if (!has_legal_booleans(tensor.view())) return scanner.error("a boolean element that is neither 0 nor 1");
  return tensor;
}

template <typename T>
Result<Tensor> parse_list(TextScanner& scanner, DType dtype, const Shape& shape, size_t count) {
  TRY(scanner.expect("{"));
  std::vector<T> elements;
  while (!scanner.at("}")) {
    if (!elements.empty()) TRY(scanner.expect(","));
    if (elements.size() == count) return scanner.error("more elements than the shape's {}", count);
    elements.push_back(TRY(parse_element<T>(scanner)));
  }
  if (elements.size() != count) return scanner.error("{} elements, the shape has {}", elements.size(), count);
  TRY(scanner.expect("}"));
  Tensor tensor(dtype, shape);
  std::ranges::move(elements, tensor.as<T>().begin());
  return check_booleans(scanner, std::move(tensor));
}

Result<Tensor> parse_hex(TextScanner& scanner, DType dtype, const Shape& shape, size_t count) {
  if (dtype == DType::string) return scanner.error("strings have no hex form");
  const std::string bytes = TRY(scanner.hex());
  if (bytes.size() != dtype_bytes(dtype, count))
    return scanner.error("{} bytes, the tensor has {}", bytes.size(), dtype_bytes(dtype, count));
  Tensor tensor(dtype, shape);
  if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return check_booleans(scanner, std::move(tensor));
}

Result<Tensor> resolve_digest(TextScanner& scanner, DType dtype, const Shape& shape,
                              const ConstantResolver& resolve) {
  const std::string_view text = scanner.plain("");
  uint64_t digest = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), digest, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.size() != 16)
    return scanner.error("'{}' is not a digest of 16 hex digits", text);
  if (!resolve)
    return scanner.error("the tensor's elements are not in the text and no source of tensors was given");
  Result<Tensor> tensor = resolve(digest);
  if (!tensor) return scanner.error("{}", tensor.error().message);
  if (tensor->dtype() != dtype || tensor->shape() != shape)
    return scanner.error("tensor {} is of another type", text);
  return tensor;
}

Result<std::vector<Dim>> parse_dims(TextScanner& scanner, std::string_view end,
                                    Result<Dim> parse(TextScanner&)) {
  std::vector<Dim> dims;
  while (!scanner.accept(end)) {
    if (!dims.empty()) TRY(scanner.expect(","));
    dims.push_back(TRY(parse(scanner)));
  }
  return dims;
}

}  // namespace

Result<ValueType> parse_type(TextScanner& scanner) {
  const size_t start = scanner.position();
  const std::string_view name = scanner.plain();
  ValueType type;
  if (name == "opaque") {
    type.opaque = true;
    type.encoded = TRY(scanner.hex());
    return type;
  }
  const std::optional<DType> dtype = parse_dtype(name);
  if (!dtype) {
    scanner.go_back(start);
    return scanner.want("a type, as in f32[2,3]");
  }
  type.dtype = *dtype;
  TRY(scanner.expect("["));
  if (scanner.accept("*")) {
    TRY(scanner.expect("]"));
    return type;
  }
  type.shape = TRY(parse_dims(scanner, "]", parse_dim));
  if (scanner.accept("<")) type.elements = TRY(parse_dims(scanner, ">", parse_expression));
  return type;
}

Result<Tensor> parse_tensor(TextScanner& scanner, const ValueType& type, const ConstantResolver& resolve) {
  const std::optional<Shape> shape = type.fixed_shape();
  if (!shape) return scanner.error("a tensor's type needs a shape of numbers");
  const Result<int64_t> elements = checked_elements(*shape);
  if (!elements) return scanner.error("{}", elements.error().message);
  const size_t count = static_cast<size_t>(*elements);
  if (scanner.accept("xxh3:")) return resolve_digest(scanner, type.dtype, *shape, resolve);
  if (scanner.accept("hex")) return parse_hex(scanner, type.dtype, *shape, count);
  switch (type.dtype) {
    case DType::u8:
      return parse_list<uint8_t>(scanner, type.dtype, *shape, count);
    case DType::i8:
      return parse_list<int8_t>(scanner, type.dtype, *shape, count);
    case DType::u16:
      return parse_list<uint16_t>(scanner, type.dtype, *shape, count);
    case DType::i16:
      return parse_list<int16_t>(scanner, type.dtype, *shape, count);
    case DType::u32:
      return parse_list<uint32_t>(scanner, type.dtype, *shape, count);
    case DType::i32:
      return parse_list<int32_t>(scanner, type.dtype, *shape, count);
    case DType::u64:
      return parse_list<uint64_t>(scanner, type.dtype, *shape, count);
    case DType::i64:
      return parse_list<int64_t>(scanner, type.dtype, *shape, count);
    case DType::boolean:
      return parse_list<uint8_t>(scanner, type.dtype, *shape, count);
    case DType::f32:
      return parse_list<float>(scanner, type.dtype, *shape, count);
    case DType::f64:
      return parse_list<double>(scanner, type.dtype, *shape, count);
    case DType::string:
      return parse_list<std::string>(scanner, type.dtype, *shape, count);
    default:
      return scanner.want("hex<...>, the only form of this type");
  }
}

}  // namespace intarsia
