#include "graph/parse_graph.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "graph/verify_graph.h"

namespace intarsia {
namespace {

Result<int> parse_version(TextScanner& scanner) {
  const int64_t version = TRY(scanner.integer());
  if (version < 0 || version > std::numeric_limits<int>::max())
    return scanner.error("{} is not a version", version);
  return static_cast<int>(version);
}

template <typename Read>
auto parse_attribute_list(TextScanner& scanner, Read read) -> Result<AttributeValue> {
  std::vector<std::remove_cvref_t<decltype(*read())>> list;
  while (!scanner.accept("]")) {
    if (!list.empty()) TRY(scanner.expect(","));
    list.push_back(TRY(read()));
  }
  return list;
}

/// Checks whether the next word looks like a float and not like an integer: "1.0", "1e9", "-inf", "nan".
bool at_float(TextScanner& scanner) {
  const size_t start = scanner.position();
  const bool is_float = scanner.plain("+-.()").find_first_of(".en") != std::string_view::npos;
  scanner.go_back(start);
  return is_float;
}

Result<AttributeValue> parse_attribute(TextScanner& scanner, const ConstantResolver& resolve) {
  if (scanner.at("\"")) return TRY(scanner.quoted());
  if (scanner.accept("ints[]")) return std::vector<int64_t>{};
  if (scanner.accept("floats[]")) return std::vector<float>{};
  if (scanner.accept("strings[]")) return std::vector<std::string>{};
  if (scanner.accept("encoded")) return EncodedAttribute{TRY(scanner.hex())};
  if (scanner.accept("[")) {
    if (scanner.at("\"")) return parse_attribute_list(scanner, [&] { return scanner.quoted(); });
    if (at_float(scanner)) return parse_attribute_list(scanner, [&] { return scanner.real_f32(); });
    return parse_attribute_list(scanner, [&] { return scanner.integer(); });
  }
  const size_t start = scanner.position();
  const bool is_type = parse_dtype(scanner.plain()).has_value();
  scanner.go_back(start);
  if (is_type) {
    const ValueType type = TRY(parse_type(scanner));
    return TRY(parse_tensor(scanner, type, resolve));
  }
  if (at_float(scanner)) return TRY(scanner.real_f32());
  return TRY(scanner.integer());
}

Status parse_attributes(TextScanner& scanner, const ConstantResolver& resolve, Attributes& attributes) {
  while (!scanner.accept("}")) {
    if (attributes.size() > 0) TRY(scanner.expect(","));
    std::string name = TRY(scanner.word("an attribute"));
    if (attributes.has(name)) return scanner.error("attribute '{}' is duplicated", name);
    TRY(scanner.expect("="));
    attributes.set(std::move(name), TRY(parse_attribute(scanner, resolve)));
  }
  return {};
}

using Opsets = std::map<std::string, int>;  // versions, by domain

Status parse_operator_version(TextScanner& scanner, const Opsets& opsets, Node& node) {
  if (scanner.accept(".")) {
    node.version = TRY(parse_version(scanner));
    return {};
  }
  auto declared = opsets.find(node.domain);
  if (declared == opsets.end()) {
    return scanner.error("the graph declares no version of domain \"{}\"; want {}.VERSION", node.domain,
                         node.op);
  }
  node.version = declared->second;
  return {};
}

Status parse_operator_name(TextScanner& scanner, const Opsets& opsets, Node& node) {
  node.op = TRY(scanner.word("an operator"));
  return parse_operator_version(scanner, opsets, node);
}

/// Parses `Conv`, `Conv.11`, `com.microsoft::Foo`; quoted if a name has other characters.
Status parse_operator(TextScanner& scanner, const Opsets& opsets, Node& node) {
  const bool is_quoted = scanner.at("\"");
  std::string text = is_quoted ? TRY(scanner.quoted()) : std::string(scanner.plain("_."));
  if (scanner.accept("::")) {
    node.domain = std::move(text);
    return parse_operator_name(scanner, opsets, node);
  }
  if (is_quoted) {
    node.op = std::move(text);
    return parse_operator_version(scanner, opsets, node);
  }
  scanner.go_back(scanner.position() - text.size());
  return parse_operator_name(scanner, opsets, node);
}

class GraphParser {
 public:
  GraphParser(std::string_view text, const ConstantResolver& resolve) : scanner_(text), resolve_(resolve) {}

