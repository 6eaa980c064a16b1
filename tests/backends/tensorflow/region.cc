// Regions in TensorFlow: what is compiled, whose memory is used, and that damaged blobs are errors.
//
// Covers: backends/tensorflow/ infer_types.cc load.cc op_registry.cc region_session.cc target.cc
// library.cc session.cc tensor.cc write_graph_def.cc
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "backends/tensorflow/infer_types.h"
#include "backends/tensorflow/load.h"
#include "backends/tensorflow/region_session.h"
#include "backends/tensorflow/target.h"
#include "backends/tensorflow/write_graph_def.h"
#include "base/protobuf.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/messages.h"
#include "tests/support/region_support.h"

namespace intarsia {
namespace {

using namespace test;
using tensorflow::data_type_of;
using tensorflow::encode_type;

/// Returns the environment as "A=1", ...
std::vector<std::string> environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

/// Identifies the file, pipe or terminal that is standard error.
std::pair<dev_t, ino_t> standard_error() {
  struct stat facts = {};
  fstat(STDERR_FILENO, &facts);
  return {facts.st_dev, facts.st_ino};
}

/// Checks that both stay as they are, while another thread runs, as in a server. Must run in a process that
/// has not opened the library.
TEST(TensorFlowLibrary, IsOpenedWithoutTouchingEnvironmentOrStandardError) {
  const std::vector<std::string> entries = environment();
  testing::internal::CaptureStderr();
  const auto where = standard_error();
  std::atomic<bool> is_open = false, was_elsewhere = false;
  std::thread other([&] {
    while (!is_open) was_elsewhere = was_elsewhere || standard_error() != where;
  });
  const auto library = tf::Library::get();
  is_open = true;
  other.join();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // catches TensorFlow's notes
  EXPECT_TRUE(library);
  EXPECT_EQ(environment(), entries);
  EXPECT_FALSE(was_elsewhere);
}

struct Maker : GraphMaker {
  Maker() : GraphMaker{"tensorflow", 1} {}
};

/// Returns attributes that are types: types({{"T", DType::f32}}).
Attributes types(std::initializer_list<std::pair<const char*, DType>> pairs) {
  Attributes attributes;
  for (const auto& [name, dtype] : pairs) attributes.set(name, encode_type(data_type_of(dtype)));
  return attributes;
}

Result<std::unique_ptr<LoadedRegion>> load(const Graph& graph, int threads = 1) {
  return load_region(*TRY(make_tensorflow_target({})), tensorflow_run_backend(), graph, threads);
}

/// Returns a region's outputs, each in memory of its own or TensorFlow's.
Result<std::vector<Tensor>> run_late(const LoadedRegion& region, std::vector<Input> inputs,
                                     size_t count = 1) {
  std::vector<Output> outputs(count, dynamic_output());
  TRY(run_region(region, std::move(inputs), outputs));
  std::vector<Tensor> tensors;
  for (const Output& output : outputs) tensors.emplace_back(output.tensor, output.owner);
  return tensors;
}

Graph one_node(const std::string& op, DType dtype, const Shape& shape) {
  Maker g;
  const ValueId x = g.input("x", tensor_type(dtype, shape));
  return g.finish({g.node(op, {x}, tensor_type(dtype, shape), types({{"T", dtype}}))});
}

Graph add_one() {
  Maker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, Shape{2, 2})),
                one = g.constant("one:0", floats({1}, {1}));
  return g.finish(
      {g.node("AddV2", {x, one}, tensor_type(DType::f32, Shape{2, 2}), types({{"T", DType::f32}}))});
}

/// Checks two outputs with one address: nothing copied them on their way out.
TEST(TensorFlowRegion, AdoptsWhatTensorFlowMade) {
  Maker g;
  const ValueType type = tensor_type(DType::f32, Shape{4});
  const ValueId x = g.input("x", type), y = g.node("Neg", {x}, type, types({{"T", DType::f32}}));
  auto region = load(g.finish({y, g.node("Identity", {y}, type, types({{"T", DType::f32}}))}));
  ASSERT_TRUE(region) << error_of(region);
  const Tensor in = floats({4}, {1, -2, 3, -4});
  auto out = run_late(**region, {as_input(in)}, 2);
  ASSERT_TRUE(out) << error_of(out);
  EXPECT_EQ((*out)[0].data(), (*out)[1].data());
  EXPECT_NE((*out)[0].data(), in.data());
  (*region)->executable.reset();  // the outputs outlive their session
  EXPECT_EQ((*out)[0], floats({4}, {-1, 2, -3, 4}));
  EXPECT_EQ(in, floats({4}, {1, -2, 3, -4}));  // TensorFlow did not reuse the caller's memory
}

