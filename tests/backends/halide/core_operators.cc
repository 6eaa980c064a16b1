// Core operators of the halide backend, and the text that identifies its kernels.
//
// Covers: backends/halide/core/ core_ops.cc core_attributes.cc
// backends/halide/schedule/ kernel.cc kernel_name.cc
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/emit/kernel_message.h"
#include "backends/halide/tune/choose_schedules.h"
#include "tests/support/halide_support.h"

namespace intarsia::test {
namespace {

using halide::CoreOp;
using halide::Kernel;

std::vector<CoreOp> all_core_ops() {
  std::vector<CoreOp> ops;
  for (size_t i = 0; i < halide::core_op_count; ++i) ops.push_back(static_cast<CoreOp>(i));
  return ops;
}

TEST(HalideCore, EveryOperatorHasAUniqueName) {
  for (const CoreOp op : all_core_ops()) EXPECT_EQ(halide::find_core_op(halide::name_of(op)), op);
  EXPECT_EQ(halide::find_core_op("Softmax"), std::nullopt);
}

TEST(HalideCore, AttributesSurviveTheTextForm) {
  for (const CoreOp op : all_core_ops()) {
    const halide::CoreAttributes wanted = halide::default_attributes(op);
    EXPECT_EQ(halide::read_attributes(halide::make_node("n", op, {}, {}, wanted)), wanted)
        << halide::name_of(op);
  }
  const halide::PoolAttributes pool{{3, 3}, {2, 2}, {1, 1}, {0, 1, 0, 1}, true, 0.5f};
  EXPECT_EQ(
      halide::attributes_of<halide::PoolAttributes>(halide::make_node("n", CoreOp::max_pool, {}, {}, pool)),
      pool);
  const halide::PadAttributes pad{{1, 0}, halide::PadMode::reflect};
  EXPECT_EQ(halide::attributes_of<halide::PadAttributes>(halide::make_node("n", CoreOp::pad, {}, {}, pad)),
            pad);
}

/// Checks that an operator without a row in the table does not pass for an elementwise one.
TEST(HalideCoreDeathTest, UnknownOperatorIsABug) {
  Node node = halide::make_node("n", CoreOp::relu, {}, {});
  EXPECT_EQ(halide::form_of(node), halide::Form::elementwise);
  node.op = "Softmax";
  EXPECT_DEATH(halide::form_of(node), "op.has_value");
  EXPECT_DEATH(halide::read_attributes(node), "op.has_value");
}

TEST(HalideCoreDeathTest, AttributesThatDoNotFitAreABug) {
  Node node = halide::make_node("n", CoreOp::concat, {}, {}, halide::AxisAttributes{1});
  EXPECT_DEATH(halide::attributes_of<halide::ConvAttributes>(node), "holds_alternative");
  EXPECT_DEATH(halide::set_attributes(node, halide::PadAttributes{}), "index");
  node.attributes.set("color", int64_t{1});
  EXPECT_DEATH(halide::read_attributes(node), "found");
  node.attributes = {};
  EXPECT_DEATH(halide::read_attributes(node), "value != nullptr");
}

TEST(HalideCore, OperatorWithoutARuleIsRefused) {
  Graph graph;
  graph.inputs = {graph.add_value("x", {DType::f32, to_symbolic({4})})};
  graph.outputs = {graph.add_value("y", {DType::f32, to_symbolic({4})})};
  graph.add_node({"n", "Hardmax", "", 13, graph.inputs, graph.outputs, {}, {}});
  const auto canonical = halide::canonicalize(graph);
  ASSERT_FALSE(canonical);
  EXPECT_EQ(canonical.error().message, "halide: no kernel for Hardmax");
}

// ---- a kernel's text ----

/// Returns the first kernel of this form.
Kernel make_kernel(const std::string& text, halide::Form form) {
  const auto region = make_graph("graph \"case\" opsets {\"\": 18}\n" + text);
  INTARSIA_CHECK(region.has_value());
  const auto graph = halide::canonicalize(*region);
  INTARSIA_CHECK(graph.has_value());
  const halide::Layouts layouts = halide::choose_layouts(*graph);
  const std::vector<halide::Call> calls =
      halide::make_kernels(layouts, halide::fuse(layouts), *halide::make_isa("x86-64-v3"), 2);
  for (const halide::Call& call : calls)
    if (call.kernel.form == form) return halide::kernel_variants(call.kernel, {2}).front();
  INTARSIA_CHECK(false);
  return {};
}

constexpr const char* convolution = R"(
input %x : f32[1,12,12,16]
input %w : f32[16,16,3,3]
%t = Transpose(%x) {perm=[0,3,1,2]}
%y = Conv(%t, %w) {pads=[1,1,1,1]}
%c = Clip(%y) {min=0.0, max=6.0}
%o = Transpose(%c) {perm=[0,2,3,1]}
output %o)";

constexpr const char* attention = R"(
input %q : f32[2,8,16]
input %k : f32[2,16,8]
input %v : f32[2,8,16]
%s = MatMul(%q, %k)
%p = Softmax(%s) {axis=-1}
%y = MatMul(%p, %v)
output %y)";

