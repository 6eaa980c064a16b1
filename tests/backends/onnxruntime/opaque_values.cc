// Sequences and optionals: passed unchanged between regions, as lists of tensors at the boundary.
//
// Covers: backends/onnxruntime/ load.cc opaque_values.cc

#include "backends/onnxruntime/opaque_values.h"
#include "base/protobuf.h"
#include "tests/backends/onnxruntime/graphs.h"

namespace intarsia {
namespace {

using namespace test;

std::string wrap(uint32_t container, const std::string& element) {
  std::string bytes;
  protozero::pbf_writer type(bytes);
  protozero::pbf_writer inner(type, container);
  inner.add_message(1, element);
  inner.commit();
  return bytes;
}

/// Returns the TypeProto of a tensor of f32 of any shape.
std::string tensor_f32() {
  std::string bytes;
  protozero::pbf_writer type(bytes);
  protozero::pbf_writer tensor(type, 1);
  tensor.add_int32(1, 1);
  tensor.commit();
  return bytes;
}
std::string sequence_f32() { return wrap(4, tensor_f32()); }
std::string optional_f32() { return wrap(9, tensor_f32()); }

ValueType opaque(std::string encoded) { return {DType::undefined, std::nullopt, true, std::move(encoded)}; }

Result<std::vector<Tensor>> unpack(const std::shared_ptr<void>& value) {
  return TRY(unpack_opaque(value, {})).tensors;
}
Result<std::shared_ptr<void>> pack(std::vector<Tensor> tensors, const std::string& type) {
  return pack_opaque({.tensors = std::move(tensors)}, type);
}

TEST(OpaqueValues, ABadTypeIsAnError) {
  for (const std::string& type : {tensor_f32(), std::string("no protobuf"), std::string()})
    EXPECT_FALSE(pack({}, type));
  EXPECT_EQ(error_of(pack_opaque({.is_absent = true}, sequence_f32())),
            "only an optional can be without a value");
}

TEST(OpaqueValues, SequencesPassBetweenRegions) {
  GraphMaker make;
  const ValueId a = make.input("a", tensor_type(DType::f32, Shape{2}));
  const ValueId b = make.input("b", tensor_type(DType::f32, Shape{1}));
  auto first = load_region(make.finish({make.node("SequenceConstruct", {a, b}, opaque(sequence_f32()))}));
  ASSERT_TRUE(first) << error_of(first);
  GraphMaker take;
  const ValueId s = take.input("s", opaque(sequence_f32()));
  Attributes axis;
  axis.set("axis", int64_t{0});
  auto second = load_region(
      take.finish({take.node("ConcatFromSequence", {s}, tensor_type(DType::f32, Shape{3}), axis)}));
  ASSERT_TRUE(second) << error_of(second);

  Tensor x = floats({2}, {1, 2});
  std::vector<Output> made{dynamic_output()};
  Status ran = run_region(**first, {as_input(x), as_input(floats({1}, {3}))}, made);
  ASSERT_TRUE(ran) << error_of(ran);
  ASSERT_NE(made[0].owner, nullptr);
  EXPECT_EQ(made[0].tensor.dtype, DType::undefined);
  x.as<float>()[0] = 99;  // the sequence does not lie in the caller's buffer
  const Tensor joined(DType::f32, {3});
  std::vector<Output> outputs{into(joined)};
  ran = run_region(**second, {{{}, made[0].owner}}, outputs);
  ASSERT_TRUE(ran) << error_of(ran);
  EXPECT_EQ(joined, floats({3}, {1, 2, 3}));

  auto elements = unpack(made[0].owner);
  ASSERT_TRUE(elements) << error_of(elements);
  made.clear();  // the elements keep what they need
  ASSERT_EQ(elements->size(), 2u);
  EXPECT_EQ((*elements)[0], floats({2}, {1, 2}));
}

TEST(OpaqueValues, SequencesAreMadeAndTakenApart) {
  const Tensor a = floats({2}, {1, 2}), b = floats({1, 1}, {3});
  for (const std::string& type : {sequence_f32(), wrap(9, sequence_f32())}) {
    for (int count : {0, 1, 2}) {
      const std::vector<Tensor> all{a, b};
      const auto packed = pack({all.begin(), all.begin() + count}, type);
      ASSERT_TRUE(packed) << error_of(packed);
      const auto parts = unpack_opaque(*packed, type);
      ASSERT_TRUE(parts) << error_of(parts);
      EXPECT_TRUE(parts->is_sequence && !parts->is_map && !parts->is_absent);
      EXPECT_EQ(parts->is_optional, type != sequence_f32());
      ASSERT_EQ(parts->tensors, std::vector<Tensor>(all.begin(), all.begin() + count));
    }
  }
  const Tensor wrong(DType::i64, {2});
  EXPECT_EQ(error_of(pack({wrong}, sequence_f32())), "element 0 has dtype i64, want f32");
}

TEST(OpaqueValues, StringsInSequences) {
  std::string text_tensor = tensor_f32();
  text_tensor.back() = 8;  // elem_type: string
  const Tensor words = strings({"a", "bc"});
  const auto packed = pack({words}, wrap(4, text_tensor));
  ASSERT_TRUE(packed) << error_of(packed);
  const auto elements = unpack(*packed);
  ASSERT_TRUE(elements) << error_of(elements);
  EXPECT_EQ((*elements)[0], words);
}

TEST(OpaqueValues, OptionalsWithAndWithoutAValue) {
  GraphMaker g;
  const ValueId o = g.input("o", opaque(optional_f32()));
  auto region =
      load_region(g.finish({g.node("OptionalHasElement", {o}, tensor_type(DType::boolean, Shape{}))}));
  ASSERT_TRUE(region) << error_of(region);
  const Tensor content = floats({2}, {1, 2});
  const auto present = pack({content}, optional_f32());
  const auto absent = pack_opaque({.is_absent = true}, optional_f32());
  ASSERT_TRUE(present && absent) << error_of(present) << error_of(absent);
  EXPECT_TRUE(unpack_opaque(*absent, optional_f32())->is_absent);
  EXPECT_EQ(unpack(*present)->at(0), content);
  for (const auto& [owner, want] : {std::pair{*present, true}, std::pair{*absent, false}}) {
    const Tensor has(DType::boolean, {});
    std::vector<Output> outputs{into(has)};
    const Status ran = run_region(**region, {{{}, owner}}, outputs);
    ASSERT_TRUE(ran) << error_of(ran);
    EXPECT_EQ(has.as<bool>()[0], want);
  }
}

}  // namespace
}  // namespace intarsia
