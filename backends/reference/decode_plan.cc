#include <cstring>

#include "backends/reference/region_plan.h"
#include "backends/reference/region_plan_generated.h"
#include "base/flat_buffer.h"

namespace intarsia::reference {
namespace {

template <typename T>
std::vector<T> to_vector(const flatbuffers::Vector<T>* list) {
  return list ? std::vector<T>(list->begin(), list->end()) : std::vector<T>{};
}

std::string to_string(const flatbuffers::String* text) { return text ? text->str() : std::string(); }

/// Decodes a dtype and shape whose bytes can be counted.
Result<TensorView> decode_type(uint8_t dtype, const flatbuffers::Vector<int64_t>* dims) {
  if (dtype == 0 || dtype >= dtype_count) return fail("a tensor has the unknown dtype {}", int{dtype});
  TensorView type{nullptr, static_cast<DType>(dtype), to_vector(dims)};
  TRY(checked_elements(type.shape));
  return type;
}

Result<Tensor> decode_tensor(const fbs::TensorData* data) {
  if (data == nullptr) return fail("a tensor has no data");
  const TensorView type = TRY(decode_type(data->dtype(), data->dims()));
  const auto elements = static_cast<size_t>(element_count(type.shape));
  if (type.dtype == DType::string) {
    const std::vector<std::string> strings = to_strings(data->strings());
    if (strings.size() != elements) return fail("a tensor has {} strings, want {}", strings.size(), elements);
    Tensor tensor(type.dtype, type.shape);
    std::ranges::copy(strings, tensor.as<std::string>().begin());
    return tensor;
  }
  const size_t bytes = data->bytes() ? data->bytes()->size() : 0;
  if (bytes != type.bytes()) return fail("a tensor has {} bytes, want {}", bytes, type.bytes());
  Tensor tensor(type.dtype, type.shape);
  if (bytes > 0) std::memcpy(tensor.data(), data->bytes()->data(), bytes);
  if (!has_legal_booleans(tensor.view())) return fail("a boolean element is neither 0 nor 1");
  return tensor;
}

Result<AttributeValue> decode_attribute(const fbs::Attribute& attribute) {
  const std::vector<int64_t> numbers = to_vector(attribute.numbers());
  const std::vector<float> reals = to_vector(attribute.reals());
  const std::vector<std::string> texts = to_strings(attribute.texts());
  const bool single = numbers.size() + reals.size() + texts.size() == 1;
  switch (attribute.kind()) {
    case fbs::AttributeKind::numbers:
      return numbers;
    case fbs::AttributeKind::reals:
      return reals;
    case fbs::AttributeKind::texts:
      return texts;
    case fbs::AttributeKind::tensor:
      return TRY(decode_tensor(attribute.tensor()));
    case fbs::AttributeKind::number:
      if (single && !numbers.empty()) return numbers[0];
      break;
    case fbs::AttributeKind::real:
      if (single && !reals.empty()) return reals[0];
      break;
    case fbs::AttributeKind::text:
      if (single && !texts.empty()) return texts[0];
      break;
    case fbs::AttributeKind::encoded:
      if (single && !texts.empty()) return EncodedAttribute{texts[0]};
      break;
  }
  return fail("attribute '{}' has a value that does not fit its kind", to_string(attribute.name()));
}

Result<PlannedValue> decode_value(const fbs::Value& value) {
  PlannedValue decoded;
  decoded.name = to_string(value.name());
  if (value.place() > fbs::Place::MAX)
    return fail("value '{}' has the unknown place {}", decoded.name, int(value.place()));
  decoded.place = static_cast<Place>(value.place());
  decoded.index = value.index();
  decoded.offset = value.offset();
  if (decoded.place == Place::workspace) decoded.planned = TRY(decode_type(value.dtype(), value.dims()));
  if (decoded.place == Place::text) decoded.text = TRY(decode_tensor(value.text()));
  return decoded;
}

Result<PlannedCall> decode_call(const fbs::Call& call) {
  PlannedCall decoded{to_string(call.name()),
                      to_string(call.op()),
                      to_string(call.domain()),
                      call.version(),
                      to_vector(call.inputs()),
                      to_vector(call.outputs()),
                      {},
                      to_string(call.library())};
  for (size_t i = 0; call.attributes() && i < call.attributes()->size(); ++i) {
    const fbs::Attribute* attribute = call.attributes()->Get(static_cast<uint32_t>(i));
    decoded.attributes.set(to_string(attribute->name()), TRY(decode_attribute(*attribute)));
  }
  return decoded;
}

/// Verifies that a value's place fits what the plan declares.
Status verify_value(const RegionPlan& plan, const PlannedValue& value) {
  size_t limit = 0;
  switch (value.place) {
    case Place::input:
      limit = plan.inputs.size();
      break;
    case Place::output:
      limit = plan.outputs.size();
      break;
    case Place::constant:
      limit = plan.constants;
      break;
    case Place::workspace: {
      const size_t bytes = value.planned.bytes();
      if (value.planned.dtype == DType::string || value.offset % 64 != 0 ||
          value.offset > plan.workspace_bytes || bytes > plan.workspace_bytes - value.offset) {
        return fail("value '{}' of {} bytes at {} is not inside the workspace of {} bytes", value.name, bytes,
                    value.offset, plan.workspace_bytes);
      }
      return {};
    }
    default:
      return {};
  }
  if (value.index >= limit) return fail("value '{}' has number {} of {}", value.name, value.index, limit);
  return {};
}

/// Verifies that every value is written once, in a place that may be written, before it is read.
Status verify_calls(const RegionPlan& plan) {
  std::vector<bool> known(plan.values.size());
  for (size_t i = 0; i < known.size(); ++i) {
    const Place place = plan.values[i].place;
    known[i] = place == Place::input || place == Place::constant || place == Place::text;
  }
  auto readable = [&](uint32_t value) { return value < known.size() && known[value]; };
  for (const PlannedCall& call : plan.calls) {
    for (uint32_t value : call.inputs) {
      if (value != left_out && !readable(value))
        return fail("node '{}' reads value {}, which is not known", call.name, value);
    }
    for (uint32_t value : call.outputs) {
      if (value == left_out) continue;
      if (value >= known.size() || known[value] || plan.values[value].place == Place::unused) {
        return fail("node '{}' writes value {}, which it must not", call.name, value);
      }
      known[value] = true;
    }
  }
  for (uint32_t value : plan.outputs) {
    if (!readable(value)) return fail("output value {} is not known", value);
  }
  return {};
}

Status verify_plan(const RegionPlan& plan) {
  for (const PlannedValue& value : plan.values) TRY(verify_value(plan, value));
  for (uint32_t value : plan.inputs) {
    if (value >= plan.values.size()) return fail("input value {} of {}", value, plan.values.size());
  }
  return verify_calls(plan);
}

Result<RegionPlan> decode_table(const fbs::RegionPlan& encoded) {
  RegionPlan plan;
  plan.inputs = to_vector(encoded.inputs());
  plan.outputs = to_vector(encoded.outputs());
  plan.constants = encoded.constants();
  plan.workspace_bytes = encoded.workspace_bytes();
  for (size_t i = 0; encoded.values() && i < encoded.values()->size(); ++i) {
    plan.values.push_back(TRY(decode_value(*encoded.values()->Get(static_cast<uint32_t>(i)))));
  }
  for (size_t i = 0; encoded.calls() && i < encoded.calls()->size(); ++i) {
    plan.calls.push_back(TRY(decode_call(*encoded.calls()->Get(static_cast<uint32_t>(i)))));
  }
  TRY(verify_plan(plan));
  return plan;
}

}  // namespace

Result<RegionPlan> decode_plan(std::span<const std::byte> blob) {
  const TableLimits limits{.tables = static_cast<flatbuffers::uoffset_t>(blob.size())};
  const TableCopy<fbs::RegionPlan> table(blob, fbs::RegionPlanIdentifier(), limits);
  if (!table) return fail("damaged reference region: the bytes are not a region plan");
  return with_context(decode_table(*table), "damaged reference region");
}

}  // namespace intarsia::reference