constexpr const char* recurrence = R"(
input %x : f32[3,1,8]
input %w : f32[1,8,8]
input %w_small : f32[1,8,8]
%y = RNN(%x, %w, %w_small) {hidden_size=8}
output %y)";

/// Kernel, and its variants that each differ from it in one field.
class Changes {
 public:
  explicit Changes(Kernel kernel) : kernel_(std::move(kernel)), texts_{{kernel_.text(), "none"}} {}

  void add(const std::string& name, const std::function<void(Kernel&)>& change) {
    Kernel changed = kernel_;
    change(changed);
    const auto [at, is_new] = texts_.try_emplace(changed.text(), name);
    EXPECT_TRUE(is_new) << name << " and " << at->second << " give the same text\n" << at->first;
  }

  void add_tile(const std::string& name, const std::function<halide::ContractionTile&(Kernel&)>& tile) {
    const auto& [lanes, panel, pixels, exact, rows] = tile(kernel_);  // names all; each is changed below
    (void)lanes, (void)panel, (void)pixels, (void)exact, (void)rows;
    add(name + ".lanes", [&](Kernel& k) { tile(k).lanes += 1; });
    add(name + ".panel", [&](Kernel& k) { tile(k).panel += 1; });
    add(name + ".pixels", [&](Kernel& k) { tile(k).pixels += 1; });
    add(name + ".exact", [&](Kernel& k) { tile(k).exact = !tile(k).exact; });
    add(name + ".rows", [&](Kernel& k) { tile(k).rows += 1; });
  }

  void add_argument(const std::string& name, const std::function<halide::Argument&(Kernel&)>& argument) {
    const auto& [dtype, shape, strides] = argument(kernel_);  // names all fields; each is changed below
    (void)dtype, (void)shape, (void)strides;
    add(name + ".dtype", [&](Kernel& k) { argument(k).dtype = DType::i8; });
    add(name + ".shape", [&](Kernel& k) { argument(k).shape[0] = argument(k).shape[0] + 1; });
    add(name + ".strides", [&](Kernel& k) { argument(k).strides[0] = argument(k).strides[0] + 1; });
  }

 private:
  Kernel kernel_;
  std::map<std::string, std::string> texts_;  // what was changed, by the resulting text
};

