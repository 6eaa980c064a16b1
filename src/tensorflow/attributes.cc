#include "tensorflow/attributes.h"

#include "base/protobuf.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/fields.h"
#include "tensorflow/tensor_proto.h"

namespace intarsia::tensorflow {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

/// Reads a list of integers, floats or strings; any other list, or an empty one, stays encoded.
AttributeValue read_list(std::string_view list, std::string_view whole) {
  std::vector<int64_t> integers;
  std::vector<float> floats;
  std::vector<std::string> strings;
  pbf_reader message = read_message(list);
  while (message.next()) {
    const bool packed = message.wire_type() == protozero::pbf_wire_type::length_delimited;
    switch (message.tag()) {
      case list_value::i:
        if (!packed)
          integers.push_back(message.get_int64());
        else
          for (int64_t value : message.get_packed_int64()) integers.push_back(value);
        break;
      case list_value::f:
        if (!packed)
          floats.push_back(message.get_float());
        else
          for (float value : message.get_packed_float()) floats.push_back(value);
        break;
      case list_value::s:
        strings.push_back(message.get_string());
        break;
      default:
        return EncodedAttribute{std::string(whole)};
    }
  }
  const int kinds = !integers.empty() + !floats.empty() + !strings.empty();
  if (kinds != 1) return EncodedAttribute{std::string(whole)};
  if (!integers.empty()) return integers;
  if (!floats.empty()) return floats;
  return strings;
}

template <typename Write>
EncodedAttribute encode(Write write) {
  EncodedAttribute attribute;
  pbf_writer out(attribute.bytes);
  write(out);
  return attribute;
}

template <typename Write>
std::string encode_list(Write write) {
  return encode([&](pbf_writer& out) {
           pbf_writer list(out, attr_value::list);
           write(list);
         })
      .bytes;
}

/// Returns the bytes of an encoded attribute; empty if there is none.
std::string_view encoded_bytes(const Attributes& attributes, std::string_view name) {
  const AttributeValue* value = attributes.find(name);
  const auto* encoded = value ? std::get_if<EncodedAttribute>(value) : nullptr;
  return encoded ? std::string_view(encoded->bytes) : std::string_view();
}

std::string read_function_name(pbf_reader message) {
  std::string name;
  while (message.next()) {
    if (message.tag() == name_attr_list::name)
      name = message.get_string();
    else
      message.skip();
  }
  return name;
}

}  // namespace

Result<AttributeValue> read_attribute(std::string_view bytes) {
  AttributeValue result = EncodedAttribute{std::string(bytes)};
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case attr_value::s:
        result = message.get_string();
        break;
      case attr_value::i:
        result = message.get_int64();
        break;
      case attr_value::f:
        result = message.get_float();
        break;
      case attr_value::list:
        result = read_list(read_bytes(message), bytes);
        break;
      case attr_value::tensor: {
        const std::string_view tensor = read_bytes(message);
        if (Result<Tensor> read = read_tensor(tensor)) result = std::move(*read);
        break;  // a tensor that we cannot hold (a quantized type) stays encoded
      }
      default:
        message.skip();
    }
  }
  return result;
}

Result<std::string> write_attribute(const AttributeValue& value) {
  if (auto* encoded = std::get_if<EncodedAttribute>(&value)) return encoded->bytes;
  if (auto* tensor = std::get_if<Tensor>(&value)) {
    const std::string bytes = TRY(write_tensor(tensor->view()));
    return encode([&](pbf_writer& out) { out.add_message(attr_value::tensor, bytes); }).bytes;
  }
  if (auto* text = std::get_if<std::string>(&value))
    return encode([&](pbf_writer& out) { out.add_bytes(attr_value::s, *text); }).bytes;
  if (auto* number = std::get_if<int64_t>(&value))
    return encode([&](pbf_writer& out) { out.add_int64(attr_value::i, *number); }).bytes;
  if (auto* number = std::get_if<float>(&value))
    return encode([&](pbf_writer& out) { out.add_float(attr_value::f, *number); }).bytes;
  if (auto* list = std::get_if<std::vector<int64_t>>(&value))
    return encode_list(
        [&](pbf_writer& out) { out.add_packed_int64(list_value::i, list->begin(), list->end()); });
  if (auto* list = std::get_if<std::vector<float>>(&value))
    return encode_list(
        [&](pbf_writer& out) { out.add_packed_float(list_value::f, list->begin(), list->end()); });
  return encode_list([&](pbf_writer& out) {
    for (const std::string& text : std::get<std::vector<std::string>>(value))
      out.add_bytes(list_value::s, text);
  });
}

