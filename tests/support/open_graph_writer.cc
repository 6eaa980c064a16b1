#include "tests/support/open_graph_writer.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tests/support/halide_support.h"

namespace intarsia::test {
namespace {

/// Operators whose results do not depend on how sums are ordered, if those of their inputs do not.
const std::set<std::string_view> exact_operators{"Abs",
                                                 "Add",
                                                 "And",
                                                 "ArgMax",
                                                 "ArgMin",
                                                 "Cast",
                                                 "Clip",
                                                 "Concat",
                                                 "Equal",
                                                 "Expand",
                                                 "Flatten",
                                                 "Gather",
                                                 "GatherElements",
                                                 "GatherND",
                                                 "Greater",
                                                 "DepthToSpace",
                                                 "Identity",
                                                 "Less",
                                                 "Max",
                                                 "MaxPool",
                                                 "Min",
                                                 "Mul",
                                                 "Neg",
                                                 "Not",
                                                 "OneHot",
                                                 "Or",
                                                 "Pad",
                                                 "Range",
                                                 "ReduceMax",
                                                 "ReduceMin",
                                                 "Relu",
                                                 "Reshape",
                                                 "Shape",
                                                 "Size",
                                                 "Slice",
                                                 "SpaceToDepth",
                                                 "Split",
                                                 "Squeeze",
                                                 "Sub",
                                                 "Tile",
                                                 "Transpose",
                                                 "Trilu",
                                                 "Unsqueeze",
                                                 "Where",
                                                 "GlobalMaxPool"};

/// Returns the names of the values that nodes make, with whether each is exact.
std::map<std::string, bool> find_exact(const Graph& graph) {
  std::map<std::string, bool> exact;
  for (const Node& node : graph.nodes) {
    bool all = exact_operators.contains(node.op);
    bool floats = false;
    for (ValueId input : node.inputs) {
      if (input == no_value) continue;
      const auto known = exact.find(graph.value(input).name);
      all &= known == exact.end() || known->second;
      floats |= is_float(graph.value(input).type.dtype);
    }
    // A product may be fused with a sum.
    if (node.op == "Mul" && floats) all = false;
    for (ValueId output : node.outputs)
      if (output != no_value) exact[graph.value(output).name] = all;
  }
  return exact;
}

std::string print_sizes(const SymbolicShape& shape, const Sizes& sizes) {
  std::vector<std::string> texts;
  for (const Dim& size : shape) texts.push_back(size.substitute(sizes).print());
  return fmt::format("{}", fmt::join(texts, ","));
}

bool is_usable(const Value& value) {
  const ValueType& type = value.type;
  return type.shape && type.shape->size() <= 6 &&
         std::ranges::all_of(*type.shape, [](const Dim& size) { return size.is_known(); });
}

const RandomOperator& random_operator(OpenGraphWriter& g) {
  static const std::vector<RandomOperator> all = [] {
    std::vector<RandomOperator> list;
    for (auto family : {random_movements(), random_computations(), random_windows(), random_selections()})
      list.insert(list.end(), family.begin(), family.end());
    return list;
  }();
  static const int64_t total = std::accumulate(all.begin(), all.end(), int64_t{0},
                                               [](int64_t sum, const auto& one) { return sum + one.weight; });
  int64_t at = g.below(total);
  for (const RandomOperator& one : all)
    if ((at -= one.weight) < 0) return one;
  return all.back();
}

}  // namespace

OpenGraphWriter::OpenGraphWriter(std::mt19937& random, Judge judge)
    : random_(random), judge_(std::move(judge)) {}

std::string OpenGraphWriter::text(const Sizes& sizes) const {
  std::string text = fmt::format("graph \"g\" opsets {{\"\": {}}}\n", version_);
  for (const WrittenInput& input : inputs_)
    text += fmt::format("input {} : {}[{}]\n", input.name, dtype_name(input.dtype),
                        print_sizes(input.shape, sizes));
  text += body_;
  for (const std::string& output : outputs_) text += "output %" + output + "\n";
  return text;
}

Dim OpenGraphWriter::random_size() {
  const auto symbol = [&] { return Dim::named(symbols_[static_cast<size_t>(below(std::ssize(symbols_)))]); };
  switch (below(10)) {
    case 0:
      return symbol() * between(1, 2) + between(1, 2);
    case 1:
      return chance(50) ? 2 * symbol() : symbol() + symbol();
    case 2:
    case 3:
    case 4:
      return one_of<int64_t>({1, 2, 3, 4, 5, 6, 8, 16});
    default:
      return symbol();
  }
}

std::vector<int64_t> OpenGraphWriter::random_order(size_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(below(std::ssize(order)) % static_cast<int64_t>(i))]);
  return order;
}

