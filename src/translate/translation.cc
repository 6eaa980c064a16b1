#include "translate/translation.h"

#include <algorithm>

#include "base/own_domain.h"

namespace intarsia {

ValueId Translation::input(size_t i) {
  if (i >= node_.inputs.size()) {
    lacks_input_ = true;
    return no_value;
  }
  const ValueId id = node_.inputs[i];
  auto [at, is_new] = values_.try_emplace(id, no_value);
  if (is_new) {
    const Value& value = from_.value(id);
    at->second = to_.add_value(value.name, value.type);
    to_.value(at->second).constant = value.constant;
    to_.value(at->second).folded = value.folded;
    if (!value.constant) to_.inputs.push_back(at->second);
  }
  return at->second;
}

std::vector<ValueId> Translation::inputs(size_t first) {
  std::vector<ValueId> list;
  for (size_t i = first; i < node_.inputs.size(); ++i) list.push_back(input(i));
  return list;
}

const ValueType& Translation::type(size_t i) const {
  static const ValueType unknown;
  return has_input(i) ? from_.value(node_.inputs[i]).type : unknown;
}

Result<Shape> Translation::shape(size_t i) const {
  if (std::optional<Shape> shape = type(i).fixed_shape()) return *shape;
  return fail("the shape of its input {} is known only at run time", i);
}

Result<SymbolicShape> Translation::sizes(size_t i) const {
  const std::optional<SymbolicShape>& shape = type(i).shape;
  if (shape && std::ranges::all_of(*shape, &Dim::is_known)) return *shape;
  return fail("the shape of its input {} is known only at run time", i);
}

Result<std::vector<Dim>> Translation::elements(size_t i) const {
  const std::optional<std::vector<Dim>>& known = type(i).elements;
  if (!is_constant(i) && known && std::ranges::all_of(*known, &Dim::is_known)) return *known;
  const std::vector<int64_t> numbers = TRY(integers(i));
  return std::vector<Dim>(numbers.begin(), numbers.end());
}

Result<int64_t> Translation::rank(size_t i) const {
  if (type(i).shape) return static_cast<int64_t>(type(i).shape->size());
  return fail("the rank of its input {} is known only at run time", i);
}

bool Translation::is_constant(size_t i) const {
  return has_input(i) && from_.value(node_.inputs[i]).constant.has_value();
}

Result<Tensor> Translation::constant(size_t i) const {
  if (is_constant(i)) return *from_.value(node_.inputs[i]).constant;
  return fail("its input {} is known only at run time", i);
}

Result<std::vector<int64_t>> Translation::integers(size_t i) const {
  const Tensor tensor = TRY(constant(i));
  std::vector<int64_t> list;
  if (tensor.dtype() == DType::i32)
    std::ranges::copy(tensor.as<int32_t>(), std::back_inserter(list));
  else if (tensor.dtype() == DType::i64)
    std::ranges::copy(tensor.as<int64_t>(), std::back_inserter(list));
  else
    return fail("its input {} holds {}, want i32 or i64", i, dtype_name(tensor.dtype()));
  return list;
}

Result<int64_t> Translation::integer(size_t i) const {
  const std::vector<int64_t> list = TRY(integers(i));
  if (list.size() != 1) return fail("its input {} has {} elements, want 1", i, list.size());
  return list[0];
}

std::vector<ValueId> Translation::add(Node node, size_t outputs) {
  node.name = node_.name;
  for (size_t i = 0; i < outputs; ++i)
    node.outputs.push_back(
        to_.add_value(fmt::format("{}/{}/{}:{}", node_.name, node.op, to_.values.size(), i)));
  const std::vector<ValueId> made = node.outputs;
  to_.add_node(std::move(node));
  return made;
}

std::vector<ValueId> Translation::make_several(const std::string& op, std::vector<ValueId> inputs,
                                               size_t outputs, NamedAttributes attributes) {
  Node node;
  node.op = op;
  node.version = translated_opset;
  node.inputs = std::move(inputs);
  for (auto& [name, value] : attributes) node.attributes.set(name, std::move(value));
  return add(std::move(node), outputs);
}

std::vector<ValueId> Translation::make_own(const std::string& op, std::vector<ValueId> inputs, size_t outputs,
                                           NamedAttributes attributes) {
  Node node;
  node.op = op;
  node.domain = own_domain;
  node.version = 1;
  node.inputs = std::move(inputs);
  for (auto& [name, value] : attributes) node.attributes.set(name, std::move(value));
  return add(std::move(node), outputs);
}

ValueId Translation::make_of_domain(const std::string& domain, const std::string& op, int version,
                                    std::vector<ValueId> inputs, Attributes attributes) {
  Node node;
  node.op = op;
  node.domain = domain;
  node.version = version;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return add(std::move(node), 1)[0];
}

ValueId Translation::make(const std::string& op, std::vector<ValueId> inputs, NamedAttributes attributes) {
  return make_several(op, std::move(inputs), 1, std::move(attributes))[0];
}

ValueId Translation::make_constant(Tensor tensor) {
  return to_.add_constant(fmt::format("{}/constant/{}", node_.name, to_.values.size()), std::move(tensor));
}

ValueId Translation::make_integers(const std::vector<int64_t>& values) {
  Tensor tensor(DType::i64, {static_cast<int64_t>(values.size())});
  std::ranges::copy(values, tensor.as<int64_t>().begin());
  return make_constant(std::move(tensor));
}

ValueId Translation::integers_input(size_t i) {
  const Result<std::vector<int64_t>> known = integers(i);
  return known ? make_integers(*known) : cast(input(i), DType::i64);
}

ValueId Translation::make_scalar(DType dtype, double value) {
  Tensor wide(DType::f64, {});
  wide.as<double>()[0] = value;
  return dtype == DType::f64 ? make_constant(std::move(wide)) : cast(make_constant(std::move(wide)), dtype);
}

ValueId Translation::size_of(ValueId value, int64_t axis) {
  NamedAttributes range{{"start", axis}};
  if (axis != -1) range.emplace_back("end", axis + 1);  // the last axis ends where the shape does
  return make("Shape", {value}, std::move(range));
}

ValueId Translation::join(std::vector<ValueId> parts) {
  return make("Concat", std::move(parts), {{"axis", int64_t{0}}});
}

ValueId Translation::count_up(ValueId size) {
  const ValueId limit = make("Squeeze", {size, make_integers({0})});
  return make("Range", {make_scalar(DType::i64, 0), limit, make_scalar(DType::i64, 1)});
}

ValueId Translation::slice(ValueId value, int64_t axis, int64_t first, int64_t end) {
  return make("Slice", {value, make_integers({first}), make_integers({end}), make_integers({axis})});
}

ValueId Translation::computed(size_t i) {
  const DType type = computed_type(dtype(i));
  return type == dtype(i) ? input(i) : cast(input(i), type);
}

ValueId Translation::unsqueeze(ValueId value, const std::vector<int64_t>& axes) {
  return make("Unsqueeze", {value, make_integers(axes)});
}

ValueId Translation::transpose(ValueId value, const std::vector<int64_t>& permutation) {
  return make("Transpose", {value}, {{"perm", permutation}});
}

ValueId Translation::reshape(ValueId value, const Shape& shape) {
  return make("Reshape", {value, make_integers(shape)}, {{"allowzero", int64_t{1}}});
}

ValueId Translation::cast(ValueId value, DType to) {
  return make("Cast", {value}, {{"to", static_cast<int64_t>(to)}});
}

void Translation::give(size_t i, ValueId value) {
  if (wants_output(i)) values_[node_.outputs[i]] = value;
}

DType computed_type(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype; }

Result<int64_t> normal_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) return fail("axis {} of a tensor of rank {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

}  // namespace intarsia