void change_body(Changes& changes) {
  changes.add("operator", [](Kernel& k) { k.body.nodes.back().op = "Mul"; });
  changes.add("attribute", [](Kernel& k) {
    Node& conv = k.body.node(k.anchor);
    auto attributes = halide::attributes_of<halide::ConvAttributes>(conv);
    attributes.dilations[0] += 1;
    halide::set_attributes(conv, attributes);
  });
  changes.add("wiring", [](Kernel& k) { std::swap(k.body.nodes[0].inputs[0], k.body.nodes[0].inputs[1]); });
  changes.add("type of an input", [](Kernel& k) { k.body.value(k.body.inputs[0]).type.dtype = DType::f64; });
  changes.add("type within",
              [](Kernel& k) { k.body.value(k.body.nodes[0].outputs[0]).type.dtype = DType::f64; });
  changes.add("constant", [](Kernel& k) {
    for (Value& value : k.body.values) {
      if (!value.constant) continue;
      Tensor other(DType::f32, value.constant->shape());
      other.as<float>()[0] = std::nextafter(value.constant->as<float>()[0], 100.0f);
      value.constant = other;
      return;
    }
    FAIL() << "no constant";
  });
  changes.add("order of inputs", [](Kernel& k) { std::swap(k.body.inputs[0], k.body.inputs[1]); });
  changes.add("output", [](Kernel& k) { k.body.outputs[0] = k.body.nodes[0].outputs[0]; });
}

/// Checks each field on its own; a new field breaks the bindings.
TEST(HalideKernelText, DistinguishesEveryField) {
  Kernel kernel = make_kernel(convolution, halide::Form::contraction);
  const auto& [form, isa, body, anchor, inputs, output, in_place, threads, details, symbols] = kernel;
  const auto& [level, vector_bytes, registers, device, group_items, l2_bytes, has_dots] = isa;
  (void)form, (void)body, (void)anchor, (void)inputs, (void)output, (void)in_place, (void)threads;
  (void)details, (void)symbols, (void)level, (void)vector_bytes, (void)registers, (void)device,
      (void)group_items, (void)l2_bytes, (void)has_dots;
  Changes changes(kernel);
  changes.add("form", [](Kernel& k) { k.form = halide::Form::window; });
  changes.add("isa.level", [](Kernel& k) { k.isa.level = "x86-64-v4"; });
  changes.add("isa.vector_bytes", [](Kernel& k) { k.isa.vector_bytes *= 2; });
  changes.add("isa.registers", [](Kernel& k) { k.isa.registers *= 2; });
  changes.add("isa.device", [](Kernel& k) { k.isa.device = halide::KernelDevice::opencl; });
  changes.add("isa.group_items", [](Kernel& k) { k.isa.group_items = 2; });
  changes.add("isa.l2_bytes", [](Kernel& k) { k.isa.l2_bytes *= 2; });
  changes.add("isa.dot_products", [](Kernel& k) { k.isa.dot_products = DotProducts::zen4; });
  changes.add("AMX", [](Kernel& k) { k.isa.dot_products = DotProducts::amx; });
  changes.add("other isa.dot_products", [](Kernel& k) { k.isa.dot_products = DotProducts::sapphire_rapids; });
  changes.add("anchor", [](Kernel& k) { k.anchor = no_node; });
  changes.add("in_place", [](Kernel& k) { k.in_place = 0; });
  changes.add("another in_place", [](Kernel& k) { k.in_place = 1; });
  changes.add("threads", [](Kernel& k) { k.threads += 1; });
  changes.add("symbols", [](Kernel& k) { k.symbols = {128}; });
  changes.add("typical number of a symbol", [](Kernel& k) { k.symbols = {1}; });
  changes.add_argument("input", [](Kernel& k) -> halide::Argument& { return k.inputs[0]; });
  changes.add_argument("weights", [](Kernel& k) -> halide::Argument& { return k.inputs[1]; });
  changes.add_argument("output", [](Kernel& k) -> halide::Argument& { return k.output; });
  change_body(changes);
}

