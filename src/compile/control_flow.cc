#include "compile/control_flow.h"

#include <algorithm>
#include <set>

#include "import/import_onnx.h"
#include "passes/infer_types.h"
#include "passes/remove_dead_nodes.h"

namespace intarsia {
namespace {

/// Rounds in which types of carried values become more general until the body keeps them.
constexpr int most_rounds = 4;

/// Returns the type that both are of.
ValueType generalize(const ValueType& one, const ValueType& other) {
  ValueType type = one;
  type.elements.reset();
  if (!one.shape || !other.shape || one.shape->size() != other.shape->size()) {
    type.shape.reset();
    return type;
  }
  for (size_t axis = 0; axis < type.shape->size(); ++axis) {
    Dim& size = (*type.shape)[axis];
    if (!provably_equal(size, (*other.shape)[axis])) size = Dim::unknown();
  }
  return type;
}

Status check_plain(const Value& value) {
  const ValueType& type = value.type;
  const bool is_plain = !type.opaque && type.dtype != DType::undefined && type.dtype != DType::string &&
                        dtype_bits(type.dtype) % 8 == 0;
  if (is_plain) return {};
  return fail(ErrorKind::unsupported, "'{}' does not consist of numbers of whole bytes", value.name);
}

/// Checks that a value has one element, as far as its sizes are known.
Status check_scalar(const Value& value, DType dtype) {
  const ValueType& type = value.type;
  const auto may_be_one = [](const Dim& size) { return !size.is_number() || size.number() == 1; };
  if (type.dtype == dtype && type.shape && std::ranges::all_of(*type.shape, may_be_one)) return {};
  return fail(ErrorKind::unsupported, "'{}' is {}; want one {}", value.name, print_type(type),
              dtype_name(dtype));
}

/// Gives sizes of the inputs that depend on data names of their own, so that what follows from them is known.
void name_unknown_sizes(Graph& body) {
  for (ValueId input : body.inputs) {
    Value& value = body.value(input);
    for (size_t axis = 0; value.type.shape && axis < value.type.shape->size(); ++axis)
      if (Dim& size = (*value.type.shape)[axis]; !size.is_known())
        size = Dim::named(fmt::format("size {} of {}", axis, value.name));
  }
}

/// Lets the sizes of the inputs that are open in `outer` be open in the body.
void take_open_sizes(const Graph& outer, Graph& body) {
  for (const OpenSize& size : outer.open_sizes) {
    const auto tells = [&](ValueId input) {
      const auto& shape = body.value(input).type.shape;
      return shape && std::ranges::find(*shape, Dim::named(size.name)) != shape->end();
    };
    if (std::ranges::any_of(body.inputs, tells)) body.open_sizes.push_back(size);
  }
}

/// Reader of one node.
class ControlFlowReader {
 public:
  ControlFlowReader(const Graph& graph, NodeId id, const Evaluate& evaluate, const InferForeign& infer)
      : graph_(graph), id_(id), node_(graph.node(id)), evaluate_(evaluate), infer_(infer) {}

  Result<ControlFlow> read() {
    if (std::ranges::find(node_.outputs, no_value) != node_.outputs.end())
      return fail(ErrorKind::unsupported, "an output is omitted");
    TRY(node_.op == "If" ? read_branch() : node_.op == "Loop" ? read_loop() : read_scan());
    for (ValueId input : flow_.inputs) TRY(check_plain(graph_.value(input)));
    for (Graph& body : flow_.bodies) remove_dead_nodes(body);
    for (const Graph& body : flow_.bodies)
      for (const auto* list : {&body.inputs, &body.outputs})
        for (ValueId id : *list) TRY(check_plain(body.value(id)));
    return std::move(flow_);
  }

 private:
  Result<Graph> import_attribute(std::string_view name) const {
    const AttributeValue* value = node_.attributes.find(name);
    const auto* encoded = value == nullptr ? nullptr : std::get_if<EncodedAttribute>(value);
    if (encoded == nullptr) return fail("no attribute '{}'", name);
    return with_context(import_onnx_body(graph_, id_, encoded->bytes), "attribute '{}'", name);
  }

  Status type(Graph& body) const {
    name_unknown_sizes(body);
    take_open_sizes(graph_, body);
    return infer_types(body, evaluate_, infer_);
  }

  /// Finds the value of the graph that an input of a body is.
  Result<ValueId> find_captured(const Graph& body, ValueId input) const {
    const std::string& name = body.value(input).name;
    const auto found =
        std::ranges::find(node_.captures, name, [&](ValueId id) { return graph_.value(id).name; });
    if (found == node_.captures.end()) return fail("its body has an input '{}' that nothing gives", name);
    return *found;
  }

