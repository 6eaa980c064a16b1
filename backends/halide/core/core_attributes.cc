#include "backends/halide/core/core_attributes.h"

#include <algorithm>
#include <array>
#include <span>

#include "backends/halide/core/size_texts.h"

namespace intarsia::halide {
namespace {

constexpr auto pad_modes = std::to_array<std::string_view>({"constant", "reflect", "edge", "wrap"});
constexpr auto update_names = std::to_array<std::string_view>({"none", "add", "mul", "max", "min"});

constexpr auto box_parts = std::to_array<std::string_view>({"rows", "places", "scores", "number", "padded"});

template <typename Enum>
std::optional<Enum> find_named(std::span<const std::string_view> names, std::string_view name) {
  const auto at = std::ranges::find(names, name);
  return at == names.end() ? std::nullopt : std::optional(static_cast<Enum>(at - names.begin()));
}

AttributeValue to_value(int64_t number) { return number; }
AttributeValue to_value(bool flag) { return int64_t{flag}; }
AttributeValue to_value(float number) { return number; }
AttributeValue to_value(const std::optional<float>& number) { return *number; }
AttributeValue to_value(const std::vector<int64_t>& numbers) { return numbers; }
AttributeValue to_value(const std::string& text) { return text; }
AttributeValue to_value(const Dim& size) {
  return size.is_number() ? AttributeValue(size.number()) : AttributeValue(print_size(size));
}
AttributeValue to_value(const SymbolicShape& sizes) {
  if (std::optional<Shape> numbers = static_shape(sizes)) return *std::move(numbers);
  return print_sizes(sizes);
}
AttributeValue to_value(PadMode mode) { return std::string(name_of(mode)); }
AttributeValue to_value(Update update) { return std::string(name_of(update)); }
AttributeValue to_value(BoxParts parts) { return std::string(name_of(parts)); }

template <typename T>
const T& get_checked(const AttributeValue& value) {
  const T* typed = std::get_if<T>(&value);
  INTARSIA_CHECK(typed != nullptr);
  return *typed;
}

void from_value(const AttributeValue& value, int64_t& to) { to = get_checked<int64_t>(value); }
void from_value(const AttributeValue& value, bool& to) { to = get_checked<int64_t>(value) != 0; }
void from_value(const AttributeValue& value, float& to) { to = get_checked<float>(value); }
void from_value(const AttributeValue& value, std::optional<float>& to) { to = get_checked<float>(value); }
void from_value(const AttributeValue& value, std::vector<int64_t>& to) {
  to = get_checked<std::vector<int64_t>>(value);
}
void from_value(const AttributeValue& value, std::string& to) { to = get_checked<std::string>(value); }
void from_value(const AttributeValue& value, Dim& to) {
  const auto* text = std::get_if<std::string>(&value);
  to = text != nullptr ? parse_size(*text) : Dim(get_checked<int64_t>(value));
}
void from_value(const AttributeValue& value, SymbolicShape& to) {
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  to = texts != nullptr ? parse_sizes(*texts) : to_symbolic(get_checked<std::vector<int64_t>>(value));
}
void from_value(const AttributeValue& value, PadMode& to) {
  const std::optional<PadMode> mode = find_pad_mode(get_checked<std::string>(value));
  INTARSIA_CHECK(mode.has_value());
  to = *mode;
}
void from_value(const AttributeValue& value, Update& to) {
  const std::optional<Update> update = find_update(get_checked<std::string>(value));
  INTARSIA_CHECK(update.has_value());
  to = *update;
}
void from_value(const AttributeValue& value, BoxParts& to) {
  const std::optional<BoxParts> parts = find_box_parts(get_checked<std::string>(value));
  INTARSIA_CHECK(parts.has_value());
  to = *parts;
}

struct Writer {
  Attributes to;

  void operator()(const char* name, const auto& field) { to.set(name, to_value(field)); }
  void operator()(const char* name, const auto& field, const auto& otherwise) {
    if (field != otherwise) to.set(name, to_value(field));
  }
};

struct Reader {
  const Attributes& from;
  size_t found = 0;

