// Compile half: which nodes the chip can run, and its program for a region.
#include <cstring>
#include <map>
#include <optional>

#include "toy_npu.h"

namespace toy_npu {
namespace {

/// Graph that Intarsia shows, as C++ values.
class Graph {
 public:
  explicit Graph(const intarsia_plugin_graph* graph) : graph_(graph) {}

  size_t node_count() const { return graph_->node_count; }

  intarsia_plugin_node node(size_t number) const {
    intarsia_plugin_node node{};
    node.struct_size = sizeof(node);
    graph_->node(graph_, number, &node);
    return node;
  }

  /// Returns a value, or nullopt if there is none with this number.
  std::optional<intarsia_plugin_value> value(size_t number) const {
    intarsia_plugin_value value{};
    value.struct_size = sizeof(value);
    if (graph_->value(graph_, number, &value) != INTARSIA_PLUGIN_OK) return std::nullopt;
    return value;
  }

  std::optional<intarsia_plugin_value> input(const intarsia_plugin_node& node, size_t i) const {
    return i < node.input_count ? value(node.inputs[i]) : std::nullopt;
  }

  std::optional<intarsia_plugin_attribute> attribute(size_t node, const char* name) const {
    const size_t count = this->node(node).attribute_count;
    for (size_t i = 0; i < count; ++i) {
      intarsia_plugin_attribute attribute{};
      attribute.struct_size = sizeof(attribute);
      graph_->attribute(graph_, node, i, &attribute);
      if (std::strcmp(attribute.name, name) == 0) return attribute;
    }
    return std::nullopt;
  }

  /// Returns the integers of an attribute, or `otherwise`.
  std::vector<int64_t> ints(size_t node, const char* name, std::vector<int64_t> otherwise) const {
    const auto found = attribute(node, name);
    if (!found || found->ints == nullptr) return otherwise;
    return {found->ints, found->ints + found->count};
  }

  In place_of(size_t value, int64_t& number) const {
    for (size_t i = 0; i < graph_->output_count; ++i)
      if (graph_->outputs[i] == value) return number = static_cast<int64_t>(i), In::output;
    for (size_t i = 0; i < graph_->input_count; ++i)
      if (graph_->inputs[i] == value) return number = static_cast<int64_t>(i), In::input;
    return In::workspace;
  }

 private:
  const intarsia_plugin_graph* graph_;
};

bool is_f32(const std::optional<intarsia_plugin_value>& value, int32_t rank) {
  return value && value->dtype == float32 && value->rank == rank;
}

/// Returns why the chip cannot run a convolution; empty if it can.
std::string why_not_convolution(const Graph& graph, size_t number) {
  const intarsia_plugin_node node = graph.node(number);
  const auto w = graph.input(node, 1), bias = graph.input(node, 2);
  if (!is_f32(graph.input(node, 0), 4) || !is_f32(w, 4)) return "it convolves f32 in two dimensions only";
  if (w->data == nullptr) return "its weights must be constant";
  if (bias && (!is_f32(bias, 1) || bias->data == nullptr)) return "its bias must be constant";
  const auto automatic = graph.attribute(number, "auto_pad");
  if (automatic && std::strcmp(automatic->strings[0], "NOTSET") != 0) return "it wants padding as numbers";
  return "";
}

std::string why_not(const Graph& graph, size_t number) {
  const intarsia_plugin_node node = graph.node(number);
  const std::string op = node.op;
  if (*node.domain != 0) return "it knows standard operators only";
  if (op == "Conv") return why_not_convolution(graph, number);
  if (op != "Relu") return "it has no " + op;
  const auto x = graph.input(node, 0);
  if (!x || x->dtype != float32) return "it takes f32 only";
  // A Relu right after a convolution is free; anywhere else it is not worth the trip to the chip. The
  // convolution may belong to another region.
  if (x->producer == INTARSIA_PLUGIN_NONE) return "it has no Relu but behind a convolution";
  if (std::strcmp(graph.node(x->producer).op, "Conv") != 0 ||
      !why_not_convolution(graph, x->producer).empty())
    return "it has no Relu but behind a convolution";
  return "";
}

int32_t supports(const intarsia_plugin_graph* graph, size_t node, const char*,
                 const intarsia_plugin_message* message) {
  const std::string why = why_not(Graph(graph), node);
  if (why.empty()) return 1;
  fail(message, why);
  return 0;
}

int64_t elements_of(const intarsia_plugin_value& value) {
  int64_t elements = 1;
  for (int32_t axis = 0; axis < value.rank; ++axis) elements *= value.sizes[axis];
  return elements;
}

/// Makes the chip's program for a region: one instruction per node, with intermediate values in the
/// workspace.
class RegionCompiler {
 public:
  RegionCompiler(const Graph& graph, intarsia_plugin_compiled* compiled)
      : graph_(graph), compiled_(compiled) {}