  Status read_branch() {
    if (node_.inputs.size() != 1) return fail("{} inputs; want a condition", node_.inputs.size());
    TRY(check_scalar(graph_.value(node_.inputs[0]), DType::boolean));
    flow_.inputs = {node_.inputs[0]};
    for (const char* name : {"then_branch", "else_branch"}) {
      Graph body = TRY(import_attribute(name));
      if (body.outputs.size() != node_.outputs.size())
        return fail("'{}' has {} outputs, the node {}", name, body.outputs.size(), node_.outputs.size());
      for (ValueId input : body.inputs) flow_.inputs.push_back(TRY(find_captured(body, input)));
      TRY(type(body));
      flow_.bodies.push_back(std::move(body));
    }
    const auto type_of = [&](const Graph& body, size_t i) {
      return known_outside(body.value(body.outputs[i]).type);
    };
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      const ValueType one = type_of(flow_.bodies[0], i), other = type_of(flow_.bodies[1], i);
      if (one.dtype != other.dtype) return fail("output {} has two dtypes", i);
      flow_.outputs.push_back(generalize(one, other));
    }
    return {};
  }

  Status read_loop() {
    flow_.is_loop = true;
    if (node_.inputs.size() < 2) return fail("{} inputs; want 2 or more", node_.inputs.size());
    flow_.has_trip_count = has_input(node_, 0);
    flow_.has_condition = has_input(node_, 1);
    if (flow_.has_trip_count) TRY(check_scalar(graph_.value(node_.inputs[0]), DType::i64));
    if (flow_.has_condition) TRY(check_scalar(graph_.value(node_.inputs[1]), DType::boolean));
    flow_.carried = static_cast<uint32_t>(node_.inputs.size() - 2);
    for (size_t i = 0; i < node_.inputs.size(); ++i)
      if (has_input(node_, i)) flow_.inputs.push_back(node_.inputs[i]);
    TRY(read_body([&](Graph& body) -> Status {
      if (body.inputs.size() < 2) return fail("its body has {} inputs; want 2 or more", body.inputs.size());
      TRY(begin_loop_body(body));
      return {};
    }));
    const Value& goes_on = flow_.bodies[0].value(flow_.bodies[0].outputs[0]);
    TRY(check_scalar(goes_on, DType::boolean));
    flow_.checks_condition = !goes_on.constant || !goes_on.constant->as<bool>()[0];
    const bool ends = flow_.has_trip_count || flow_.checks_condition;
    if (!ends) return fail(ErrorKind::unsupported, "nothing ends the loop");
    if (!flow_.checks_condition) flow_.bodies[0].outputs.erase(flow_.bodies[0].outputs.begin());
    add_collected_outputs(flow_.checks_condition ? 1 : 0, known_iterations());
    return {};
  }

  /// Makes a constant of the condition, which holds whenever the body runs, and types the iteration number.
  Status begin_loop_body(Graph& body) {
    Value& iteration = body.value(body.inputs[0]);
    const bool is_vector = iteration.type.shape && iteration.type.shape->size() == 1;
    iteration.type = {DType::i64, is_vector ? SymbolicShape{Dim(1)} : SymbolicShape{}, false, {}};
    Value& condition = body.value(body.inputs[1]);
    const bool has_axis = condition.type.shape && condition.type.shape->size() == 1;
    Tensor holds(DType::boolean, has_axis ? Shape{1} : Shape{});
    holds.as<bool>()[0] = true;
    condition.type = {DType::boolean, to_symbolic(holds.shape()), false, {}};
    condition.constant = std::move(holds);
    body.inputs.erase(body.inputs.begin() + 1);
    return {};
  }

  /// Returns the number of iterations, if it is known or a size.
  Dim known_iterations() const {
    if (!flow_.has_trip_count || flow_.checks_condition || !begins()) return Dim::unknown();
    const Value& trips = graph_.value(node_.inputs[0]);
    if (trips.constant) return Dim(std::max<int64_t>(trips.constant->as<int64_t>()[0], 0));
    const auto& sizes = trips.type.elements;
    return sizes && sizes->size() == 1 && provably_nonnegative(sizes->front()) ? sizes->front()
                                                                               : Dim::unknown();
  }

  /// Checks whether it is known that a loop's first condition holds.
  bool begins() const {
    if (!flow_.has_condition) return true;
    const auto& condition = graph_.value(node_.inputs[1]).constant;
    return condition && condition->as<bool>()[0];
  }

  Status read_scan() {
    flow_.is_loop = true;
    const auto scanned = node_.attributes.get_int("num_scan_inputs", 0);
    if (node_.version < 9) return fail(ErrorKind::unsupported, "Scan of opset {}", node_.version);
    if (scanned < 1 || static_cast<size_t>(scanned) > node_.inputs.size())
      return fail("{} of {} inputs to scan", scanned, node_.inputs.size());
    for (const char* name :
         {"scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"}) {
      const std::vector<int64_t> given = node_.attributes.get_ints(name);
      if (std::ranges::any_of(given, [](int64_t one) { return one != 0; }))
        return fail(ErrorKind::unsupported, "'{}' other than 0", name);
    }
    flow_.scanned = static_cast<uint32_t>(scanned);
    flow_.carried = static_cast<uint32_t>(node_.inputs.size()) - flow_.scanned;
    flow_.inputs = node_.inputs;
    if (std::ranges::find(flow_.inputs, no_value) != flow_.inputs.end()) return fail("an input is omitted");
    for (size_t i = flow_.carried; i < node_.inputs.size(); ++i)
      if (const auto& shape = graph_.value(node_.inputs[i]).type.shape; !shape || shape->empty())
        return fail(ErrorKind::unsupported, "'{}' has no known axis to scan",
                    graph_.value(node_.inputs[i]).name);
    TRY(read_body([&](Graph& body) {
      const ValueId number = body.add_value(unused_name(body), {DType::i64, SymbolicShape{}, false, {}});
      body.inputs.insert(body.inputs.begin(), number);
      return Status();
    }));
    add_collected_outputs(0, graph_.value(flow_.inputs[flow_.carried]).type.shape->front());
    return {};
  }

