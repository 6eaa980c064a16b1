#include "import/onnx_tensor.h"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/bytes.h"
#include "base/protobuf.h"
#include "import/onnx_messages.h"
#include "onnx/onnx_fields.h"

namespace intarsia {
namespace {

using protozero::pbf_reader;

/// Fields of a TensorProto, unchecked.
struct RawTensor {
  std::string name;
  Shape dims;
  int32_t data_type = 0;
  std::optional<std::string_view> raw;
  std::map<std::string, std::string> external;
  bool is_external = false;
};

template <typename Range, typename List>
void append(const Range& range, List& list) {
  for (auto value : range) list.push_back(value);
}

void set_entry(std::map<std::string, std::string>& entries, std::pair<std::string, std::string> entry) {
  entries[std::move(entry.first)] = std::move(entry.second);
}

RawTensor read_fields(std::string_view bytes) {
  RawTensor raw;
  pbf_reader message(bytes.data(), bytes.size());
  while (message.next()) {
    switch (message.tag()) {
      case onnx::tensor::dims:
        if (message.wire_type() == protozero::pbf_wire_type::length_delimited)
          append(message.get_packed_int64(), raw.dims);
        else
          raw.dims.push_back(message.get_int64());
        break;
      case onnx::tensor::data_type:
        raw.data_type = message.get_int32();
        break;
      case onnx::tensor::name:
        raw.name = message.get_string();
        break;
      case onnx::tensor::raw_data: {
        const protozero::data_view view = message.get_view();
        raw.raw = std::string_view(view.data(), view.size());
        break;
      }
      case onnx::tensor::external_data:
        set_entry(raw.external, onnx::read_string_entry(read_bytes(message)));
        break;
      case onnx::tensor::data_location:
        raw.is_external = message.get_enum() == 1;
        break;
      default:
        message.skip();
    }
  }
  return raw;
}

/// Hands the elements of the typed field `tag` to `put`, in order; the field may be packed or not.
template <typename T, typename Packed, typename Single, typename Put>
void for_each_element(std::string_view bytes, uint32_t tag, Packed packed, Single single, Put put) {
  pbf_reader message(bytes.data(), bytes.size());
  while (message.next(tag)) {
    if (message.wire_type() == protozero::pbf_wire_type::length_delimited) {
      for (T value : packed(message)) put(value);
    } else {
      put(single(message));
    }
  }
}

/// Fills memory with the low `width` bytes of each element; from int32_data come all types of at most 32 bits
/// without a field of their own (floats of 16 and 8 bits as their bits).
struct Storer {
  std::span<std::byte> memory;
  size_t width;  // bytes of a stored unit
  size_t filled = 0;
  bool overflow = false;