  void operator()(const char* name, auto& field) {
    const AttributeValue* value = from.find(name);
    INTARSIA_CHECK(value != nullptr);
    from_value(*value, field);
    ++found;
  }
  void operator()(const char* name, auto& field, const auto& otherwise) {
    field = otherwise;
    if (from.has(name)) (*this)(name, field);
  }
};

/// Replaces the sizes among the fields of a struct.
struct SizeReplacer {
  const std::function<Dim(const Dim&)>& replace;

  void operator()(const char*, auto& field, auto&&...) {
    if constexpr (std::is_same_v<decltype(field), Dim&>) field = replace(field);
    if constexpr (std::is_same_v<decltype(field), SymbolicShape&>)
      for (Dim& size : field) size = replace(size);
  }
};

CoreAttributes default_attributes_of_elementwise(CoreOp op) {
  switch (op) {
    case CoreOp::mod:
      return ModAttributes{};
    case CoreOp::bit_shift:
      return BitShiftAttributes{};
    case CoreOp::is_inf:
      return IsInfAttributes{};
    case CoreOp::exp:
      return ExpAttributes{};
    case CoreOp::gelu:
      return GeluAttributes{};
    case CoreOp::leaky_relu:
      return AlphaAttributes{0.01f};
    case CoreOp::thresholded_relu:
    case CoreOp::elu:
    case CoreOp::celu:
      return AlphaAttributes{};
    case CoreOp::hard_sigmoid:
      return HardSigmoidAttributes{};
    case CoreOp::selu:
      return SeluAttributes{};
    case CoreOp::shrink:
      return ShrinkAttributes{};
    default:
      return NoAttributes{};
  }
}

CoreAttributes default_attributes_of_movement(CoreOp op) {
  switch (op) {
    case CoreOp::transpose:
      return TransposeAttributes{};
    case CoreOp::slice:
      return SliceAttributes{};
    case CoreOp::concat:
    case CoreOp::gather:
    case CoreOp::gather_elements:
    case CoreOp::one_hot:
    case CoreOp::interpolate:
      return AxisAttributes{};
    case CoreOp::pad:
      return PadAttributes{};
    case CoreOp::resize_places:
    case CoreOp::resize_weights:
      return ResizeAttributes{};
    case CoreOp::elements:
      return ElementsAttributes{};
    case CoreOp::range:
      return RangeAttributes{};
    case CoreOp::gather_nd:
      return GatherNdAttributes{};
    case CoreOp::tensor_scatter:
      return TensorScatterAttributes{};
    case CoreOp::grid_sample:
      return GridSampleAttributes{};
    case CoreOp::deform_sample:
      return DeformAttributes{};
    case CoreOp::trilu:
      return TriluAttributes{};
    case CoreOp::reverse_sequence:
      return ReverseSequenceAttributes{};
    default:
      return NoAttributes{};
  }
}

CoreAttributes default_attributes_of_window(CoreOp op) {
  if (op == CoreOp::lrn) return LrnAttributes{};
  return PoolAttributes{};
}

CoreAttributes default_attributes_of_reduction(CoreOp op) {
  if (op == CoreOp::arg_max || op == CoreOp::arg_min) return ArgAttributes{};
  return ReductionAttributes{};
}

bool is_selection(CoreOp op) {
  return op == CoreOp::non_zero || op == CoreOp::compress || op == CoreOp::unique ||
         op == CoreOp::non_max_suppression;
}

CoreAttributes default_attributes_of_routine(CoreOp op) {
  if (op == CoreOp::top_k) return TopKAttributes{};
  if (op == CoreOp::tree_ensemble) return TreeAttributes{};
  if (op == CoreOp::max_unpool) return NoAttributes{};
  if (op == CoreOp::random) return RandomAttributes{};
  if (is_selection(op)) return CountedAttributes{};
  return RoiAttributes{};
}

void check_node(const Graph& graph, const Node& node) {
  read_attributes(node);
  INTARSIA_CHECK(node.domain.empty() && node.captures.empty() && node.outputs.size() == 1);
  for (ValueId input : node.inputs) INTARSIA_CHECK(input != no_value);
  INTARSIA_CHECK(
      std::ranges::all_of(sizes_of(graph, node.outputs[0]), [](const Dim& size) { return size.is_known(); }));
}

}  // namespace

std::string_view name_of(PadMode mode) { return pad_modes.at(static_cast<size_t>(mode)); }

std::optional<PadMode> find_pad_mode(std::string_view name) { return find_named<PadMode>(pad_modes, name); }

std::string_view name_of(Update update) { return update_names.at(static_cast<size_t>(update)); }

std::optional<Update> find_update(std::string_view name) { return find_named<Update>(update_names, name); }

std::string_view name_of(BoxParts parts) { return box_parts.at(static_cast<size_t>(parts)); }

std::optional<BoxParts> find_box_parts(std::string_view name) {
  return find_named<BoxParts>(box_parts, name);
}

std::optional<CountedAttributes> counted_output(const Node& node) {
  if (!is_selection(op_of(node))) return std::nullopt;
  const auto attributes = attributes_of<CountedAttributes>(node);
  return attributes.is_counted ? std::optional(attributes) : std::nullopt;
}

bool has_counted_outputs(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return counted_output(node).has_value(); });
}