EncodedAttribute encode_bool(bool value) {
  return encode([&](pbf_writer& out) { out.add_bool(attr_value::b, value); });
}

EncodedAttribute encode_type(int32_t data_type) {
  return encode([&](pbf_writer& out) { out.add_int32(attr_value::type, data_type); });
}

EncodedAttribute encode_types(const std::vector<int32_t>& data_types) {
  return {encode_list([&](pbf_writer& out) {
    out.add_packed_int32(list_value::type, data_types.begin(), data_types.end());
  })};
}

EncodedAttribute encode_shape(const std::optional<SymbolicShape>& shape) {
  return encode([&](pbf_writer& out) { out.add_message(attr_value::shape, write_shape(shape)); });
}

EncodedAttribute encode_shapes(const std::vector<std::optional<SymbolicShape>>& shapes) {
  return encode([&](pbf_writer& out) {
    pbf_writer list(out, attr_value::list);
    for (const std::optional<SymbolicShape>& shape : shapes)
      list.add_message(list_value::shape, write_shape(shape));
  });
}

EncodedAttribute encode_function(const std::string& name) {
  return encode([&](pbf_writer& out) {
    pbf_writer function(out, attr_value::func);
    function.add_string(name_attr_list::name, name);
  });
}

bool get_bool(const Attributes& attributes, std::string_view name, bool otherwise) {
  pbf_reader message = read_message(encoded_bytes(attributes, name));
  bool value = otherwise;
  while (message.next()) {
    if (message.tag() == attr_value::b)
      value = message.get_bool();
    else
      message.skip();
  }
  return value;
}

int32_t get_type(const Attributes& attributes, std::string_view name) {
  pbf_reader message = read_message(encoded_bytes(attributes, name));
  int32_t value = 0;
  while (message.next()) {
    if (message.tag() == attr_value::type)
      value = message.get_int32();
    else
      message.skip();
  }
  return value;
}

DType get_dtype(const Attributes& attributes, std::string_view name, DType otherwise) {
  return attributes.has(name) ? dtype_of(get_type(attributes, name)) : otherwise;
}

std::vector<int32_t> get_types(const Attributes& attributes, std::string_view name) {
  std::vector<int32_t> types;
  pbf_reader message = read_message(encoded_bytes(attributes, name));
  while (message.next(attr_value::list)) {
    pbf_reader list = message.get_message();
    while (list.next()) {
      if (list.tag() != list_value::type)
        list.skip();
      else if (list.wire_type() != protozero::pbf_wire_type::length_delimited)
        types.push_back(list.get_int32());
      else
        for (int32_t type : list.get_packed_int32()) types.push_back(type);
    }
  }
  return types;
}

std::optional<std::optional<SymbolicShape>> get_shape(const Attributes& attributes, std::string_view name) {
  pbf_reader message = read_message(encoded_bytes(attributes, name));
  if (!message.next(attr_value::shape)) return std::nullopt;
  return read_shape(read_bytes(message));
}

std::vector<std::optional<SymbolicShape>> get_shapes(const Attributes& attributes, std::string_view name) {
  std::vector<std::optional<SymbolicShape>> shapes;
  pbf_reader message = read_message(encoded_bytes(attributes, name));
  while (message.next(attr_value::list)) {
    pbf_reader list = message.get_message();
    while (list.next(list_value::shape)) shapes.push_back(read_shape(read_bytes(list)));
  }
  return shapes;
}

std::vector<std::string> get_functions(const AttributeValue& value) {
  const auto* encoded = std::get_if<EncodedAttribute>(&value);
  std::vector<std::string> names;
  if (encoded == nullptr) return names;
  pbf_reader message = read_message(encoded->bytes);
  while (message.next()) {
    if (message.tag() == attr_value::func) {
      names.push_back(read_function_name(message.get_message()));
    } else if (message.tag() == attr_value::list) {
      pbf_reader list = message.get_message();
      while (list.next()) {
        if (list.tag() == list_value::func)
          names.push_back(read_function_name(list.get_message()));
        else
          list.skip();
      }
    } else {
      message.skip();
    }
  }
  return names;
}

}  // namespace intarsia::tensorflow
