#include "backends/reference/region_plan.h"
#include "backends/reference/region_plan_generated.h"
#include "base/flat_buffer.h"

namespace intarsia::reference {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Offset<fbs::TensorData> encode_tensor(FlatBufferBuilder& builder, const TensorView& tensor) {
  const auto dims = builder.CreateVector(tensor.shape);
  const auto dtype = static_cast<uint8_t>(tensor.dtype);
  if (tensor.dtype == DType::string) {
    std::span<std::string> strings = tensor.as<std::string>();
    const auto texts = builder.CreateVectorOfStrings({strings.begin(), strings.end()});
    return fbs::CreateTensorData(builder, dtype, dims, 0, texts);
  }
  const auto bytes = builder.CreateVector(static_cast<const uint8_t*>(tensor.data), tensor.bytes());
  return fbs::CreateTensorData(builder, dtype, dims, bytes);
}

/// Fills the fields of one attribute by the type it holds.
struct AttributeEncoder {
  FlatBufferBuilder& builder;
  Offset<flatbuffers::String> name;

  Offset<fbs::Attribute> numbers(fbs::AttributeKind kind, const std::vector<int64_t>& list) {
    return fbs::CreateAttribute(builder, name, kind, builder.CreateVector(list));
  }
  Offset<fbs::Attribute> reals(fbs::AttributeKind kind, const std::vector<float>& list) {
    return fbs::CreateAttribute(builder, name, kind, 0, builder.CreateVector(list));
  }
  Offset<fbs::Attribute> texts(fbs::AttributeKind kind, const std::vector<std::string>& list) {
    return fbs::CreateAttribute(builder, name, kind, 0, 0, builder.CreateVectorOfStrings(list));
  }

  Offset<fbs::Attribute> operator()(int64_t v) { return numbers(fbs::AttributeKind::number, {v}); }
  Offset<fbs::Attribute> operator()(float v) { return reals(fbs::AttributeKind::real, {v}); }
  Offset<fbs::Attribute> operator()(const std::string& v) { return texts(fbs::AttributeKind::text, {v}); }
  Offset<fbs::Attribute> operator()(const std::vector<int64_t>& v) {
    return numbers(fbs::AttributeKind::numbers, v);
  }
  Offset<fbs::Attribute> operator()(const std::vector<float>& v) {
    return reals(fbs::AttributeKind::reals, v);
  }
  Offset<fbs::Attribute> operator()(const std::vector<std::string>& v) {
    return texts(fbs::AttributeKind::texts, v);
  }
  Offset<fbs::Attribute> operator()(const Tensor& v) {
    return fbs::CreateAttribute(builder, name, fbs::AttributeKind::tensor, 0, 0, 0,
                                encode_tensor(builder, v.view()));
  }
  Offset<fbs::Attribute> operator()(const EncodedAttribute& v) {
    return texts(fbs::AttributeKind::encoded, {v.bytes});
  }
};

Offset<fbs::Value> encode_value(FlatBufferBuilder& builder, const PlannedValue& value) {
  const auto name = builder.CreateString(value.name);
  const auto dims = builder.CreateVector(value.planned.shape);
  const auto text = value.place == Place::text ? encode_tensor(builder, value.text.view()) : 0;
  return fbs::CreateValue(builder, name, static_cast<fbs::Place>(value.place), value.index, value.offset,
                          static_cast<uint8_t>(value.planned.dtype), dims, text);
}

Offset<fbs::Call> encode_call(FlatBufferBuilder& builder, const PlannedCall& call) {
  std::vector<Offset<fbs::Attribute>> attributes;
  for (const Attributes::Entry& entry : call.attributes) {
    attributes.push_back(
        std::visit(AttributeEncoder{builder, builder.CreateString(entry.name)}, entry.value));
  }
  const auto name = builder.CreateString(call.name);
  const auto op = builder.CreateString(call.op);
  const auto domain = builder.CreateString(call.domain);
  const auto inputs = builder.CreateVector(call.inputs);
  const auto outputs = builder.CreateVector(call.outputs);
  return fbs::CreateCall(builder, name, op, domain, call.version, inputs, outputs,
                         builder.CreateVector(attributes), builder.CreateString(call.library));
}

}  // namespace

std::string encode_plan(const RegionPlan& plan) {
  FlatBufferBuilder builder;
  std::vector<Offset<fbs::Value>> values;
  for (const PlannedValue& value : plan.values) values.push_back(encode_value(builder, value));
  std::vector<Offset<fbs::Call>> calls;
  for (const PlannedCall& call : plan.calls) calls.push_back(encode_call(builder, call));
  const auto value_list = builder.CreateVector(values);
  const auto call_list = builder.CreateVector(calls);
  const auto inputs = builder.CreateVector(plan.inputs);
  const auto outputs = builder.CreateVector(plan.outputs);
  fbs::FinishRegionPlanBuffer(builder, fbs::CreateRegionPlan(builder, value_list, call_list, inputs, outputs,
                                                             plan.constants, plan.workspace_bytes));
  return to_bytes(builder);
}

}  // namespace intarsia::reference
