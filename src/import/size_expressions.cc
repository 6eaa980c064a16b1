#include "import/size_expressions.h"

#include <algorithm>

#include "graph/parse_dim.h"
#include "graph/text_words.h"

namespace intarsia {
namespace {

/// Returns the symbols of inputs that are not expressions themselves.
std::set<std::string> plain_symbols(const Graph& graph) {
  std::set<std::string> symbols;
  for (ValueId input : graph.inputs) {
    for (const Dim& dim : graph.value(input).type.shape.value_or(SymbolicShape())) {
      if (const std::string* symbol = dim.symbol(); symbol && print_word(*symbol) == *symbol)
        symbols.insert(*symbol);
    }
  }
  return symbols;
}

Dim read_expression(const Dim& dim, const std::set<std::string>& known) {
  const std::string* name = dim.symbol();
  if (name == nullptr || known.contains(*name)) return dim;
  TextScanner scanner(*name);
  const Result<Dim> expression = parse_dim(scanner);
  if (!expression || !scanner.at_end()) return dim;
  const std::set<std::string> symbols = expression->symbols();
  return !symbols.empty() && std::ranges::includes(known, symbols) ? *expression : dim;
}

}  // namespace

void read_size_expressions(Graph& graph) {
  const std::set<std::string> known = plain_symbols(graph);
  for (Value& value : graph.values) {
    if (!value.type.shape) continue;
    for (Dim& dim : *value.type.shape) dim = read_expression(dim, known);
  }
}

}  // namespace intarsia
