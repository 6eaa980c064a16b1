#include "import/onnx_attributes.h"

#include <optional>

#include "base/protobuf.h"
#include "onnx/onnx_fields.h"

namespace intarsia {
namespace {

using onnx::attribute::Type;
using protozero::pbf_reader;

struct RawAttribute {
  std::string name, refers_to;
  Type type = Type::undefined;
  float f = 0;
  int64_t i = 0;
  std::string s;
  std::string_view t;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
};

bool is_packed(const pbf_reader& message) {
  return message.wire_type() == protozero::pbf_wire_type::length_delimited;
}

void read_lists(pbf_reader& message, RawAttribute& raw) {
  switch (message.tag()) {
    case onnx::attribute::floats:
      if (is_packed(message))
        for (float v : message.get_packed_float()) raw.floats.push_back(v);
      else
        raw.floats.push_back(message.get_float());
      break;
    case onnx::attribute::ints:
      if (is_packed(message))
        for (int64_t v : message.get_packed_int64()) raw.ints.push_back(v);
      else
        raw.ints.push_back(message.get_int64());
      break;
    case onnx::attribute::strings:
      raw.strings.push_back(message.get_string());
      break;
    default:
      message.skip();
  }
}

RawAttribute read_fields(std::string_view bytes) {
  RawAttribute raw;
  pbf_reader message(bytes.data(), bytes.size());
  Type guess = Type::undefined;  // IR version 1 and 2 files may omit the type
  while (message.next()) {
    switch (message.tag()) {
      case onnx::attribute::name:
        raw.name = message.get_string();
        break;
      case onnx::attribute::ref_attr_name:
        raw.refers_to = message.get_string();
        break;
      case onnx::attribute::type:
        raw.type = static_cast<Type>(message.get_enum());
        break;
      case onnx::attribute::f:
        raw.f = message.get_float();
        guess = Type::f;
        break;
      case onnx::attribute::i:
        raw.i = message.get_int64();
        guess = Type::i;
        break;
      case onnx::attribute::s:
        raw.s = message.get_string();
        guess = Type::s;
        break;
      case onnx::attribute::t: {
        const protozero::data_view view = message.get_view();
        raw.t = {view.data(), view.size()};
        guess = Type::t;
        break;
      }
      default:
        read_lists(message, raw);
    }
  }
  if (raw.type == Type::undefined) {
    raw.type = guess != Type::undefined ? guess
               : !raw.floats.empty()    ? Type::floats
               : !raw.strings.empty()   ? Type::strings
                                        : Type::ints;
  }
  return raw;
}

}  // namespace

Result<NamedAttribute> read_onnx_attribute(std::string_view bytes, TensorSource& source) {
  RawAttribute raw = read_fields(bytes);
  NamedAttribute result{std::move(raw.name), {}, std::move(raw.refers_to)};
  switch (raw.type) {
    case Type::f:
      result.value = raw.f;
      break;
    case Type::i:
      result.value = raw.i;
      break;
    case Type::s:
      result.value = std::move(raw.s);
      break;
    case Type::floats:
      result.value = std::move(raw.floats);
      break;
    case Type::ints:
      result.value = std::move(raw.ints);
      break;
    case Type::strings:
      result.value = std::move(raw.strings);
      break;
    case Type::t:
      if (result.refers_to.empty()) {
        result.value = TRY(with_context(read_onnx_tensor(raw.t, source), "attribute '{}'", result.name));
      }
      break;
    default:
      result.value = EncodedAttribute{std::string(bytes)};
  }
  return result;
}

}  // namespace intarsia