void OpenGraphWriter::make_inputs() {
  const char* const names[] = {"n", "m", "k"};
  for (int64_t i = between(1, 3); i > 0; --i) symbols_.emplace_back(names[symbols_.size()]);
  version_ = one_of({17, 21});
  std::vector<std::string> alone = symbols_;  // which must be axes by themselves
  while (!alone.empty()) {
    SymbolicShape shape;
    const bool is_picture = chance(35);
    for (int64_t i = is_picture ? 4 : between(1, 4); i > 0; --i) shape.push_back(random_size());
    if (is_picture) {
      shape[0] = chance(70) ? Dim(between(1, 2)) : shape[0];
      shape[1] = one_of<int64_t>({1, 3, 4, 8, 12, 16});
    }
    for (Dim& size : shape) {
      if (alone.empty() || (is_picture && size.is_number()) || chance(40)) continue;
      size = Dim::named(alone.back());
      alone.pop_back();
    }
    input(DType::f32, shape);
  }
  for (const WrittenInput& input : inputs_) pool_.push_back({input.name, input.dtype, input.shape});
}

std::string OpenGraphWriter::input(DType dtype, const SymbolicShape& shape, const std::optional<Dim>& limit) {
  inputs_.push_back({fresh(limit ? "i" : "x"), dtype, shape, limit});
  return inputs_.back().name;
}

std::string OpenGraphWriter::value(DType dtype, const SymbolicShape& shape) {
  std::vector<std::string> fitting;
  for (const Written& written : pool_)
    if (written.dtype == dtype && written.shape == shape) fitting.push_back(written.name);
  if (!fitting.empty() && chance(70)) return fitting[static_cast<size_t>(below(std::ssize(fitting)))];
  return input(dtype, shape);
}

std::string OpenGraphWriter::weights(const Shape& shape) {
  const std::string name = fresh("w_small");
  inputs_.push_back({name, DType::f32, to_symbolic(shape), {}});
  return name;
}

std::string OpenGraphWriter::ints(const std::vector<int64_t>& numbers) {
  const std::string name = fresh("c");
  body_ += fmt::format("const {} : i64[{}] = {{{}}}\n", name, numbers.size(), fmt::join(numbers, ", "));
  return name;
}

std::string OpenGraphWriter::scalar(int64_t number) {
  const std::string name = fresh("c");
  body_ += fmt::format("const {} : i64[] = {{{}}}\n", name, number);
  return name;
}

std::string OpenGraphWriter::floats(const std::vector<float>& numbers) {
  const std::string name = fresh("c");
  body_ += fmt::format("const {} : f32[{}] = {{{}}}\n", name, numbers.size(), fmt::join(numbers, ", "));
  return name;
}

std::vector<std::string> OpenGraphWriter::nodes(const std::string& call, int outputs) {
  std::vector<std::string> names;
  for (int i = 0; i < outputs; ++i) names.push_back(fresh("v"));
  body_ += fmt::format("{} = {}\n", fmt::join(names, ", "), call);
  return names;
}

std::string OpenGraphWriter::size_of(const Written& x, int64_t axis) {
  return node(fmt::format("Shape({}) {{start={}, end={}}}", x.name, axis, axis + 1));
}

const Written& OpenGraphWriter::random_value() {
  const int64_t count = std::ssize(pool_);
  return pool_[static_cast<size_t>(count - 1 - below(chance(60) ? std::min<int64_t>(count, 2) : count))];
}

/// Takes what was written since into the graph; returns why it does not belong there, if so.
std::string OpenGraphWriter::commit() {
  outputs_.clear();
  const Result<Graph> graph = make_graph(text());
  if (!graph) return "-";
  std::set<ValueId> read;
  for (const Node& node : graph->nodes) {
    read.insert(node.inputs.begin(), node.inputs.end());
    for (ValueId output : node.outputs)
      if (output != no_value && !is_usable(graph->value(output))) return "sizes are not known";
  }
  const std::map<std::string, bool> exact = find_exact(*graph);
  std::vector<Written> pool;
  for (const WrittenInput& input : inputs_)
    if (!input.limit && !input.name.starts_with("%w")) pool.push_back({input.name, input.dtype, input.shape});
  for (const Node& node : graph->nodes)
    for (ValueId output : node.outputs) {
      if (output == no_value) continue;
      const Value& value = graph->value(output);
      if (!read.contains(output)) outputs_.push_back(value.name);
      pool.push_back({"%" + value.name, value.type.dtype, *value.type.shape, exact.at(value.name)});
    }
  const std::string reason = judge_(make_graph(text()).value());
  if (reason.empty()) pool_ = std::move(pool);
  return reason;
}

bool OpenGraphWriter::try_operator() {
  const auto before = std::tuple{inputs_, outputs_, body_};
  const RandomOperator& one = random_operator(*this);
  const Written x = random_value();  // a copy: operators add values
  std::string reason = one.write(*this, x) ? commit() : "-";
  if (reason.empty()) return true;
  if (reason != "-") ++refusals_[fmt::format("{}: {}", one.name, reason)];
  std::tie(inputs_, outputs_, body_) = before;
  return false;
}

void OpenGraphWriter::write(int64_t nodes) {
  make_inputs();
  for (int64_t tries = 40 * nodes; nodes > 0 && tries > 0; --tries) nodes -= try_operator() ? 1 : 0;
}

}  // namespace intarsia::test
