#include "rewrite/rewrite_body.h"

#include <fnmatch.h>

#include <algorithm>

#include "compile/compile_model.h"
#include "passes/remove_dead_nodes.h"
#include "rewrite/changed_functions.h"
#include "rewrite/find_parts.h"
#include "rewrite/inner_functions.h"
#include "rewrite/sample_inputs.h"
#include "rewrite/written_program.h"
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

std::vector<std::string> operators_of(const Graph& graph) {
  std::vector<std::string> operators;
  for (const Node& node : graph.nodes) operators.push_back(node.op);
  return operators;
}

/// Part that may be replaced.
struct Candidate {
  std::string name;  // of the program's function
  BodyPart part;
  CompiledFunction function;
  std::optional<TimesInTensorFlow> times = {};  // absent for a whole body
};

class BodyRewriter {
 public:
  BodyRewriter(const SignatureBody& original, const BodyContext& context, const RewriteTools& tools)
      : context_(context),
        tools_(tools),
        effects_(context.graph.functions, context.source),
        name_(original.signatures[0]),
        result_{.original = original} {}

  Result<RewrittenBody> run(const Progress& progress) {
    Body whole = result_.original.body;
    TRY(rewrite(whole, name_, tools_.request, progress, &result_.samples));
    if (whole.is_function()) TRY(rewrite_inner(whole));
    return std::move(result_);
  }

 private:
  /// Rewrites functions that loops and branches run, each if all can be given a program, and those that run
  /// within them.
  Status rewrite_inner(const Body& outer) {
    CompileRequest request = tools_.request;
    request.plan_path.clear();
    for (Body& inner : TRY(find_inner_bodies(outer, context_))) {
      const std::string function = inner.function;
      Status done = ChangedFunctions(context_.graph, {inner}).check();
      if (done) done = rewrite(inner, fmt::format("{}_inner{}", name_, inner_++), request, {}, nullptr);
      TRY(check_not_cancelled(tools_.services.observer));
      if (!done) keep(fmt::format("the function '{}'", function), done.error().message);
      TRY(rewrite_inner(inner));
    }
    return {};
  }

  /// Replaces what is faster in a body; `samples` get values of its inputs.
  Status rewrite(Body& body, const std::string& name, const CompileRequest& wanted, const Progress& progress,
                 std::vector<NamedValue>* samples) {
    const ImportedBody imported = TRY(import_body(body, context_));
    if (imported.graph.nodes.empty()) return {};
    const CompileRequest request = TRY(request_for_body(imported.graph, body, effects_, wanted));
    PassRunner passes(request, tools_.services);
    ImportedFunction function = TRY(import_graph(passes, name, imported.graph));
    const std::vector<NamedValue> given = samples != nullptr ? tools_.inputs : std::vector<NamedValue>();
    function.problem = planned_with(*function.problem, sizes_of(function.problem->graph, given));
    CompiledFunction whole = TRY(compile_function(passes, function, progress));
    const std::vector<NamedValue> values = sample_inputs(whole.problem->graph, given);
    if (samples != nullptr) *samples = values;
    const bool is_mixed = uses_tensorflow(whole) || samples == nullptr || imported.has_levels();
    std::vector<Candidate> chosen = is_mixed ? TRY(choose_parts(whole, name, imported.levels, values))
                                             : take_whole(std::move(whole), name);
    return replace(body, imported, std::move(chosen));
  }

  void keep(std::string what, std::string why) {
    result_.kept.push_back({result_.original.signatures, std::move(what), std::move(why)});
  }

  Status replace(Body& body, const ImportedBody& imported, std::vector<Candidate> chosen) {
    std::vector<ProgramCall> calls;
    for (const Candidate& one : chosen) {
      calls.push_back(TRY(make_call(one.name, one.function.problem->graph, one.part.inputs, one.part.outputs,
                                    imported.sources)));
      calls.back().threads = tools_.threads;
      calls.back().program = program_input(program_name(0), body.is_function());
    }
    if (calls.empty()) return {};
    Body changed = body;
    TRY(replace_parts(changed, calls, effects_));
    for (size_t i = 0; i < chosen.size(); ++i) {
      CompiledFunction& function = chosen[i].function;
      const Graph& graph = function.problem->graph;
      result_.parts.push_back({chosen[i].name, body.function, result_.original.signatures,
                               std::move(calls[i]), graph.nodes.size(), count_operators(operators_of(graph)),
                               chosen[i].times});
      result_.functions.push_back(std::move(function));
    }
    body = changed;
    result_.bodies.push_back(std::move(changed));
    return {};
  }