  void compile(bool keep_names) {
    for (size_t number = 0; number < graph_.node_count(); ++number) {
      const intarsia_plugin_node node = graph_.node(number);
      Instruction made = std::strcmp(node.op, "Conv") == 0 ? convolution(number, node) : relu(node);
      if (keep_names) std::snprintf(made.node, sizeof(made.node), "%s: %s", node.name, node.op);
      instructions_.push_back(made);
    }
    BlobHeader header;
    std::memcpy(header.magic, magic, sizeof(magic));
    header.instructions = instructions_.size();
    std::string blob(reinterpret_cast<const char*>(&header), sizeof(header));
    blob.append(reinterpret_cast<const char*>(instructions_.data()),
                instructions_.size() * sizeof(Instruction));
    compiled_->set_blob(compiled_, blob.data(), blob.size());
    compiled_->workspace_bytes = workspace_bytes_;
  }

 private:
  Instruction relu(const intarsia_plugin_node& node) {
    Instruction made;
    made.op = Op::relu;
    made.x = place(node.inputs[0]);
    made.y = place(node.outputs[0]);
    made.elements = elements_of(*graph_.value(node.outputs[0]));
    return made;
  }

  Instruction convolution(size_t number, const intarsia_plugin_node& node) {
    const auto x = *graph_.input(node, 0), w = *graph_.input(node, 1), y = *graph_.value(node.outputs[0]);
    const auto strides = graph_.ints(number, "strides", {1, 1});
    const auto pads = graph_.ints(number, "pads", {0, 0, 0, 0});
    const auto dilations = graph_.ints(number, "dilations", {1, 1});
    Instruction made;
    made.x = place(node.inputs[0]);
    made.y = place(node.outputs[0]);
    made.w = constant(w);
    if (const auto bias = graph_.input(node, 2)) made.bias = constant(*bias);
    made.batch = x.sizes[0], made.channels = x.sizes[1], made.height = x.sizes[2], made.width = x.sizes[3];
    made.filters = w.sizes[0], made.kernel_height = w.sizes[2], made.kernel_width = w.sizes[3];
    made.y_height = y.sizes[2], made.y_width = y.sizes[3];
    made.group = graph_.ints(number, "group", {1})[0];
    for (size_t axis = 0; axis < 2; ++axis) {
      made.stride[axis] = strides[axis];
      made.padding[axis] = pads[axis];
      made.dilation[axis] = dilations[axis];
    }
    return made;
  }

  Operand constant(const intarsia_plugin_value& value) {
    compiled_->add_constant(compiled_, value.data, value.dtype, value.rank, value.sizes);
    return {In::constant, constants_++};
  }

  Operand place(size_t value) {
    Operand operand;
    operand.in = graph_.place_of(value, operand.number);
    if (operand.in != In::workspace) return operand;
    const auto [at, is_new] = in_workspace_.try_emplace(value, static_cast<int64_t>(workspace_bytes_));
    if (is_new) workspace_bytes_ += static_cast<size_t>(elements_of(*graph_.value(value))) * sizeof(float);
    operand.number = at->second;
    return operand;
  }

  Graph graph_;
  intarsia_plugin_compiled* compiled_;
  std::vector<Instruction> instructions_;
  std::map<size_t, int64_t> in_workspace_;
  size_t workspace_bytes_ = 0;
  int64_t constants_ = 0;
};

int32_t compile(const intarsia_plugin_graph* region, const intarsia_plugin_compile_options* options,
                intarsia_plugin_compiled* compiled, const intarsia_plugin_message* message) {
  try {
    RegionCompiler(Graph(region), compiled).compile(options->keep_names != 0);
    return INTARSIA_PLUGIN_OK;
  } catch (const std::exception& error) {
    return fail(message, error.what());
  }
}

/// Estimates a node's time: the chip does 50 multiply-adds per nanosecond and starts an instruction in 2 us.
int32_t cost(const intarsia_plugin_graph* region, size_t number, const char*, int64_t* nanoseconds,
             const intarsia_plugin_message*) {
  constexpr int64_t begin = 2000, each_nanosecond = 50;
  const Graph graph(region);
  const intarsia_plugin_node node = graph.node(number);
  int64_t work = elements_of(*graph.value(node.outputs[0]));
  if (std::strcmp(node.op, "Conv") == 0) {
    const auto w = *graph.input(node, 1);
    work *= w.sizes[1] * w.sizes[2] * w.sizes[3];
  }
  *nanoseconds = begin + work / each_nanosecond;
  return INTARSIA_PLUGIN_OK;
}

/// Groups each Relu with the convolution before it: it is free there, so the two should stay together.
int32_t groups(const intarsia_plugin_graph* plain, const char*, size_t* group_of,
               const intarsia_plugin_message*) {
  const Graph graph(plain);
  for (size_t number = 0; number < graph.node_count(); ++number)
    if (std::strcmp(graph.node(number).op, "Relu") == 0 && why_not(graph, number).empty())
      group_of[number] = group_of[graph.input(graph.node(number), 0)->producer] = number;
  return INTARSIA_PLUGIN_OK;
}

}  // namespace

const intarsia_plugin_compiler compiler = {
    sizeof(intarsia_plugin_compiler),
    0,
    supports,
    compile,
    cost,
    10'000,  // ns to start a copy
    0.1,     // ns per byte copied
    groups,
};

}  // namespace toy_npu