TEST(HalideKernelText, DistinguishesContractions) {
  Kernel kernel = make_kernel(convolution, halide::Form::contraction);
  const auto of = [](Kernel& k) -> halide::ContractionDetails& {
    return std::get<halide::ContractionDetails>(k.details);
  };
  const auto& [weights, schedule, packing] = of(kernel);
  const auto& [algorithm, tile, threads_share_rows, rounds_to, on_amx] = schedule;
  const auto& [panel, panels, dot] = packing;
  (void)algorithm, (void)tile, (void)threads_share_rows, (void)rounds_to, (void)panel, (void)panels;
  (void)dot, (void)on_amx;
  ASSERT_TRUE(weights);
  Changes changes(kernel);
  changes.add("weights", [&](Kernel& k) { of(k).weights.reset(); });
  changes.add("other weights", [&](Kernel& k) { *of(k).weights += 1; });
  changes.add("algorithm", [&](Kernel& k) {
    of(k).schedule.algorithm = halide::ContractionSchedule::Algorithm::depthwise_in_place;
  });
  changes.add_tile("tile", [&](Kernel& k) -> halide::ContractionTile& { return of(k).schedule.tile; });
  changes.add("threads", [&](Kernel& k) { of(k).schedule.threads_share_rows = false; });
  changes.add("panel", [&](Kernel& k) { of(k).packing.panel += 1; });
  changes.add("panels", [&](Kernel& k) { of(k).packing.panels += 1; });
  changes.add("dot", [&](Kernel& k) { of(k).packing.dot = 2; });
  changes.add("rounds_to bf16", [&](Kernel& k) { of(k).schedule.rounds_to = DType::bf16; });
  changes.add("rounds_to f16", [&](Kernel& k) { of(k).schedule.rounds_to = DType::f16; });
  changes.add("on_amx", [&](Kernel& k) { of(k).schedule.on_amx = true; });
}

TEST(HalideKernelText, DistinguishesRecurrences) {
  Kernel kernel = make_kernel(recurrence, halide::Form::recurrence);
  const auto of = [](Kernel& k) -> halide::RecurrenceDetails& {
    return std::get<halide::RecurrenceDetails>(k.details);
  };
  const auto& [tile] = of(kernel);
  (void)tile;
  Changes changes(kernel);
  changes.add_tile("tile", [&](Kernel& k) -> halide::ContractionTile& { return of(k).tile; });
}

TEST(HalideKernelText, DistinguishesAttentions) {
  Kernel kernel = make_kernel(attention, halide::Form::attention);
  const auto of = [](Kernel& k) -> halide::AttentionDetails& {
    return std::get<halide::AttentionDetails>(k.details);
  };
  const auto& [nodes, schedule] = of(kernel);
  const auto& [scores_tile, product_tile, rows, on_amx] = schedule;
  (void)scores_tile, (void)product_tile, (void)on_amx, (void)rows;
  Changes changes(kernel);
  changes.add_tile("scores", [&](Kernel& k) -> halide::ContractionTile& { return of(k).schedule.scores; });
  changes.add_tile("product", [&](Kernel& k) -> halide::ContractionTile& { return of(k).schedule.product; });
  changes.add("rows", [&](Kernel& k) { of(k).schedule.rows += 1; });
  changes.add("on_amx", [&](Kernel& k) { of(k).schedule.on_amx = true; });
  for (size_t i = 0; i < nodes.all().size(); ++i)
    changes.add(fmt::format("node {}", i), [&](Kernel& k) {
      std::vector<NodeId> all = nodes.all();
      all[i] = NodeId(50);
      of(k).nodes = halide::AttentionNodes::from_all(all);
    });
}

/// Checks that everything in the text reaches a worker.
TEST(HalideKernelText, IsTheSameInAMessage) {
  const std::pair<const char*, halide::Form> kernels[] = {{convolution, halide::Form::contraction},
                                                          {attention, halide::Form::attention},
                                                          {recurrence, halide::Form::recurrence}};
  for (const auto& [text, form] : kernels) {
    const Kernel kernel = make_kernel(text, form);
    const auto there = halide::decode_request(halide::encode_request({kernel, false, 1}));
    ASSERT_TRUE(there) << there.error().message;
    EXPECT_EQ(there->kernel.text(), kernel.text());
    EXPECT_EQ(there->kernel.details, kernel.details);
  }
}

}  // namespace
}  // namespace intarsia::test