  static std::vector<Candidate> take_whole(CompiledFunction whole, const std::string& name) {
    std::vector<Candidate> chosen;
    const Graph& graph = whole.problem->graph;
    if (graph.nodes.empty()) return chosen;
    BodyPart part{{}, {}, names_of(graph, graph.inputs), names_of(graph, graph.outputs), {}};
    chosen.push_back({name, std::move(part), std::move(whole)});
    return chosen;
  }

  /// Compiles the parts of a plan, and returns those that are faster in TensorFlow than what they replace.
  Result<std::vector<Candidate>> choose_parts(const CompiledFunction& whole, const std::string& name,
                                              const std::map<std::string, uint32_t>& levels,
                                              const std::vector<NamedValue>& samples) {
    std::vector<Candidate> candidates = TRY(compile_parts(find_parts(whole, levels), name)), chosen;
    if (candidates.empty()) return chosen;
    const std::vector<NamedValue> values = values_between(whole.problem->graph, candidates, samples);
    const TemporaryFile program = TRY(write_program(candidates));
    for (Candidate& one : candidates) {
      const Graph& graph = one.function.problem->graph;
      const Graph call = graph_of_call(program.path(), one.name, graph, tools_.request.threads);
      const Result<TimesInTensorFlow> times =
          tools_.timer.graphs(one.part.original, call, sample_inputs(graph, values));
      TRY(check_not_cancelled(tools_.services.observer));
      if (const std::string why = why_not(times); !why.empty()) {
        keep(fmt::format("{} nodes from '{}' on", one.part.original.nodes.size(),
                         one.part.original.nodes[0].name),
             why);
        continue;
      }
      one.times = *times;
      chosen.push_back(std::move(one));
    }
    return chosen;
  }

  /// Returns what the parts read where the body's inputs are the samples, as TensorFlow computes it; no more
  /// than the samples if it does not.
  std::vector<NamedValue> values_between(Graph body, const std::vector<Candidate>& parts,
                                         std::vector<NamedValue> samples) const {
    std::set<std::string> read;
    for (const Candidate& one : parts) read.insert(one.part.inputs.begin(), one.part.inputs.end());
    body.outputs.clear();
    for (size_t i = 0; i < body.values.size(); ++i)
      if (read.contains(body.values[i].name) && body.values[i].producer != no_node)
        body.outputs.push_back(ValueId(i));
    if (body.outputs.empty()) return samples;
    remove_dead_nodes(body);
    complete_copies(body);
    if (Result<std::vector<NamedValue>> made = tools_.timer.run(body, samples))
      std::ranges::move(*made, std::back_inserter(samples));
    return samples;
  }

  Result<std::vector<Candidate>> compile_parts(std::vector<BodyPart> parts, const std::string& prefix) {
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string name = parts.size() == 1 ? prefix : fmt::format("{}_part{}", prefix, i);
      const CompileRequest request = request_for_part(parts[i], tools_.request, tools_.services);
      PassRunner passes(request, tools_.services);
      ImportedFunction imported = TRY(import_graph(passes, name, parts[i].graph));
      imported.problem = planned_with(*imported.problem, parts[i].sizes);
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
  std::string why_not(const Result<TimesInTensorFlow>& times) const {
    if (!times) return fmt::format("it cannot be timed in TensorFlow: {}", times.error().message);
    if (!times->fault.empty()) return fmt::format("it would not run: {}", times->fault);
    if (!(times->difference <= tolerated_difference_of(tools_.request)))
      return fmt::format("results would differ by {:.2g} of the largest", times->difference);
    const auto was = static_cast<double>(times->original), is = static_cast<double>(times->rewritten);
    if (is < was * worth_it) return {};
    return fmt::format("it takes {:.3g} ms in TensorFlow, and would take {:.3g} ms", was / 1e6, is / 1e6);
  }

  const BodyContext& context_;
  const RewriteTools& tools_;
  EffectFinder effects_;
  const std::string name_;  // of the program's function, or the prefix of several
  int inner_ = 0;           // functions within, so far
  RewrittenBody result_;
};

}  // namespace

Result<RewrittenBody> rewrite_body(const SignatureBody& original, const BodyContext& context,
                                   const RewriteTools& tools, const Progress& progress) {
  return BodyRewriter(original, context, tools).run(progress);
}

}  // namespace intarsia
