#include "rewrite/rewrite_body.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/fill_tensor.h"
#include "compile/compile_model.h"
#include "passes/index_limits.h"
#include "rewrite/find_parts.h"
#include "rewrite/write_saved_model.h"
#include "tensorflow/attributes.h"
#include "tensorflow/dtypes.h"

namespace intarsia {
namespace {

constexpr double worth_it = 0.98;  // of the original's time, which a part must beat

/// Returns a pattern that matches this name alone.
std::string exact_pattern(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

bool matches(const std::string& pattern, const Graph& graph) {
  return std::ranges::any_of(
      graph.nodes, [&](const Node& node) { return fnmatch(pattern.c_str(), node.name.c_str(), 0) == 0; });
}

/// Returns the request for a graph: with the pins that concern it.
CompileRequest request_for(const Graph& graph, CompileRequest request) {
  std::erase_if(request.pins, [&](const Pin& pin) { return !matches(pin.pattern, graph); });
  return request;
}

/// Leaves nodes with effects to TensorFlow.
Result<CompileRequest> request_for_body(const Graph& graph, const Body& body, EffectFinder& effects,
                                        const CompileRequest& request) {
  CompileRequest own = request_for(graph, request);
  const std::map<std::string, size_t> numbers = body.index();
  for (const Node& node : graph.nodes) {
    const auto at = numbers.find(node.name);
    if (at == numbers.end() || !TRY(effects.has_effects(body.nodes[at->second].def))) continue;
    own.pins.push_back({exact_pattern(node.name), "tensorflow@cpu"});
  }
  return own;
}

/// Returns the request for a part, which TensorFlow has no share in.
CompileRequest request_for_part(const BodyPart& part, const CompileRequest& request,
                                const CompileServices& services) {
  CompileRequest own = request_for(part.graph, request);
  std::erase_if(own.pins, [](const Pin& pin) { return pin.target.starts_with("tensorflow@"); });
  if (own.backends.empty())
    for (const auto& backend : services.backends) own.backends.push_back(backend->name());
  std::erase(own.backends, "tensorflow");
  own.plan_path.clear();
  return own;
}

/// Returns values for the inputs at the sizes that plans are made with.
std::vector<NamedValue> sample_inputs(const Graph& graph) {
  const std::vector<int64_t> limits = index_limits(graph);
  std::vector<NamedValue> samples;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueId input = graph.inputs[i];
    const std::optional<Shape> shape = graph.planned_shape(input);
    if (!shape) continue;
    Tensor tensor(graph.value(input).type.dtype, *shape);
    const auto limit = static_cast<uint64_t>(limits[index(input)]);
    if (fill_tensor(tensor.view(), i, limit)) samples.push_back({graph.value(input).name, std::move(tensor)});
  }
  return samples;
}

/// Returns a graph whose only node calls a function of the program.
Graph graph_of_call(const std::string& program, const std::string& function, const Graph& part, int threads) {
  Graph graph;
  graph.opsets = {{"tensorflow", 1}};
  Tensor path(DType::string, {});
  path.as<std::string>()[0] = program;
  Node node{.name = "intarsia", .op = "Intarsia", .domain = "tensorflow", .version = 1};
  node.inputs.push_back(graph.add_constant("program", path));
  std::vector<int32_t> in, out;
  for (ValueId input : part.inputs) {
    const Value& value = part.value(input);
    graph.inputs.push_back(graph.add_value(value.name, value.type));
    node.inputs.push_back(graph.inputs.back());
    in.push_back(tensorflow::data_type_of(value.type.dtype));
  }
  for (ValueId output : part.outputs) {
    const Value& value = part.value(output);
    graph.outputs.push_back(graph.add_value(value.name, value.type));
    node.outputs.push_back(graph.outputs.back());
    out.push_back(tensorflow::data_type_of(value.type.dtype));
  }
  node.attributes.set("Tin", tensorflow::encode_types(in));
  node.attributes.set("Tout", tensorflow::encode_types(out));
  node.attributes.set("function", function);
  node.attributes.set("threads", int64_t{threads});
  graph.add_node(std::move(node));
  return graph;
}

/// Part that may be replaced.
struct Candidate {
  std::string name;  // of the program's function
  BodyPart part;
  CompiledFunction function;
};

class BodyRewriter {
 public:
  BodyRewriter(const SignatureBody& original, const BodyContext& context, const RewriteTools& tools)
      : context_(context),
        tools_(tools),
        effects_(context.graph.functions, context.source),
        name_(original.signatures[0]),
        result_{.original = original, .body = original.body} {}