/// Checks that TensorFlow returns the address that it was fed: it read the caller's memory itself.
TEST(TensorFlowRegion, InputsAreReadInPlace) {
  const tf::Library& library = **tf::Library::get();
  const auto written = tf::write_graph_def(one_node("Identity", DType::f32, {4}));
  ASSERT_TRUE(written) << error_of(written);
  const auto region = tf::open_region(library, tf::as_region(*written), 1);
  ASSERT_TRUE(region) << error_of(region);
  const Tensor x = floats({4}, {1, 2, 3, 4});
  const auto fed = tf::wrap_tensor(library, x.view());
  ASSERT_TRUE(fed) << error_of(fed);
  tf::TF_Tensor* const values[] = {fed->get()};
  tf::TF_Tensor* made[] = {nullptr};
  const Status ran = region->session->run(region->inputs, values, region->outputs, made);
  ASSERT_TRUE(ran) << error_of(ran);
  const tf::OwnedTensor owned(made[0], {&library});
  EXPECT_EQ(library.api().tensor_data(owned.get()), x.data());
}

/// Checks outputs that TensorFlow returns in the caller's memory, whole or in part: they are copied to their
/// own memory.
TEST(TensorFlowRegion, WhatPassesThroughIsCopied) {
  Maker g;
  const ValueType type = tensor_type(DType::f32, Shape{2, 16});
  const ValueId x = g.input("x", type);
  const ValueId same = g.node("Identity", {x}, type, types({{"T", DType::f32}}));
  const ValueId flat =
      g.node("Reshape", {x, g.constant("shape:0", ints({32}))}, tensor_type(DType::f32, Shape{32}),
             types({{"T", DType::f32}, {"Tshape", DType::i64}}));
  const ValueId rows =
      g.node("Slice", {x, g.constant("begin:0", ints({1, 0})), g.constant("size:0", ints({1, 16}))},
             tensor_type(DType::f32, Shape{1, 16}), types({{"T", DType::f32}, {"Index", DType::i64}}));
  auto region = load(g.finish({same, flat, rows, x}));
  ASSERT_TRUE(region) << error_of(region);
  Tensor in(DType::f32, {2, 16});
  for (size_t i = 0; i < 32; ++i) in.as<float>()[i] = static_cast<float>(i);
  auto out = run_late(**region, {as_input(in)}, 4);
  ASSERT_TRUE(out) << error_of(out);
  const Tensor want(in.view());
  std::ranges::fill(in.as<float>(), -1.0f);  // allowed as soon as the call is over
  EXPECT_EQ((*out)[0], want);
  EXPECT_EQ((*out)[3], want);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ((*out)[1].as<float>()[i], static_cast<float>(i));
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ((*out)[2].as<float>()[i], static_cast<float>(16 + i));
}

TEST(TensorFlowRegion, WritesTheCallersBuffersEvenUnaligned) {
  auto region = load(add_one());
  ASSERT_TRUE(region) << error_of(region);
  const Tensor memory(DType::f32, {16});
  const TensorView x{memory.as<float>().data() + 1, DType::f32, {2, 2}},
      y{memory.as<float>().data() + 7, DType::f32, {2, 2}};
  std::ranges::copy(std::vector<float>{1, 2, 3, 4}, x.as<float>().begin());
  std::vector<Output> outputs{{y, nullptr, false}};
  const Status ran = run_region(**region, {{x, nullptr}}, outputs);
  ASSERT_TRUE(ran) << error_of(ran);
  EXPECT_EQ(Tensor(y), floats({2, 2}, {2, 3, 4, 5}));
}

