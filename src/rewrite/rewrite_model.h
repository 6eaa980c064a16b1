// Rewriting of a SavedModel, or of a frozen GraphDef, so that nodes of type Intarsia compute what a program
// computes faster than TensorFlow.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "compile/compile_request.h"
#include "rewrite/model_files.h"
#include "rewrite/replace_parts.h"

namespace intarsia {

/// Nodes that a function of another program takes the place of.
struct Replacement {
  std::string scope;     // node, scope of nodes' names, or function of the model
  std::string program;   // path
  std::string function;  // empty: the only one
};

struct RewriteRequest {
  CompileRequest compile;               // of the model; its paths of results count for nothing
  std::string output;                   // folder to be made, or file for a frozen GraphDef
  bool replaces = false;                // whether it may take the place of an older one
  bool keeps_variables = false;         // whether variables that nothing reads any more stay
  int threads = 0;                      // the most that a node uses; 0: what TensorFlow's process says
  std::vector<NamedValue> inputs = {};  // values to time signatures with; others are filled
  std::vector<Replacement> replacements = {};
};

/// Input of a run that is timed.
struct TimedInput {
  std::string name;
  DType dtype;
  Shape shape;
};

/// Times of two models in TensorFlow, in nanoseconds of a run, and how much their results differ.
struct TimesInTensorFlow {
  int64_t original = 0, rewritten = 0;
  std::string fault;                    // why the rewritten model does not run; empty if it does
  double difference = 0;                // the largest, relative to the largest element of a result
  std::vector<TimedInput> inputs = {};  // of a model; empty for graphs
};

/// Two models to time.
struct ModelsToTime {
  std::string original, rewritten, signature;
  const std::vector<NamedValue>& samples;  // values of inputs; those of others do not matter
};

/// TensorFlow, to time in: two at a time, in turns, with equal inputs. Errors: the original does not run.
struct TensorFlowTimer {
  std::function<Result<TimesInTensorFlow>(const ModelsToTime& models)> models;
  /// Times graphs of TensorFlow's operators, with their inputs in order.
  std::function<Result<TimesInTensorFlow>(const Graph& original, const Graph& rewritten,
                                          const std::vector<NamedValue>& inputs)>
      graphs;
  /// Runs a graph of TensorFlow's operators; returns its outputs by the names of values.
  std::function<Result<std::vector<NamedValue>>(const Graph& graph, const std::vector<NamedValue>& inputs)>
      run;
};

/// Largest difference between results of a model and of the rewritten one.
inline constexpr double tolerated_difference = 1e-3;
inline double tolerated_difference_of(const CompileRequest& compile) {
  return std::max(tolerated_difference, rounding_tolerance(compile.rounds_to));
}

/// Part of the model that a function of the program computes.
struct ReplacedPart {
  std::string function;  // of the program
  std::string where;     // function of the model; empty for its own graph
  std::vector<std::string> signatures;
  ProgramCall call;
  size_t nodes = 0;                                       // of the model's graph as imported
  std::vector<std::pair<std::string, size_t>> operators;  // of the nodes, most frequent first
  std::optional<TimesInTensorFlow> times = {};            // of the part alone; absent for a whole body
  std::string scope = {}, program = {};  // as the request names them; empty for compiled parts

  bool is_by_hand() const { return !program.empty(); }
};

/// Returns how many of these operators there are of each, most frequent first.
std::vector<std::pair<std::string, size_t>> count_operators(const std::vector<std::string>& operators);

/// Part of the model that stays as it is.
struct KeptPart {
  std::vector<std::string> signatures;  // those that run it
  std::string what;                     // "9 nodes from 'x' on"; empty: all that they run
  std::string why;
};

struct RewriteReport {
  std::vector<ReplacedPart> parts;
  std::vector<KeptPart> kept;
  struct Timed {
    std::string signature;
    TimesInTensorFlow times;
    std::string why_not;  // reason why it has no times
  };
  std::vector<Timed> signatures;
  std::vector<std::string> dropped;  // tensors of the checkpoint that nothing reads any more
  ModelBytes before, after;
  int threads = 0;        // of the runs that were timed
  std::string processor;  // that they ran on
  double seconds = 0;
};

/// Rewrites the model; the result appears whole or not at all. A part is replaced only where a plan by
/// measured times takes it from TensorFlow, and a model only where that makes some signature faster in
/// TensorFlow and none slower; else the result is the model as it is. Errors: a model that is rewritten
/// already, an output that exists, or cannot be written; those of the importer for files that are damaged.
Result<RewriteReport> rewrite_model(const RewriteRequest& request, const CompileServices& services,
                                    const TensorFlowTimer& timer);

/// Returns the report as docs/json.md describes it.
nlohmann::ordered_json describe_rewrite(const RewriteReport& report);

}  // namespace intarsia