  Result<Graph> parse() {
    if (scanner_.at_end()) return scanner_.want("graph \"name\" opsets {...}");
    TRY(parse_header());
    while (!scanner_.at_end()) {
      TRY(parse_line());
      TRY(scanner_.end_line());
    }
    return std::move(graph_);
  }

 private:
  Status parse_header() {
    TRY(scanner_.expect("graph"));
    graph_.name = TRY(scanner_.quoted());
    TRY(scanner_.expect("opsets"));
    TRY(scanner_.expect("{"));
    while (!scanner_.accept("}")) {
      if (!graph_.opsets.empty()) TRY(scanner_.expect(","));
      std::string domain = TRY(scanner_.quoted());
      TRY(scanner_.expect(":"));
      if (!graph_.opsets.emplace(domain, TRY(parse_version(scanner_))).second)
        return scanner_.error("domain \"{}\" has two versions", domain);
    }
    return scanner_.end_line();
  }

  Status parse_line() {
    if (scanner_.at("%") || scanner_.at("_") || scanner_.at("(")) return parse_node();
    const size_t start = scanner_.position();
    const std::string_view word = scanner_.plain();
    if (word == "output") {
      graph_.outputs.push_back(TRY(read_value()));
      return {};
    }
    if (word != "input" && word != "const" && word != "value") {
      scanner_.go_back(start);
      return scanner_.want("input, const, value, output or a node (%y = Op(%x))");
    }
    const ValueId id = TRY(define_value());
    if (word == "input") graph_.inputs.push_back(id);
    if (word != "const") return {};
    TRY(scanner_.expect("="));
    graph_.value(id).constant = TRY(parse_tensor(scanner_, graph_.value(id).type, resolve_));
    return {};
  }

  Status parse_node() {
    Node node;
    TRY(parse_outputs(node.outputs));
    TRY(scanner_.expect("="));
    TRY(parse_operator(scanner_, graph_.opsets, node));
    TRY(parse_values(node.inputs));
    if (scanner_.accept("captures")) {
      TRY(parse_values(node.captures));
      if (std::ranges::find(node.captures, no_value) != node.captures.end())
        return scanner_.error("a capture cannot be omitted");
    }
    if (scanner_.accept("{")) TRY(parse_attributes(scanner_, resolve_, node.attributes));
    if (scanner_.at("\""))
      node.name = TRY(scanner_.quoted());
    else if (has_output(node, 0))
      node.name = graph_.value(node.outputs[0]).name;
    graph_.add_node(std::move(node));
    return {};
  }

  Status parse_outputs(std::vector<ValueId>& outputs) {
    if (scanner_.accept("(")) return scanner_.expect(")");
    do {
      outputs.push_back(scanner_.accept("_") ? no_value : TRY(define_value()));
    } while (scanner_.accept(","));
    return {};
  }

  Status parse_values(std::vector<ValueId>& ids) {
    TRY(scanner_.expect("("));
    while (!scanner_.accept(")")) {
      if (!ids.empty()) TRY(scanner_.expect(","));
      ids.push_back(scanner_.accept("_") ? no_value : TRY(read_value()));
    }
    return {};
  }

  /// Adds a value that a line defines: its name and, if known, its type.
  Result<ValueId> define_value() {
    const size_t start = scanner_.position();
    std::string name = TRY(scanner_.value_name());
    if (ids_.contains(name)) {
      scanner_.go_back(start);
      return scanner_.error("'%{}' is defined twice", name);
    }
    ValueType type;
    if (scanner_.accept(":")) type = TRY(parse_type(scanner_));
    const ValueId id = graph_.add_value(name, std::move(type));
    ids_.emplace(std::move(name), id);
    return id;
  }

  Result<ValueId> read_value() {
    const size_t start = scanner_.position();
    const std::string name = TRY(scanner_.value_name());
    auto at = ids_.find(name);
    if (at != ids_.end()) return at->second;
    scanner_.go_back(start);
    return scanner_.error("'%{}' is not defined on any line above", name);
  }

  TextScanner scanner_;
  const ConstantResolver& resolve_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const ConstantResolver& resolve) {
  Graph graph = TRY(GraphParser(text, resolve).parse());
  TRY(with_context(verify_graph(graph), "the text's graph is not well formed"));
  return graph;
}

}  // namespace intarsia
