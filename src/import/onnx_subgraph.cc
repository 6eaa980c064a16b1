#include "import/onnx_subgraph.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/protobuf.h"
#include "onnx/onnx_fields.h"

namespace intarsia {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

constexpr int deepest = 32;  // nesting of subgraphs; real models have two or three levels

std::string name_field(std::string_view bytes, uint32_t tag) {
  pbf_reader message = read_message(bytes);
  return message.next(tag) ? message.get_string() : std::string();
}

/// Collector of the names that a graph reads and does not define.
class CaptureFinder {
 public:
  void visit_attribute(std::string_view bytes, const std::set<std::string>& known, int depth) {
    if (depth > deepest) throw std::length_error("subgraphs are nested too deeply");
    pbf_reader message = read_message(bytes);
    while (message.next()) {
      const bool is_graph = message.tag() == onnx::attribute::g || message.tag() == onnx::attribute::graphs;
      if (is_graph)
        visit_graph(read_bytes(message), known, depth);
      else
        message.skip();
    }
  }

  std::vector<std::string> names;

 private:
  void visit_graph(std::string_view bytes, std::set<std::string> known, int depth) {
    std::vector<std::string_view> nodes;
    std::vector<std::string> outputs;
    pbf_reader message = read_message(bytes);
    while (message.next()) {
      switch (message.tag()) {
        case onnx::graph::node:
          nodes.push_back(read_bytes(message));
          break;
        case onnx::graph::input:
          known.insert(name_field(read_bytes(message), onnx::value_info::name));
          break;
        case onnx::graph::output:
          outputs.push_back(name_field(read_bytes(message), onnx::value_info::name));
          break;
        case onnx::graph::initializer:
          known.insert(name_field(read_bytes(message), onnx::tensor::name));
          break;
        case onnx::graph::sparse_initializer:
          known.insert(
              name_field(name_field(read_bytes(message), onnx::sparse_tensor::values), onnx::tensor::name));
          break;
        default:
          message.skip();
      }
    }
    for (std::string_view node : nodes) visit_node(node, known, depth);
    for (const std::string& output : outputs) read(output, known);
  }

  void visit_node(std::string_view bytes, std::set<std::string>& known, int depth) {
    std::vector<std::string> outputs;
    pbf_reader message = read_message(bytes);
    while (message.next()) {
      switch (message.tag()) {
        case onnx::node::input:
          read(message.get_string(), known);
          break;
        case onnx::node::output:
          outputs.push_back(message.get_string());
          break;
        case onnx::node::attribute:
          visit_attribute(read_bytes(message), known, depth + 1);
          break;
        default:
          message.skip();
      }
    }
    known.insert(outputs.begin(), outputs.end());
  }

  void read(const std::string& name, const std::set<std::string>& known) {
    if (!name.empty() && !known.contains(name) && seen_.insert(name).second) names.push_back(name);
  }

  std::set<std::string> seen_;
};

class Rewriter {
 public:
  explicit Rewriter(const SubgraphChanges& changes) : changes_(changes) {}

  std::string attribute(std::string_view bytes, int depth) {
    if (depth > deepest) throw std::length_error("subgraphs are nested too deeply");
    return rewrite(bytes, [&](pbf_reader& message, pbf_writer& out) {
      const uint32_t tag = message.tag();
      if (tag != onnx::attribute::g && tag != onnx::attribute::graphs) return false;
      out.add_message(tag, graph(read_bytes(message), depth));
      return true;
    });
  }

 private:
  template <typename Change>
  static std::string rewrite(std::string_view bytes, Change change) {
    std::string result;
    pbf_writer out(result);
    pbf_reader message = read_message(bytes);
    while (message.next()) {
      if (!change(message, out)) copy_field(message, out);
    }
    return result;
  }

  std::string renamed(const std::string& name) const {
    auto at = changes_.names.find(name);
    return at == changes_.names.end() ? name : at->second;
  }

  std::string graph(std::string_view bytes, int depth) {
    return rewrite(bytes, [&](pbf_reader& message, pbf_writer& out) {
      const uint32_t tag = message.tag();
      if (tag == onnx::graph::node) {
        out.add_message(tag, node(read_bytes(message), depth));
      } else if (tag == onnx::graph::output) {
        out.add_message(tag, output(read_bytes(message)));
      } else {
        return false;
      }
      return true;
    });
  }

  /// Rewrites an output, since a subgraph may name an outer value as its output.
  std::string output(std::string_view bytes) {
    return rewrite(bytes, [&](pbf_reader& message, pbf_writer& out) {
      if (message.tag() != onnx::value_info::name) return false;
      out.add_string(onnx::value_info::name, renamed(message.get_string()));
      return true;
    });
  }

  std::string node(std::string_view bytes, int depth) {
    return rewrite(bytes, [&](pbf_reader& message, pbf_writer& out) {
      const uint32_t tag = message.tag();
      if (tag == onnx::node::input || tag == onnx::node::output) {
        out.add_string(tag, renamed(message.get_string()));
      } else if (tag == onnx::node::attribute) {
        const std::string_view old = read_bytes(message);
        const std::string refers_to = name_field(old, onnx::attribute::ref_attr_name);
        if (refers_to.empty()) {
          out.add_message(tag, attribute(old, depth + 1));
        } else if (auto at = changes_.call_attributes.find(refers_to); at != changes_.call_attributes.end()) {
          out.add_message(tag, rename_attribute(at->second, name_field(old, onnx::attribute::name)));
        }
      } else {
        return false;
      }
      return true;
    });
  }

  const SubgraphChanges& changes_;
};

}  // namespace

std::vector<std::string> find_captured_names(std::string_view attribute) {
  CaptureFinder finder;
  finder.visit_attribute(attribute, {}, 0);
  return std::move(finder.names);
}

std::string rewrite_subgraphs(std::string_view attribute, const SubgraphChanges& changes) {
  return Rewriter(changes).attribute(attribute, 0);
}

std::string rename_attribute(std::string_view attribute, std::string_view name) {
  std::string result;
  pbf_writer out(result);
  out.add_string(onnx::attribute::name, name.data(), name.size());
  pbf_reader message = read_message(attribute);
  while (message.next()) {
    if (message.tag() == onnx::attribute::name)
      message.skip();
    else
      copy_field(message, out);
  }
  return result;
}

}  // namespace intarsia