  Result<RewrittenBody> run(const Progress& progress) {
    imported_ = TRY(import_body(result_.original.body, context_));
    if (imported_.graph.nodes.empty()) return std::move(result_);
    const CompileRequest request =
        TRY(request_for_body(imported_.graph, result_.original.body, effects_, tools_.request));
    PassRunner passes(request, tools_.services);
    const ImportedFunction imported = TRY(import_graph(passes, name_, imported_.graph));
    CompiledFunction whole = TRY(compile_function(passes, imported, progress));
    result_.samples = sample_inputs(whole.problem->graph);
    if (uses_tensorflow(whole))
      TRY(add_parts(whole));
    else
      TRY(add_whole(std::move(whole)));
    std::vector<ProgramCall> calls;
    for (ReplacedPart& part : result_.parts) {
      part.call.threads = tools_.threads;
      calls.push_back(part.call);
    }
    TRY(replace_parts(result_.body, program_input(result_.body), calls, effects_));
    return std::move(result_);
  }

 private:
  Status add_whole(CompiledFunction whole) {
    const Graph& graph = whole.problem->graph;
    if (graph.nodes.empty()) return {};
    return add({name_, {{}, {}, names_of(graph, graph.inputs), names_of(graph, graph.outputs)}, std::move(whole)},
               std::nullopt);
  }

  Status add_parts(const CompiledFunction& whole) {
    std::vector<Candidate> candidates = TRY(compile_parts(find_parts(whole)));
    if (candidates.empty()) return {};
    const TemporaryFile program = TRY(write_program(candidates));
    for (Candidate& one : candidates) {
      const Graph& graph = one.function.problem->graph;
      const Result<TimesInTensorFlow> times = tools_.timer.graphs(
          one.part.original, graph_of_call(program.path(), one.name, graph, tools_.request.threads), sample_inputs(graph));
      TRY(check_not_cancelled(tools_.services.observer));
      if (const std::string why = why_not(times); !why.empty())
        result_.kept.push_back(fmt::format("{} nodes from '{}' on: {}", one.part.original.nodes.size(),
                                           one.part.original.nodes[0].name, why));
      else
        TRY(add(std::move(one), *times));
    }
    return {};
  }

  Result<std::vector<Candidate>> compile_parts(std::vector<BodyPart> parts) {
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string name = parts.size() == 1 ? name_ : fmt::format("{}_part{}", name_, i);
      const CompileRequest request = request_for_part(parts[i], tools_.request, tools_.services);
      PassRunner passes(request, tools_.services);
      const ImportedFunction imported = TRY(import_graph(passes, name, parts[i].graph));
      CompiledFunction function = TRY(compile_function(passes, imported, {}));
      candidates.push_back({name, std::move(parts[i]), std::move(function)});
    }
    return candidates;
  }

  /// Writes a program of the candidates, to time them.
  Result<TemporaryFile> write_program(std::vector<Candidate>& candidates) const {
    TemporaryFile file = TRY(TemporaryFile::make("intarsia-parts"));
    CompileRequest request = tools_.request;
    request.program_path = file.path();
    PassRunner passes(request, tools_.services);
    CompileResult result;
    for (Candidate& one : candidates) result.functions.push_back(std::move(one.function));
    TRY(emit_program(passes, result));
    for (size_t i = 0; i < candidates.size(); ++i) candidates[i].function = std::move(result.functions[i]);
    return file;
  }

  /// Returns why a part with these times stays in TensorFlow; empty if it does not.
  static std::string why_not(const Result<TimesInTensorFlow>& times) {
    if (!times) return fmt::format("it cannot be timed in TensorFlow: {}", times.error().message);
    if (!(times->difference <= tolerated_difference))
      return fmt::format("results would differ by {:.2g} of the largest", times->difference);
    const auto was = static_cast<double>(times->original), is = static_cast<double>(times->rewritten);
    if (is < was * worth_it) return {};
    return fmt::format("it takes {:.3g} ms in TensorFlow, and would take {:.3g} ms", was / 1e6, is / 1e6);
  }

  Status add(Candidate one, std::optional<TimesInTensorFlow> times) {
    const Graph& graph = one.function.problem->graph;
    ReplacedPart part{one.name, result_.body.function, result_.original.signatures,
                      TRY(make_call(one.name, graph, one.part.inputs, one.part.outputs, imported_.sources)),
                      graph.nodes.size(), times};
    result_.parts.push_back(std::move(part));
    result_.functions.push_back(std::move(one.function));
    return {};
  }

  const BodyContext& context_;
  const RewriteTools& tools_;
  EffectFinder effects_;
  const std::string name_;  // of the program's function, or the prefix of several
  ImportedBody imported_;
  RewrittenBody result_;
};

}  // namespace

Result<RewrittenBody> rewrite_body(const SignatureBody& original, const BodyContext& context,
                                   const RewriteTools& tools, const Progress& progress) {
  return BodyRewriter(original, context, tools).run(progress);
}

}  // namespace intarsia