  void put(const void* value) {
    if (filled + width > memory.size()) {
      overflow = true;
      return;
    }
    std::memcpy(memory.data() + filled, value, width);
    filled += width;
  }
};

void store_typed_data(std::string_view bytes, DType dtype, Storer& storer) {
  switch (dtype) {
    case DType::f32:
    case DType::c64:
      storer.width = sizeof(float);
      for_each_element<float>(
          bytes, onnx::tensor::float_data, [](pbf_reader& m) { return m.get_packed_float(); },
          [](pbf_reader& m) { return m.get_float(); }, [&](float v) { storer.put(&v); });
      return;
    case DType::f64:
    case DType::c128:
      storer.width = sizeof(double);
      for_each_element<double>(
          bytes, onnx::tensor::double_data, [](pbf_reader& m) { return m.get_packed_double(); },
          [](pbf_reader& m) { return m.get_double(); }, [&](double v) { storer.put(&v); });
      return;
    case DType::i64:
      storer.width = sizeof(int64_t);
      for_each_element<int64_t>(
          bytes, onnx::tensor::int64_data, [](pbf_reader& m) { return m.get_packed_int64(); },
          [](pbf_reader& m) { return m.get_int64(); }, [&](int64_t v) { storer.put(&v); });
      return;
    case DType::u64:
    case DType::u32:
      storer.width = dtype == DType::u64 ? 8 : 4;
      for_each_element<uint64_t>(
          bytes, onnx::tensor::uint64_data, [](pbf_reader& m) { return m.get_packed_uint64(); },
          [](pbf_reader& m) { return m.get_uint64(); }, [&](uint64_t v) { storer.put(&v); });
      return;
    default:
      storer.width = std::max<size_t>(1, static_cast<size_t>(dtype_bits(dtype)) / 8);
      for_each_element<int32_t>(
          bytes, onnx::tensor::int32_data, [](pbf_reader& m) { return m.get_packed_int32(); },
          [](pbf_reader& m) { return m.get_int32(); }, [&](int32_t v) { storer.put(&v); });
  }
}

Result<Tensor> read_string_data(std::string_view bytes, const Shape& shape) {
  Tensor tensor(DType::string, shape);
  std::span<std::string> elements = tensor.as<std::string>();
  size_t count = 0;
  pbf_reader message(bytes.data(), bytes.size());
  while (message.next(onnx::tensor::string_data)) {
    if (count < elements.size())
      elements[count] = message.get_string();
    else
      message.skip();
    ++count;
  }
  if (count != elements.size()) return fail("has {} strings, its shape wants {}", count, elements.size());
  return tensor;
}

Result<Tensor> view_or_copy(std::span<const std::byte> data, DType dtype, Shape shape,
                            const std::shared_ptr<void>& owner) {
  ConstTensorView view{data.data(), dtype, std::move(shape)};
  const size_t width = std::max<size_t>(1, static_cast<size_t>(dtype_bits(dtype)) / 8);
  if (owner != nullptr && is_aligned(data.data(), width)) return Tensor(std::move(view), owner);
  return Tensor(view);
}

Result<uint64_t> number_entry(const std::map<std::string, std::string>& entries, const std::string& key,
                              uint64_t otherwise) {
  auto at = entries.find(key);
  if (at == entries.end()) return otherwise;
  uint64_t value = 0;
  auto [end, error] = std::from_chars(at->second.data(), at->second.data() + at->second.size(), value);
  if (error != std::errc() || end != at->second.data() + at->second.size()) {
    return fail("external data: {} is '{}', want a number", key, at->second);
  }
  return value;
}

/// Maps an external file, which must lie below the model's folder even after following symbolic links.
Result<MappedFile> open_external(const std::string& location, TensorSource& source) {
  namespace fs = std::filesystem;
  if (auto at = source.files.find(location); at != source.files.end()) return at->second;
  if (source.folder.empty()) return fail("has external data '{}', but the model is not a file", location);
  const fs::path relative(location);
  if (location.empty() || relative.is_absolute() || location.find('\0') != std::string::npos) {
    return fail("external data '{}' is not a path relative to the model's folder", location);
  }
  std::error_code error;
  const fs::path folder = fs::canonical(source.folder, error);
  const fs::path file = fs::weakly_canonical(folder / relative, error);
  if (error) return fail("external data '{}': {}", location, error.message());
  auto [end, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  if (end != folder.end())
    return fail("external data '{}' lies outside of the model's folder '{}'", location, source.folder);
  MappedFile mapped =
      TRY(with_context(map_file(file.string()), "external data '{}' of the model is missing", location));
  source.files[location] = mapped;
  return mapped;
}

Result<Tensor> read_external(const RawTensor& raw, DType dtype, size_t bytes, TensorSource& source) {
  auto location = raw.external.find("location");
  if (location == raw.external.end()) return fail("external data without a location");
  const MappedFile file = TRY(open_external(location->second, source));
  const uint64_t offset = TRY(number_entry(raw.external, "offset", 0));
  const uint64_t length = TRY(number_entry(raw.external, "length", bytes));
  if (length != bytes)
    return fail("external data has length {}, its shape and dtype want {} bytes", length, bytes);
  if (offset > file.bytes.size() || bytes > file.bytes.size() - offset) {
    return fail("external data wants bytes {} to {} of '{}', which has {}", offset, offset + bytes,
                location->second, file.bytes.size());
  }
  return view_or_copy(file.bytes.subspan(offset, bytes), dtype, raw.dims, file.owner);
}

Result<Tensor> build_tensor(const RawTensor& raw, std::string_view bytes, TensorSource& source) {
  if (raw.data_type <= 0 || raw.data_type >= dtype_count)
    return fail("has unknown data type {}", raw.data_type);
  const DType dtype = static_cast<DType>(raw.data_type);
  const int64_t elements = TRY(checked_elements(raw.dims));
  if (dtype == DType::string) {
    if (raw.is_external || raw.raw || static_cast<size_t>(elements) > bytes.size())
      return fail("holds strings in an invalid form");
    return read_string_data(bytes, raw.dims);
  }
  const size_t size = dtype_bytes(dtype, static_cast<size_t>(elements));
  if (raw.is_external) return read_external(raw, dtype, size, source);
  if (raw.raw) {
    if (raw.raw->size() != size)
      return fail("has {} bytes, shape {} of {} wants {}", raw.raw->size(), print_shape(raw.dims),
                  dtype_name(dtype), size);
    return view_or_copy(as_bytes(*raw.raw), dtype, raw.dims, source.owner);
  }
  // An element of a typed field takes at least one byte, and so does each pair of packed 4-bit elements.
  if (size > bytes.size() * 16) return fail("has fewer elements than shape {} wants", print_shape(raw.dims));
  Tensor tensor(dtype, raw.dims);
  Storer storer{{static_cast<std::byte*>(tensor.data()), size}, 1};
  store_typed_data(bytes, dtype, storer);
  if (storer.overflow || storer.filled != size)
    return fail("does not have as many elements as shape {} wants", print_shape(raw.dims));
  return tensor;
}

template <typename Read>
auto catch_format_errors(Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const protozero::exception& error) {
    return fail("is not a valid protobuf message ({})", error.what());
  } catch (const std::bad_alloc&) {
    return fail("does not fit in memory");
  }
}

Status scatter_sparse(const Tensor& values, const Tensor& indices, const Tensor& dense) {
  const size_t width = static_cast<size_t>(dtype_bits(dense.dtype())) / 8;
  const Shape strides = row_major_strides(dense.shape());
  const size_t count = static_cast<size_t>(element_count(values.shape()));
  const size_t rank = dense.shape().size();
  const bool linear = indices.shape().size() == 1;
  if (indices.dtype() != DType::i64 ||
      element_count(indices.shape()) != static_cast<int64_t>(count * (linear ? 1 : rank))) {
    return fail("sparse indices have shape {}", print_shape(indices.shape()));
  }
  for (size_t i = 0; i < count; ++i) {
    int64_t at = linear ? indices.as<int64_t>()[i] : 0;
    for (size_t axis = 0; !linear && axis < rank; ++axis) {
      const int64_t k = indices.as<int64_t>()[i * rank + axis];
      if (k < 0 || k >= dense.shape()[axis]) return fail("sparse index {} is out of range", k);
      at += k * strides[axis];
    }
    if (at < 0 || at >= element_count(dense.shape())) return fail("sparse index {} is out of range", at);
    std::memcpy(static_cast<std::byte*>(dense.data()) + at * width,
                static_cast<std::byte*>(values.data()) + i * width, width);
  }
  return {};
}

}  // namespace

Result<Tensor> read_onnx_tensor(std::string_view bytes, TensorSource& source, std::string* name) {
  RawTensor raw;
  Result<Tensor> tensor = catch_format_errors([&]() -> Result<Tensor> {
    raw = read_fields(bytes);
    Tensor tensor = TRY(build_tensor(raw, bytes, source));
    if (!has_legal_booleans(tensor.view())) return fail("has a boolean element that is neither 0 nor 1");
    return tensor;
  });
  if (name != nullptr) *name = raw.name;
  return with_context(std::move(tensor), "tensor '{}'", raw.name);
}

Result<Tensor> read_onnx_sparse_tensor(std::string_view bytes, TensorSource& source, std::string* name) {
  return catch_format_errors([&]() -> Result<Tensor> {
    std::string_view values_bytes, indices_bytes;
    Shape dims;
    pbf_reader message(bytes.data(), bytes.size());
    while (message.next()) {
      if (message.tag() == onnx::sparse_tensor::dims) {
        if (message.wire_type() == protozero::pbf_wire_type::length_delimited)
          append(message.get_packed_int64(), dims);
        else
          dims.push_back(message.get_int64());
      } else if (message.tag() == onnx::sparse_tensor::values ||
                 message.tag() == onnx::sparse_tensor::indices) {
        std::string_view& part = message.tag() == onnx::sparse_tensor::values ? values_bytes : indices_bytes;
        const protozero::data_view view = message.get_view();
        part = {view.data(), view.size()};
      } else {
        message.skip();
      }
    }
    const Tensor values = TRY(read_onnx_tensor(values_bytes, source, name));
    const Tensor indices = TRY(read_onnx_tensor(indices_bytes, source));
    const int64_t elements = TRY(checked_elements(dims));
    if (values.dtype() == DType::string || dtype_bits(values.dtype()) % 8 != 0)
      return fail("sparse tensor of {}", dtype_name(values.dtype()));
    if (elements > (int64_t{1} << 32))
      return fail("sparse tensor of shape {} is too large to be made dense", print_shape(dims));
    Tensor dense(values.dtype(), dims);
    TRY(scatter_sparse(values, indices, dense));
    return dense;
  });
}

Result<Tensor> read_onnx_tensor_file(const std::string& path) {
  const MappedFile file = TRY(map_file(path));
  TensorSource source{file.owner, {}, {}};
  return with_context(read_onnx_tensor(as_text(file.bytes), source), "{}", path);
}

}  // namespace intarsia
