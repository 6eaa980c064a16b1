#include "passes/bind_shapes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "passes/solve_sizes.h"

namespace intarsia {
namespace {

std::string input_names(const Graph& graph) {
  std::vector<std::string> names;
  for (ValueId input : graph.inputs) names.push_back(graph.value(input).name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Returns the name of an open size to which the model gives none.
std::string name_of_axis(const std::string& input, size_t axis) {
  return fmt::format("{}_dim{}", input, axis);
}

/// Sizes of the inputs that stay open.
class OpenSizes {
 public:
  /// Leaves a size of the model open; it is unknown or an expression. Returns what replaces it.
  Result<Dim> open(const std::string& input, size_t axis, const Dim& size, const RequestedSize& wanted) {
    const std::string* symbol = size.symbol();
    if (size.is_known() && symbol == nullptr) {
      if (!wanted.name.empty() || wanted.range || !wanted.tuned.empty())
        return fail("size {} is {} in the model and follows from other sizes; give ? there", axis,
                    print_shape({size}));
      for (const std::string& part : size.symbols()) TRY(add(part, {}));
      return size;
    }
    const std::string name = symbol == nullptr ? name_of_axis(input, axis) : *symbol;
    TRY(add(name, wanted));
    return Dim::named(name);
  }

  /// Leaves a symbol of the model open that no shape mentions.
  void open_by_default(const std::string& symbol) {
    if (wanted_.try_emplace(symbol).second) by_default_.insert(symbol);
  }

  bool contains(const std::string& symbol) const { return wanted_.contains(symbol); }

  /// Returns the symbols of the model that stay open, with what replaces them.
  std::map<std::string, Dim> replacements() const {
    std::map<std::string, Dim> result;
    for (const auto& [symbol, wanted] : wanted_) result[symbol] = Dim::named(name_of(symbol, wanted));
    return result;
  }

  /// Lists the open sizes. Symbols with one name are one size. Error: what is wanted of it contradicts.
  Result<std::vector<OpenSize>> list() const {
    std::map<std::string, RequestedSize> sizes;
    for (const auto& [symbol, wanted] : wanted_) {
      const std::string& name = name_of(symbol, wanted);
      TRY(merge(name, wanted, sizes[name]));
    }
    std::vector<OpenSize> list;
    for (const auto& [name, size] : sizes) {
      list.push_back({name, size.range.value_or(SizeRange{}), size.tuned, by_default_.contains(name)});
      for (int64_t tuned : size.tuned)
        if (!list.back().range.contains(tuned))
          return fail("--shape: size {} of '{}' is not in {}..{}", tuned, name, size.range->min,
                      size.range->max);
    }
    return list;
  }

 private:
  static const std::string& name_of(const std::string& symbol, const RequestedSize& wanted) {
    return wanted.name.empty() ? symbol : wanted.name;
  }

  static Status merge(const std::string& name, const RequestedSize& from, RequestedSize& to) {
    if (from.range && to.range && *from.range != *to.range)
      return fail("--shape: '{}' is {}..{} and {}..{} at once", name, to.range->min, to.range->max,
                  from.range->min, from.range->max);
    if (from.range) to.range = from.range;
    for (int64_t size : from.tuned)
      if (std::ranges::find(to.tuned, size) == to.tuned.end()) to.tuned.push_back(size);
    return {};
  }

  Status add(const std::string& symbol, const RequestedSize& wanted) {
    RequestedSize& known = wanted_[symbol];
    if (!known.name.empty() && !wanted.name.empty() && known.name != wanted.name)
      return fail("size '{}' of the model is called {} and {} at once", symbol, known.name, wanted.name);
    if (!wanted.name.empty()) known.name = wanted.name;
    return merge(symbol, wanted, known);
  }

  std::map<std::string, RequestedSize> wanted_;  // by symbol of the model
  std::set<std::string> by_default_;             // symbols that no shape mentions
};

/// Sets the input's shape as given and adds sizes that are expressions to `sizes`.
Status bind_input(Value& input, const RequestedShape& given, std::vector<GivenSize>& sizes, OpenSizes& open) {
  if (input.type.opaque) return fail("input '{}' is not a tensor and has no shape", input.name);
  Shape numbers;
  for (const RequestedSize& size : given.sizes) numbers.push_back(size.number.value_or(1));
  TRY(with_context(checked_elements(numbers), "--shape {}", input.name));
  if (!input.type.shape) input.type.shape.emplace(given.sizes.size());
  SymbolicShape& wanted = *input.type.shape;
  if (given.sizes.size() != wanted.size()) {
    return fail("--shape {}={}: the model's shape {} has rank {}, not {}", input.name, given.text,
                print_shape(wanted), wanted.size(), given.sizes.size());
  }
  for (size_t axis = 0; axis < wanted.size(); ++axis) {
    Dim& dim = wanted[axis];
    const RequestedSize& size = given.sizes[axis];
    if (dim.is_number() && dim != size.number.value_or(-1)) {
      return fail("--shape {}={}: the model fixes size {} to {}", input.name, given.text, axis, dim.number());
    }
    if (!size.number && !dim.is_number())
      dim =
          TRY(with_context(open.open(input.name, axis, dim, size), "--shape {}={}", input.name, given.text));
    else if (dim.is_known() && !dim.is_number())
      sizes.push_back({input.name, axis, dim, *size.number, given.text});
    else
      dim = *size.number;
  }
  return {};
}

/// Gives sizes without a name one of their own.
void name_sizes(Graph& graph) {
  for (ValueId id : graph.inputs) {
    Value& input = graph.value(id);
    if (input.type.opaque || !input.type.shape) continue;
    for (size_t axis = 0; axis < input.type.shape->size(); ++axis)
      if (Dim& size = (*input.type.shape)[axis]; !size.is_known())
        size = Dim::named(name_of_axis(input.name, axis));
  }
}

/// Returns the symbols that inputs have, each with whether it is the size of an axis by itself.
std::map<std::string, bool> symbols_of_inputs(const Graph& graph) {
  std::map<std::string, bool> symbols;
  for (ValueId id : graph.inputs) {
    const Value& input = graph.value(id);
    if (input.type.opaque) continue;
    for (const Dim& size : *input.type.shape)
      for (const std::string& symbol : size.symbols()) symbols[symbol] |= size.symbol() != nullptr;
  }
  return symbols;
}

/// Replaces symbols; sizes with symbols that no input has become unknown.
void substitute(std::vector<Dim>& sizes, const std::map<std::string, Dim>& replacements) {
  for (Dim& size : sizes) {
    for (const std::string& symbol : size.symbols())
      if (!replacements.contains(symbol)) size = Dim::unknown();
    size = size.substitute(replacements);
  }
}

void substitute(ValueType& type, const std::map<std::string, Dim>& replacements) {
  if (type.shape) substitute(*type.shape, replacements);
  if (type.elements) substitute(*type.elements, replacements);
}

Status check_ranks(const Graph& graph) {
  for (ValueId id : graph.inputs) {
    const Value& input = graph.value(id);
    if (!input.type.opaque && !input.type.shape)
      return fail("input '{}': the model does not specify its rank; give --shape {}=...", input.name,
                  input.name);
  }
  return {};
}

/// Checks that all sizes of inputs are numbers or follow from sizes that are open.
Status check_inputs(const Graph& graph) {
  std::set<std::string> axes;  // open sizes that are a size of some input
  for (ValueId id : graph.inputs) {
    const Value& input = graph.value(id);
    if (input.type.opaque) continue;
    Shape numbers;
    for (const Dim& dim : *input.type.shape) {
      if (const std::string* symbol = dim.symbol()) axes.insert(*symbol);
      numbers.push_back(dim.is_number() ? dim.number() : 1);
    }
    TRY(with_context(checked_elements(numbers), "input '{}'", input.name));
  }
  for (const OpenSize& size : graph.open_sizes)
    if (!axes.contains(size.name))
      return fail(
          "--shape: '{}' is open, but no input has an axis of just that size, so that a run could not "
          "tell it; give a number",
          size.name);
  return {};
}

}  // namespace

Result<std::vector<SymbolBinding>> bind_shapes(Graph& graph,
                                               const std::map<std::string, RequestedShape>& given,
                                               Unmentioned unmentioned) {
  std::vector<GivenSize> sizes;
  OpenSizes open;
  for (const auto& [name, shape] : given) {
    auto at = std::ranges::find_if(graph.inputs, [&](ValueId id) { return graph.value(id).name == name; });
    if (at == graph.inputs.end())
      return fail("--shape {}: the model has no such input; it has {}", name, input_names(graph));
    TRY(bind_input(graph.value(*at), shape, sizes, open));
  }
  std::map<std::string, SolvedSize> symbols = TRY(solve_sizes(sizes));
  std::vector<SymbolBinding> result;
  for (const auto& [symbol, solved] : symbols) {
    if (open.contains(symbol))
      return fail("--shape {}={}: '{}' is {} here, and open elsewhere", solved.from->input,
                  solved.from->shape, symbol, solved.value);
    result.push_back({symbol, solved.value, false});
  }
  TRY(check_ranks(graph));
  name_sizes(graph);
  std::set<std::string> in_given;
  for (const GivenSize& size : sizes) in_given.merge(size.size.symbols());
  for (const auto& [symbol, has_axis] : symbols_of_inputs(graph)) {
    if (open.contains(symbol) || symbols.contains(symbol)) continue;
    if (has_axis && !in_given.contains(symbol) && unmentioned == Unmentioned::stay_open) {
      open.open_by_default(symbol);
    } else {
      symbols[symbol] = SolvedSize{1};
      result.push_back({symbol, 1, true});
    }
  }
  TRY(check_sizes(sizes, symbols));
  std::map<std::string, Dim> replacements = open.replacements();
  for (const auto& [symbol, solved] : symbols) replacements[symbol] = solved.value;
  for (Value& value : graph.values) substitute(value.type, replacements);
  graph.open_sizes = TRY(open.list());
  TRY(check_inputs(graph));
  return result;
}

}  // namespace intarsia