  static std::string unused_name(const Graph& body) {
    std::string name = "iteration";
    while (std::ranges::find(body.values, name, &Value::name) != body.values.end()) name += "_";
    return name;
  }

  /// Reads the body of a loop. `begin` makes its inputs those of a step: the iteration number first. Types of
  /// carried values become more general until every iteration keeps them.
  template <typename Begin>
  Status read_body(const Begin& begin) {
    Graph untyped = TRY(import_attribute("body"));
    TRY(begin(untyped));
    const size_t moving = size_t{flow_.carried} + flow_.scanned;
    const size_t checks = node_.op == "Loop" ? 1 : 0;
    if (untyped.inputs.size() < 1 + moving || untyped.outputs.size() != checks + node_.outputs.size() ||
        node_.outputs.size() < flow_.carried)
      return fail("its body has {} inputs and {} outputs, which do not fit the node", untyped.inputs.size(),
                  untyped.outputs.size());
    for (size_t i = 1 + moving; i < untyped.inputs.size(); ++i)
      flow_.inputs.push_back(TRY(find_captured(untyped, untyped.inputs[i])));
    const size_t first = flow_.inputs.size() + 1 - untyped.inputs.size();
    std::vector<ValueType> types;
    for (size_t i = 0; i < moving; ++i) types.push_back(passed_type(flow_.inputs[first + i], i));
    for (int round = 0; round < most_rounds; ++round) {
      Graph body = untyped;
      for (size_t i = 0; i < moving; ++i) body.value(body.inputs[1 + i]).type = types[i];
      TRY(type(body));
      const std::vector<ValueType> before = types;
      for (size_t i = 0; i < flow_.carried; ++i) {
        const ValueType made = known_outside(body.value(body.outputs[checks + i]).type);
        if (made.dtype != types[i].dtype) return fail("carried value {} changes its dtype", i);
        types[i] = generalize(types[i], made);
      }
      if (types != before) {
        if (round + 2 == most_rounds) forget_sizes(types);
        continue;
      }
      flow_.outputs.assign(types.begin(), types.begin() + flow_.carried);
      flow_.bodies.push_back(std::move(body));
      return {};
    }
    return fail(ErrorKind::unsupported, "the types of carried values do not settle");
  }

  /// Forgets the sizes of carried values that did not settle so far: values that take turns need many rounds.
  void forget_sizes(std::vector<ValueType>& types) const {
    for (size_t i = 0; i < flow_.carried; ++i)
      if (types[i].shape) std::ranges::fill(*types[i].shape, Dim::unknown());
  }

  /// Returns the type of a moving value inside the body: that of an element of a scanned one.
  ValueType passed_type(ValueId outer, size_t number) const {
    ValueType type = graph_.value(outer).type;
    type.elements.reset();
    if (number >= flow_.carried && type.shape && !type.shape->empty()) type.shape->erase(type.shape->begin());
    return type;
  }

  /// Removes from a type the sizes that are named after values inside a body.
  ValueType known_outside(ValueType type) const {
    type.elements.reset();
    if (!type.shape) return type;
    std::set<std::string> known;
    for (ValueId input : flow_.inputs)
      if (const auto& shape = graph_.value(input).type.shape)
        for (const Dim& size : *shape) known.merge(size.symbols());
    for (Dim& size : *type.shape)
      if (!std::ranges::includes(known, size.symbols())) size = Dim::unknown();
    return type;
  }

  void add_collected_outputs(size_t checks, const Dim& iterations) {
    const Graph& body = flow_.bodies[0];
    for (size_t i = flow_.carried; i < node_.outputs.size(); ++i) {
      ValueType type = known_outside(body.value(body.outputs[checks + i]).type);
      if (type.shape) type.shape->insert(type.shape->begin(), iterations);
      flow_.outputs.push_back(std::move(type));
    }
  }

  const Graph& graph_;
  const NodeId id_;
  const Node& node_;
  const Evaluate& evaluate_;
  const InferForeign& infer_;
  ControlFlow flow_;
};

}  // namespace

bool has_control_flow(const Node& node) {
  return node.domain.empty() &&
         std::ranges::find(control_flow_operators, node.op) != std::end(control_flow_operators);
}

Result<ControlFlow> read_control_flow(const Graph& graph, NodeId node, const Evaluate& evaluate,
                                      const InferForeign& infer_foreign) {
  return ControlFlowReader(graph, node, evaluate, infer_foreign).read();
}

}  // namespace intarsia
