#include "passes/bind_shapes.h"

#include <algorithm>

#include "passes/solve_sizes.h"

namespace intarsia {
namespace {

using Bindings = std::map<std::string, int64_t>;

std::string input_names(const Graph& graph) {
  std::vector<std::string> names;
  for (ValueId input : graph.inputs) names.push_back(graph.value(input).name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Sets the input's shape as given and adds sizes that are expressions to `sizes`.
Status bind_input(Value& input, const Shape& given, std::vector<GivenSize>& sizes) {
  if (input.type.opaque) return fail("input '{}' is not a tensor and has no shape", input.name);
  TRY(with_context(checked_elements(given), "--shape {}", input.name));
  if (!input.type.shape) {
    input.type.shape = to_symbolic(given);
    return {};
  }
  SymbolicShape& wanted = *input.type.shape;
  if (given.size() != wanted.size()) {
    return fail("--shape {}={}: the model's shape {} has rank {}, not {}", input.name, print_shape(given),
                print_shape(wanted), wanted.size(), given.size());
  }
  for (size_t axis = 0; axis < given.size(); ++axis) {
    Dim& dim = wanted[axis];
    if (dim.is_number() && dim != given[axis]) {
      return fail("--shape {}={}: the model fixes size {} to {}", input.name, print_shape(given), axis,
                  dim.number());
    }
    if (dim.is_known() && !dim.is_number())
      sizes.push_back({input.name, axis, dim, given});
    else
      dim = given[axis];
  }
  return {};
}

void substitute(std::vector<Dim>& sizes, const Bindings& bindings) {
  for (Dim& size : sizes) {
    size = size.substitute(bindings);
    if (!size.is_number()) size = Dim::unknown();
  }
}

void substitute(ValueType& type, const Bindings& bindings) {
  if (type.shape) substitute(*type.shape, bindings);
  if (type.elements) substitute(*type.elements, bindings);
}

}  // namespace

Result<std::vector<SymbolBinding>> bind_shapes(Graph& graph, const std::map<std::string, Shape>& given) {
  std::vector<GivenSize> sizes;
  for (const auto& [name, shape] : given) {
    auto at = std::ranges::find_if(graph.inputs, [&](ValueId id) { return graph.value(id).name == name; });
    if (at == graph.inputs.end())
      return fail("--shape {}: the model has no such input; it has {}", name, input_names(graph));
    TRY(bind_input(graph.value(*at), shape, sizes));
  }
  std::map<std::string, SolvedSize> symbols = TRY(solve_sizes(sizes));
  std::vector<SymbolBinding> result;
  for (const auto& [symbol, solved] : symbols) result.push_back({symbol, solved.value, false});
  for (ValueId id : graph.inputs) {
    const Value& input = graph.value(id);
    if (input.type.opaque) continue;
    if (!input.type.shape)
      return fail("input '{}': the model does not specify its rank; give --shape {}=...", input.name,
                  input.name);
    for (const Dim& dim : *input.type.shape) {
      for (const std::string& symbol : dim.symbols()) {
        if (symbols.try_emplace(symbol, SolvedSize{1}).second) result.push_back({symbol, 1, true});
      }
    }
  }
  TRY(check_sizes(sizes, symbols));
  Bindings bindings;
  for (const auto& [symbol, solved] : symbols) bindings[symbol] = solved.value;
  for (Value& value : graph.values) substitute(value.type, bindings);
  for (ValueId id : graph.inputs) {
    const Value& input = graph.value(id);
    if (input.type.opaque) continue;
    const std::optional<Shape> shape = input.type.fixed_shape();
    if (!shape)
      return fail("input '{}': its shape {} has a size without a name; give --shape {}=...", input.name,
                  print_shape(*input.type.shape), input.name);
    TRY(with_context(checked_elements(*shape), "input '{}'", input.name));
  }
  return result;
}

}  // namespace intarsia