TEST(TensorFlowRegion, ConvertsStringsBothWays) {
  Maker g;
  const ValueId x = g.input("x", tensor_type(DType::string, Shape{3}));
  const ValueId upper = g.node("StringUpper", {x}, tensor_type(DType::string, Shape{3}));
  const ValueId same =
      g.node("Identity", {x}, tensor_type(DType::string, Shape{3}), types({{"T", DType::string}}));
  auto region = load(g.finish({upper, same}));
  ASSERT_TRUE(region) << error_of(region);
  const std::string with_zero("c\0d", 3), longer(100, 'e');
  const Tensor in = strings({"", with_zero, longer}), fixed(DType::string, {3});
  std::vector<Output> outputs{into(fixed), dynamic_output()};
  const Status ran = run_region(**region, {as_input(in)}, outputs);
  ASSERT_TRUE(ran) << error_of(ran);
  EXPECT_EQ(fixed, strings({"", std::string("C\0D", 3), std::string(100, 'E')}));
  EXPECT_EQ(Tensor(outputs[1].tensor), in);
  EXPECT_NE(outputs[1].tensor.data, in.data());
}

TEST(TensorFlowRegion, ShapesMayDependOnData) {
  Maker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, Shape{5}));
  const auto unique = g.multi_node(
      "Unique", {x}, {tensor_type(DType::f32, {Dim::unknown()}), tensor_type(DType::i64, Shape{5})},
      types({{"T", DType::f32}, {"out_idx", DType::i64}}));
  auto region = load(g.finish(unique));
  ASSERT_TRUE(region) << error_of(region);
  for (const auto& [values, distinct] :
       {std::pair{std::vector<float>{3, 1, 3, 3, 1}, std::vector<float>{3, 1}}, {{7, 7, 7, 7, 7}, {7}}}) {
    auto out = run_late(**region, {as_input(floats({5}, values))}, 2);
    ASSERT_TRUE(out) << error_of(out);
    EXPECT_EQ((*out)[0], floats({static_cast<int64_t>(distinct.size())}, distinct));
    EXPECT_EQ((*out)[1].as<int64_t>()[4], distinct.size() == 2 ? 1 : 0);
  }
}

TEST(TensorFlowRegion, EmptyTensorsAndScalars) {
  Maker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, {Dim::named("n")})),
                s = g.input("s", tensor_type(DType::f32, Shape{}));
  auto region = load(g.finish(
      {g.node("AddV2", {x, s}, tensor_type(DType::f32, {Dim::named("n")}), types({{"T", DType::f32}}))}));
  ASSERT_TRUE(region) << error_of(region);
  for (const auto& [values, want] :
       {std::pair{std::vector<float>{}, std::vector<float>{}}, {{1, 2}, {2, 3}}}) {
    const Shape shape{static_cast<int64_t>(values.size())};
    auto out = run_late(**region, {as_input(floats(shape, values)), as_input(floats({}, {1}))});
    ASSERT_TRUE(out) << error_of(out);
    EXPECT_EQ((*out)[0], floats(shape, want));
  }
  const TensorView none{nullptr, DType::f32, {0}};
  std::vector<Output> outputs{{none, nullptr, false}};
  const Status ran = run_region(**region, {{none, nullptr}, as_input(floats({}, {1}))}, outputs);
  EXPECT_TRUE(ran) << error_of(ran);
}

TEST(TensorFlowRegion, TakesEveryDType) {
  std::string refused;
  for (int number = 1; number < dtype_count; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (data_type_of(dtype) == 0) {
      refused += fmt::format("{} ", dtype_name(dtype));
      continue;
    }
    auto region = load(one_node("Identity", dtype, {2, 3}));
    ASSERT_TRUE(region) << dtype_name(dtype) << ": " << error_of(region);
    const Tensor in(dtype, {2, 3}), out(dtype, {2, 3});
    if (dtype == DType::string)
      in.as<std::string>()[5] = "x";
    else
      std::memset(in.data(), 0x01, in.bytes());
    std::vector<Output> outputs{into(out)};
    const Status ran = run_region(**region, {as_input(in)}, outputs);
    ASSERT_TRUE(ran) << dtype_name(dtype) << ": " << error_of(ran);
    EXPECT_EQ(in, out) << dtype_name(dtype);
  }
  EXPECT_EQ(refused, "f8e4m3fnuz f8e5m2fnuz u4 i4 f4e2m1 f8e8m0 u2 i2 ");
}