CoreAttributes default_attributes(CoreOp op) {
  switch (form_of(op)) {
    case Form::elementwise:
      return default_attributes_of_elementwise(op);
    case Form::movement:
    case Form::view:
    case Form::concat:
      return default_attributes_of_movement(op);
    case Form::contraction:
      return op == CoreOp::conv ? CoreAttributes(ConvAttributes{}) : MatMulAttributes{};
    case Form::window:
      return default_attributes_of_window(op);
    case Form::reduction:
      return default_attributes_of_reduction(op);
    case Form::scan:
      return ScanAttributes{};
    case Form::scatter:
      return op == CoreOp::fold ? CoreAttributes(FoldAttributes{}) : ScatterAttributes{};
    case Form::routine:
      return default_attributes_of_routine(op);
    case Form::recurrence:
      return RecurrenceAttributes{};
    case Form::attention:
      break;  // attentions exist only in kernels
  }
  INTARSIA_CHECK(false);
  return {};
}

CoreAttributes read_attributes(const Node& node) {
  CoreAttributes attributes = default_attributes(op_of(node));
  Reader reader{node.attributes};
  std::visit([&]<typename T>(T& as) { T::fields(as, reader); }, attributes);
  INTARSIA_CHECK(reader.found == node.attributes.size());
  return attributes;
}

std::vector<int64_t> reduced_axes(const Node& node) {
  const CoreAttributes attributes = read_attributes(node);
  if (const auto* arg = std::get_if<ArgAttributes>(&attributes)) return arg->axes;
  INTARSIA_CHECK(std::holds_alternative<ReductionAttributes>(attributes));
  return std::get<ReductionAttributes>(attributes).axes;
}

void set_attributes(Node& node, const CoreAttributes& attributes) {
  INTARSIA_CHECK(attributes.index() == default_attributes(op_of(node)).index());
  Writer writer;
  std::visit([&]<typename T>(const T& as) { T::fields(as, writer); }, attributes);
  node.attributes = std::move(writer.to);
}

bool are_known(const CoreAttributes& attributes) {
  CoreAttributes seen = attributes;
  bool known = true;
  const std::function<Dim(const Dim&)> look = [&](const Dim& size) {
    known &= size.is_known();
    return size;
  };
  std::visit([&]<typename T>(T& as) { T::fields(as, SizeReplacer{look}); }, seen);
  return known;
}

void replace_sizes(Node& node, const std::function<Dim(const Dim&)>& replace) {
  CoreAttributes attributes = read_attributes(node);
  std::visit([&]<typename T>(T& as) { T::fields(as, SizeReplacer{replace}); }, attributes);
  set_attributes(node, attributes);
}

Node make_node(std::string name, CoreOp op, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
               const CoreAttributes& attributes) {
  Node node{std::move(name), std::string(name_of(op)), "", 0, std::move(inputs), std::move(outputs), {}, {}};
  set_attributes(node, attributes);
  return node;
}

void check_canonical(const Graph& graph) {
  for (const Node& node : graph.nodes) check_node(graph, node);
}

}  // namespace intarsia::halide
