#include "backends/halide/schedule/describe_kernels.h"

#include <algorithm>

#include "backends/halide/schedule/recurrence.h"

namespace intarsia::halide {
namespace {

uint64_t count_elements(const Shape& shape) { return static_cast<uint64_t>(element_count(shape)); }

/// Counts the operations of a Conv or MatMul, without zeros between the elements of a dilated input.
uint64_t product_operations(const Graph& graph, const Node& node) {
  const ContractionSizes sizes = contraction_sizes(graph, node);
  uint64_t zeros = 1;
  if (op_of(node) == CoreOp::conv) {
    for (int64_t dilation : attributes_of<ConvAttributes>(node).input_dilations)
      zeros *= static_cast<uint64_t>(dilation);
  }
  const uint64_t outputs = count_elements(shape_of(graph, node.outputs[0]));
  return 2 * outputs * static_cast<uint64_t>(sizes.depth) * count_elements(sizes.kernel) / zeros;
}

/// Counts the operations by the canonical graph: the kernel's own has packed weights.
uint64_t count_operations(const Graph& graph, const Call& call) {
  const Kernel& kernel = call.kernel;
  if (kernel.form == Form::recurrence) {
    const RecurrenceSizes sizes = recurrence_sizes(kernel.body, kernel.body.node(kernel.anchor));
    return 2 * static_cast<uint64_t>(sizes.batch.number() * sizes.gates * sizes.hidden * sizes.hidden);
  }
  uint64_t operations = 0;
  for (NodeId node : call.nodes) {
    if (form_of(graph.node(node)) == Form::contraction)
      operations += product_operations(graph, graph.node(node));
  }
  return operations;
}

std::vector<std::string> list_sources(const Graph& graph, const Call& call) {
  std::vector<std::string> names{call.source};
  for (NodeId node : call.nodes) {
    const std::string& name = graph.node(node).name;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

/// Counts the bytes of elements that differ: an axis of stride 0 repeats them.
uint64_t argument_bytes(const Argument& argument) {
  const FixedArgument fixed(argument);
  size_t elements = 1;
  for (size_t i = 0; i < fixed.shape.size(); ++i)
    if (fixed.strides[i] != 0) elements *= static_cast<size_t>(fixed.shape[i]);
  return dtype_bytes(fixed.dtype, elements);
}

uint64_t count_bytes(const Kernel& kernel) {
  const uint64_t output = argument_bytes(kernel.output);
  uint64_t bytes = output;
  for (const Argument& input : kernel.inputs) {
    const uint64_t all = argument_bytes(input);
    bytes += kernel.form == Form::movement ? std::min(all, output) : all;
  }
  return bytes;
}

/// Returns the bits of the integers in the second matrix of a product; 0 if it has none.
int64_t bits_of_weights(const Node& product) {
  const MatMulAttributes attributes = attributes_of<MatMulAttributes>(product);
  return attributes.block == 0 ? 0 : attributes.bits;
}

std::string print_contraction(const Kernel& kernel) {
  const auto& [weights, schedule, packing] = kernel.contraction();
  const bool is_product = op_of(kernel.body.node(kernel.anchor)) == CoreOp::matmul;
  const char* const names[] = {is_product ? "gemm" : "direct", "depthwise", "depthwise", "winograd 2x2",
                               "winograd 4x4"};
  const ContractionTile& tile = schedule.tile;
  const std::string of_tile =
      tile.panel * tile.pixels > 1 ? fmt::format(", tile {}x{}", tile.pixels, tile.panel) : "";
  const char* threads = schedule.threads_share_rows ? ", threads by rows" : ", threads by panels";
  const int64_t bits = is_product ? bits_of_weights(kernel.body.node(kernel.anchor)) : 0;
  return fmt::format("{}{}{}{}{}{}", names[static_cast<size_t>(schedule.algorithm)], of_tile,
                     packing.dot > 1 ? fmt::format(", dot products of {}", packing.dot) : "",
                     packing.panel > 0 ? ", packed weights" : "",
                     bits > 0 ? fmt::format(" of {} bits", bits) : "", kernel.threads > 1 ? threads : "");
}

/// Describes an algorithm: "winograd 4x4, tile 6x32, packed weights, threads by rows".
std::string print_algorithm(const Call& call) {
  const Kernel& kernel = call.kernel;
  if (kernel.form == Form::contraction) return print_contraction(kernel);
  if (kernel.form == Form::attention)
    return fmt::format("attention, {} rows at a time", kernel.attention().schedule.rows);
  const std::string times = call.times == 1 ? "" : fmt::format(", {} times", call.times.print());
  return fmt::format("{}{}{}", name_of(kernel.form), times, kernel.in_place ? ", in place" : "");
}

Shape weights_shape(const Layouts& layouts, const Call& call) {
  const std::optional<size_t> weights = call.kernel.weights();
  return weights ? shape_of(layouts.graph, call.inputs[*weights]) : Shape();
}

KernelNote describe_kernel(const Layouts& layouts, const Call& call) {
  const bool is_open = !call.kernel.symbols.empty() || !call.times.is_number();
  const auto times = is_open ? 0 : static_cast<uint64_t>(call.times.number());
  const ValueType& output = layouts.graph.value(call.output).type;
  return {.nodes = list_sources(layouts.graph, call),
          .dtype = output.dtype,
          .shape = output.fixed_shape(),
          .weights = weights_shape(layouts, call),
          .operations = is_open ? 0 : times * count_operations(layouts.graph, call),
          .bytes = is_open ? 0 : times * count_bytes(call.kernel),
          .algorithm = print_algorithm(call)};
}

}  // namespace

std::vector<KernelNote> describe_kernels(const Layouts& layouts, const std::vector<Call>& calls) {
  std::vector<KernelNote> notes;
  for (const Call& call : calls) notes.push_back(describe_kernel(layouts, call));
  return notes;
}

}  // namespace intarsia::halide