TEST(TensorFlowRegion, BigConstantsStayOutsideTheBlob) {
  Maker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, Shape{256}));
  Tensor weights(DType::f32, {256});
  std::ranges::fill(weights.as<float>(), 2.0f);
  const ValueId w = g.constant("weights:0", weights);
  auto region = load(
      g.finish({g.node("Mul", {x, w}, tensor_type(DType::f32, Shape{256}), types({{"T", DType::f32}}))}));
  ASSERT_TRUE(region) << error_of(region);
  ASSERT_EQ((*region)->compiled.constants.size(), 1u);
  EXPECT_EQ((*region)->compiled.constants[0].data(), weights.data());
  EXPECT_LT((*region)->compiled.blob.size(), 700u);
  auto out = run_late(**region, {as_input(weights)});
  ASSERT_TRUE(out) << error_of(out);
  EXPECT_EQ((*out)[0].as<float>()[255], 4.0f);
}

/// Makes a graph that looks up words in a table with these contents.
Graph look_up(const std::vector<std::string>& words, const std::vector<int64_t>& numbers) {
  Maker g;
  Attributes table = types({{"key_dtype", DType::string}, {"value_dtype", DType::i64}});
  table.set(tensorflow::keys_attribute, strings(words));
  table.set(tensorflow::values_attribute, ints(numbers));
  const ValueId x = g.input("x", tensor_type(DType::string, Shape{2}));
  const ValueId handle =
      g.node("HashTableV2", {}, ValueType{DType::undefined, std::nullopt, true, {}}, table);
  const ValueId otherwise = g.constant("otherwise:0", make_tensor<int64_t>(DType::i64, {}, {-1}));
  return g.finish({g.node("LookupTableFindV2", {handle, x, otherwise}, tensor_type(DType::i64, Shape{2}),
                          types({{"Tin", DType::string}, {"Tout", DType::i64}}))});
}

