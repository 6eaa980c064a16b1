#include "rewrite/rewrite_body.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/fill_tensor.h"
#include "compile/compile_model.h"
#include "passes/index_limits.h"
#include "rewrite/find_parts.h"
#include "rewrite/write_saved_model.h"

namespace intarsia {
namespace {

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

class BodyRewriter {
 public:
  BodyRewriter(const SignatureBody& original, const BodyContext& context, const CompileRequest& request,
               const CompileServices& services)
      : context_(context),
        request_(request),
        services_(services),
        effects_(context.graph.functions, context.source),
        name_(original.signatures[0]),
        result_{original, original.body, {}, {}, {}} {}

  Result<RewrittenBody> run(const Progress& progress) {
    imported_ = TRY(import_body(result_.original.body, context_));
    if (imported_.graph.nodes.empty()) return std::move(result_);
    const CompileRequest request =
        TRY(request_for_body(imported_.graph, result_.original.body, effects_, request_));
    PassRunner passes(request, services_);
    const ImportedFunction imported = TRY(import_graph(passes, name_, imported_.graph));
    CompiledFunction whole = TRY(compile_function(passes, imported, progress));
    result_.samples = sample_inputs(whole.problem->graph);
    if (uses_tensorflow(whole))
      TRY(add_parts(whole));
    else
      TRY(add_whole(std::move(whole)));
    std::vector<ProgramCall> calls;
    for (const ReplacedPart& part : result_.parts) calls.push_back(part.call);
    TRY(replace_parts(result_.body, program_input(result_.body), calls, effects_));
    return std::move(result_);
  }

 private:
  Status add_whole(CompiledFunction whole) {
    const Graph& graph = whole.problem->graph;
    if (graph.nodes.empty()) return {};
    std::vector<std::string> inputs, outputs;
    for (ValueId input : graph.inputs) inputs.push_back(graph.value(input).name);
    for (ValueId output : graph.outputs) outputs.push_back(graph.value(output).name);
    return add(name_, std::move(whole), inputs, outputs);
  }

  Status add_parts(const CompiledFunction& whole) {
    std::vector<BodyPart> parts = find_parts(whole);
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string name = parts.size() == 1 ? name_ : fmt::format("{}_part{}", name_, i);
      const CompileRequest request = request_for_part(parts[i], request_, services_);
      PassRunner passes(request, services_);
      const ImportedFunction imported = TRY(import_graph(passes, name, parts[i].graph));
      TRY(add(name, TRY(compile_function(passes, imported, {})), parts[i].inputs, parts[i].outputs));
    }
    return {};
  }

  Status add(const std::string& name, CompiledFunction function, const std::vector<std::string>& inputs,
             const std::vector<std::string>& outputs) {
    const Graph& graph = function.problem->graph;
    ReplacedPart part{name,
                      result_.body.function,
                      result_.original.signatures,
                      TRY(make_call(name, graph, inputs, outputs, imported_.sources)),
                      graph.nodes.size(),
                      function.chosen.measured};
    result_.parts.push_back(std::move(part));
    result_.functions.push_back(std::move(function));
    return {};
  }

  const BodyContext& context_;
  const CompileRequest& request_;
  const CompileServices& services_;
  EffectFinder effects_;
  const std::string name_;  // of the program's function, or the prefix of several
  ImportedBody imported_;
  RewrittenBody result_;
};

}  // namespace

Result<RewrittenBody> rewrite_body(const SignatureBody& original, const BodyContext& context,
                                   const CompileRequest& request, const CompileServices& services,
                                   Progress progress) {
  return BodyRewriter(original, context, request, services).run(progress);
}

}  // namespace intarsia
