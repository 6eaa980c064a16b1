// Compares a program's outputs with those of another runtime.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compile/compile_model.h"
#include "measure/compare_tensors.h"
#include "measure/evaluate_graph.h"
#include "runtime/bind_program.h"

namespace intarsia {

/// Runs a function of a whole model some other way (of a SavedModel: a signature). An output that is a
/// sequence comes as its elements "NAME[0]", "NAME[1]".
struct Oracle {
  std::string name;  // "onnxruntime"
  std::function<Result<std::vector<NamedValue>>(const std::string& model_path, const std::string& function,
                                                std::span<const NamedValue> inputs)>
      run;
  /// The same for a graph: what the values within an imported model should be.
  std::function<Result<std::vector<NamedValue>>(const Graph& graph, std::span<const NamedValue> inputs)>
      run_graph;
  /// Takes its place where it cannot run the model; null: that is an error.
  std::shared_ptr<const Oracle> substitute = {};
};

struct CheckRequest {
  std::string path;                // a model, which is compiled first, or a program
  std::string model_path;          // what a program is compared with; empty: the model it was compiled from
  CompileRequest compile;          // how a model is compiled; its paths are ignored
  std::vector<NamedValue> inputs;  // all other inputs are filled (fill_tensor)
  Tolerance tolerance;
  BindOptions bind;
  bool all_alternatives = true;  // each plan that the program carries is compared, not only the first
};

struct CheckTools {
  const BackendRegistry& compile;
  std::span<const RunBackend> backends;
  Oracle oracle;

  /// The oracle, or its substitute, of this name.
  const Oracle& oracle_named(const std::string& name) const;
};

struct CheckedInput {
  std::string name, dtype;
  Shape shape;
  bool filled = false;
};

struct CheckedOutput {
  std::string name;
  Difference difference;
  /// For an output that is not ok: how much the oracle's own result changes when the floats of the inputs
  /// change by a relative `nudge` (nudge_inputs.h). Not ok itself: the model is ill-conditioned. None: not
  /// measured.
  std::optional<Difference> sensitivity;
};

/// One of the plans of a program.
struct CheckedPlan {
  uint32_t number = 0;                // 0: the one that is preferred; else that of the alternative
  std::string targets = {};           // "halide@cpu + reference@cpu"
  std::optional<Error> absence = {};  // why it cannot run here and was not compared; nothing: it was
  std::vector<CheckedOutput> outputs = {};

  bool ok() const;  // of one that was compared
};

struct CheckResult {
  bool ok = false;  // of all plans that were compared
  int threads = 0;  // of a run
  std::string model_path;
  std::string function;  // the function that was run
  std::string against;   // the oracle that ran
  std::vector<CheckedInput> inputs;
  std::vector<CheckedOutput> outputs;  // of the first plan that can run here
  std::vector<CheckedPlan> plans;      // in order of preference
  std::string first_bad_node;          // what find_first_bad_node found, if it was called
  std::vector<std::string> warnings;   // outputs that hardly depend on the inputs; a substitute
};

/// For a program, also checks the constants' digests and that the model is the one it was compiled from
/// (unless request.model_path names another). Every plan that the program carries is bound by itself and runs
/// on the same inputs; those whose libraries or devices are missing are named, as long as some plan can run.
/// A mismatch is a result, not an error.
Result<CheckResult> check_model(const CheckRequest& request, const CheckTools& tools);

/// The object of `check --json` (docs/json.md).
std::string report_check_json(const CheckResult& result, const CheckRequest& request);

}  // namespace intarsia