TEST(TensorFlowRegion, TablesAreFilledOnceAndTheirExecutablesOwn) {
  const Graph graph = look_up({"a", "b"}, {10, 20});
  const auto written = tf::write_graph_def(graph);
  ASSERT_TRUE(written) << error_of(written);
  EXPECT_EQ(written->initializers.size(), 1u);
  auto first = load(graph), second = load(look_up({"b", "c"}, {77, 88}));  // tables of one name
  ASSERT_TRUE(first) << error_of(first);
  ASSERT_TRUE(second) << error_of(second);
  const Tensor words = strings({"b", "c"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ((*run_late(**first, {as_input(words)}))[0], ints({20, -1}));
    EXPECT_EQ((*run_late(**second, {as_input(words)}))[0], ints({77, 88}));
  }
  (*second)->executable.reset();
  EXPECT_EQ((*run_late(**first, {as_input(words)}))[0], ints({20, -1}));
}

tensorflow::NodeDef inner_node(std::string name, std::string op, std::vector<std::string> inputs,
                               DType dtype) {
  return {std::move(name), std::move(op), {}, std::move(inputs), types({{"T", dtype}})};
}

/// Makes `while (i < n) { i += 1; s *= w }` with i = 0 at the start; returns {i, w, s, n} after the last
/// iteration.
Graph make_loop(const Tensor& w, const Tensor& n) {
  const int32_t i32 = data_type_of(DType::i32), f32 = data_type_of(DType::f32);
  const std::vector<tensorflow::ArgDef> arguments{
      {"i", i32, {}, {}, {}}, {"w", f32, {}, {}, {}}, {"s", f32, {}, {}, {}}, {"n", i32, {}, {}, {}}};
  tensorflow::FunctionDef condition{
      {"condition", arguments, {{"go", data_type_of(DType::boolean), {}, {}, {}}}},
      {},
      {{"go", "less:z:0"}},
      {}};
  condition.nodes = {inner_node("less", "Less", {"i", "n"}, DType::i32)};
  tensorflow::FunctionDef body{{"body", arguments, arguments},
                               {},
                               {{"i", "next:z:0"}, {"w", "same:output:0"}, {"s", "product:z:0"}, {"n", "n"}},
                               {}};
  tensorflow::NodeDef one{"one", "Const", {}, {}, types({{"dtype", DType::i32}})};
  one.attributes.set("value", make_tensor<int32_t>(DType::i32, {}, {1}));
  body.nodes = {one, inner_node("next", "AddV2", {"i", "one:output:0"}, DType::i32),
                inner_node("same", "Identity", {"w"}, DType::f32),
                inner_node("product", "Mul", {"s", "same:output:0"}, DType::f32)};
  EncodedAttribute library;
  protozero::pbf_writer functions(library.bytes);
  for (const auto& function : {condition, body})
    functions.add_message(1, *tensorflow::write_function(function));
  Attributes attributes;
  attributes.set("T", tensorflow::encode_types({i32, f32, f32, i32}));
  attributes.set("cond", tensorflow::encode_function("condition"));
  attributes.set("body", tensorflow::encode_function("body"));
  attributes.set("_lower_using_switch_merge", tensorflow::encode_bool(true));
  attributes.set(tensorflow::library_attribute, library);
  Maker g;
  const ValueType scalar = tensor_type(DType::i32, Shape{}), vector = tensor_type(DType::f32, Shape{2});
  const ValueId zero = g.constant("zero:0", make_tensor<int32_t>(DType::i32, {}, {0}));
  return g.finish(g.multi_node("While",
                               {zero, g.constant("w:0", w), g.input("s", vector), g.constant("n:0", n)},
                               {scalar, vector, vector, scalar}, attributes));
}

/// Checks that constants of a loop stay out of its iterations, and that all its outputs exist.
TEST(TensorFlowRegion, LoopsCarryNoConstants) {
  const auto number = [](int32_t value) { return make_tensor<int32_t>(DType::i32, {}, {value}); };
  const Graph graph = make_loop(floats({2}, {2, 3}), number(3));
  const auto written = tf::write_graph_def(graph);
  ASSERT_TRUE(written) << error_of(written);
  const auto read = tensorflow::read_graph(written->graph_def);
  ASSERT_TRUE(read) << error_of(read);
  const auto loop = std::ranges::find(read->nodes, "While", &tensorflow::NodeDef::op);
  ASSERT_NE(loop, read->nodes.end());
  EXPECT_EQ(tensorflow::get_types(loop->attributes, "T"),
            (std::vector<int32_t>{3, 20, 1}));  // i, the variable w, s
  EXPECT_EQ(written->initializers.size(), 1u);
  auto region = load(graph),
       other = load(make_loop(floats({2}, {1, 10}), number(2)));  // variables of one name
  ASSERT_TRUE(region) << error_of(region);
  ASSERT_TRUE(other) << error_of(other);
  for (int i = 0; i < 2; ++i) {
    auto out = run_late(**region, {as_input(floats({2}, {1, 10}))}, 4);
    ASSERT_TRUE(out) << error_of(out);
    EXPECT_EQ(*out, (std::vector<Tensor>{number(3), floats({2}, {2, 3}), floats({2}, {8, 270}), number(3)}));
    out = run_late(**other, {as_input(floats({2}, {1, 10}))}, 4);
    ASSERT_TRUE(out) << error_of(out);
    EXPECT_EQ((*out)[2], floats({2}, {1, 1000}));
  }
}

TEST(TensorFlowRegion, ManyThreadsRunOneExecutable) {
  auto region = load(add_one(), 2);
  ASSERT_TRUE(region) << error_of(region);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const float start = static_cast<float>(t);
      const Tensor x = floats({2, 2}, {start, start, start, start});
      for (int i = 0; i < 200; ++i) {
        auto out = run_late(**region, {as_input(x)});
        if (!out || (*out)[0].as<float>()[3] != start + 1) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(TensorFlowRegion, ErrorsName) {
  auto region = load(add_one());
  ASSERT_TRUE(region) << error_of(region);
  const Tensor x = floats({2, 2}, {1, 2, 3, 4}), wrong(DType::f32, {3, 2});
  std::vector<Output> outputs{into(wrong)};
  EXPECT_EQ(error_of(run_region(**region, {as_input(x)}, outputs)),
            "output 0: TensorFlow returned f32 2x2, want f32 3x2");
  EXPECT_TRUE(error_of(run_late(**region, {as_input(ints({1, 2}))}))
                  .ends_with("Expects arg[0] to be float but int64 is provided"));
  EXPECT_EQ(error_of(run_late(**region, {})),
            "the TensorFlow region has 1 inputs and 1 outputs, got 0 and 1");
  outputs = {};
  EXPECT_EQ(error_of(run_region(**region, {as_input(x)}, outputs)),
            "the TensorFlow region has 1 inputs and 1 outputs, got 1 and 0");
}

TEST(TensorFlowTarget, RefusesWhatTensorFlowLacks) {
  Maker g;
  const ValueId x = g.input("x", tensor_type(DType::f32, Shape{2}));
  const Graph graph = g.finish({g.node("Frobnicate", {x}, tensor_type(DType::f32, Shape{2}))});
  const auto target = make_tensorflow_target({});
  ASSERT_TRUE(target) << error_of(target);
  EXPECT_EQ((*target)->supports(graph, NodeId{0}, {}).because,
            "TensorFlow has no operator Frobnicate; if it is a custom operator, give its library with "
            "--op-library");
  EXPECT_NE(error_of((*target)->compile(graph, {}, {})).find("Frobnicate"), std::string::npos);
  EXPECT_NE(error_of(make_tensorflow_target({"/nowhere/ops.so"})).find("/nowhere/ops.so"), std::string::npos);
}

/// Checks the rows of a dense tensor converted from a ragged one with this partition.
TEST(InferTypes, RowsOfRaggedTensorsAreThoseOfTheirPartition) {
  const Tensor count = make_tensor<int64_t>(DType::i64, {}, {4});
  for (const bool is_count : {false, true}) {
    Maker g;
    const ValueId shape = g.constant("shape:0", ints({-1, 12})),
                  empty = g.constant("empty:0", make_tensor<int64_t>(DType::i64, {}, {0}));
    const ValueId values = g.input("values", tensor_type(DType::i64, SymbolicShape{Dim::unknown()}));
    std::vector<ValueId> inputs{shape, values, empty};
    if (is_count) inputs.push_back(g.constant("count:0", count));
    inputs.push_back(g.input(
        "rows", tensor_type(DType::i64, is_count ? SymbolicShape{Dim::unknown()} : to_symbolic({5}))));
    Attributes attributes = types({{"T", DType::i64}, {"Tindex", DType::i64}, {"Tshape", DType::i64}});
    attributes.set("num_row_partition_tensors", int64_t{is_count ? 2 : 1});
    attributes.set("row_partition_types", is_count
                                              ? std::vector<std::string>{"FIRST_DIM_SIZE", "VALUE_ROWIDS"}
                                              : std::vector<std::string>{"ROW_SPLITS"});
    const ValueId dense = g.node("RaggedTensorToTensor", inputs, {}, attributes);
    Graph graph = g.finish({dense});
    const Status inferred = tf::infer_types(graph, NodeId{0});
    ASSERT_TRUE(inferred) << error_of(inferred);
    EXPECT_EQ(print_type(graph.value(dense).type), "i64[4,12]") << is_count;
  }
}

/// Loads the bytes and, if they make a region, runs it; the process must survive.
void try_blob(const std::string& blob, const std::vector<ConstTensorView>& constants,
              const std::vector<Input>& inputs, size_t outputs) {
  const auto executable =
      tensorflow_run_backend().load({std::as_bytes(std::span(blob)), constants, nullptr, {}, 1});
  if (!executable) return;
  for (const bool is_dynamic : {true, false}) {
    const Tensor fixed(DType::f32, {2, 2});
    std::vector<Output> results(outputs, is_dynamic ? dynamic_output() : into(fixed));
    RunContext context;
    context.inputs = inputs;
    context.outputs = results;
    (void)(*executable)->run(context);
  }
}

TEST(TensorFlowRegion, TruncatedBlobsAreErrors) {
  const CompiledRegion compiled = *(*make_tensorflow_target({}))->compile(add_one(), {}, {});
  for (size_t bytes = 0; bytes + 16 < compiled.blob.size(); bytes += 5) {
    const LoadContext context{std::as_bytes(std::span(compiled.blob)).first(bytes)};
    EXPECT_FALSE(tensorflow_run_backend().load(context)) << bytes;
  }
}

TEST(TensorFlowRegion, DamagedBlobsDoNotCrash) {
  std::mt19937 random(1);
  const auto target = make_tensorflow_target({});
  const Tensor x = floats({2, 2}, {1, 2, 3, 4}), words = strings({"a", "b"});
  for (const bool table : {false, true}) {
    const CompiledRegion compiled =
        *(*target)->compile(table ? look_up({"a", "b"}, {10, 20}) : add_one(), {}, {});
    for (int i = 0; i < 600; ++i) {
      std::string blob = compiled.blob;
      const int changes = 1 + static_cast<int>(random() % 3);
      for (int change = 0; change < changes; ++change)
        blob[random() % blob.size()] = static_cast<char>(random());
      try_blob(blob, {}, {as_input(table ? words : x)}, 1);
    }
  }
}

}  // namespace
}  // namespace intarsia
