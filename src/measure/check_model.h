// Comparison of a program's outputs with those of another runtime.
#pragma once

#include <functional>
#include <map>
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

/// Another way to run a function of a whole model (of a SavedModel: a signature). An output that is a
/// sequence comes as its elements "NAME[0]", "NAME[1]".
struct Oracle {
  std::string name;  // "onnxruntime"
  std::function<Result<std::vector<NamedValue>>(const std::string& model_path, const std::string& function,
                                                std::span<const NamedValue> inputs)>
      run;
  /// Runs a graph, to find what the values within an imported model should be.
  std::function<Result<std::vector<NamedValue>>(const Graph& graph, std::span<const NamedValue> inputs)>
      run_graph;
  /// Oracle that takes its place where it cannot run the model; null: that is an error.
  std::shared_ptr<const Oracle> substitute = {};
};

struct CheckRequest {
  std::string path;        // model, which is compiled first, or program
  std::string model_path;  // model that a program is compared with; empty: the one it was compiled from
  CompileRequest compile;  // options to compile a model with; its paths are ignored. Shapes of a program
                           // are numbers, at which inputs that are not given are filled
  std::vector<NamedValue> inputs;  // given inputs; others are filled (fill_tensor)
  Tolerance tolerance;
  BindOptions bind;
  bool all_alternatives = true;  // whether each plan of the program is compared, not only the first
  bool several_sizes = true;     // whether open sizes have other values, too, if no input is given
};

struct CheckTools {
  const CompileServices& compile;
  std::span<const RunBackend> backends;
  Oracle oracle;

  /// Returns the oracle, or its substitute, of this name.
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
  /// Change of the oracle's own result when the floats of the inputs, or else weights, change by a relative
  /// `nudge` (nudge_inputs.h); for an output that is not ok. Not ok itself: the model is ill-conditioned.
  /// nullopt: not measured.
  std::optional<Difference> sensitivity;
};

/// Plan of a program.
struct CheckedPlan {
  uint32_t number = 0;                // number of the alternative; 0: the preferred plan
  std::string targets = {};           // "halide@cpu + reference@cpu"
  std::optional<Error> absence = {};  // reason why it cannot run here; nullopt: it was compared
  std::optional<Error> failure = {};  // error of its run at sizes that the oracle runs
  std::vector<CheckedOutput> outputs = {};

  bool ok() const;  // whether a compared plan runs, and its values agree
};

/// Comparison at one combination of open sizes.
struct CheckedSizes {
  std::vector<std::pair<std::string, int64_t>> sizes;  // by symbol
  std::string why_not = {};  // reason why nothing was compared: left out, or the oracle refuses the sizes
  std::vector<CheckedPlan> plans = {};  // plans that were compared

  bool ok() const;  // whether all plans are ok
};

struct CheckResult {
  bool ok = false;  // whether all compared plans are ok
  int threads = 0;  // threads of a run
  std::string model_path;
  std::string function;  // function that was run
  std::string against;   // oracle that ran
  std::vector<CheckedInput> inputs;
  std::vector<CheckedOutput> outputs;  // outputs of the first plan that can run here
  std::vector<CheckedPlan> plans;      // plans in order of preference
  std::vector<CheckedSizes> sizes;     // open sizes: those of `inputs`, then others; empty if none is open
  /// Inputs at the first of `sizes` at which the first plan is wrong; empty if there are none.
  std::vector<NamedValue> bad_inputs;
  /// Shapes of a program's inputs as a compile takes them, with its open sizes.
  std::map<std::string, RequestedShape> shapes;
  std::string first_bad_node;         // result of find_first_bad_node(), if it was called
  std::vector<std::string> warnings;  // outputs that hardly depend on the inputs; a substitute
};

/// Checks a model or a program; for a program, also the constants' digests and that the model is the one it
/// was compiled from (unless request.model_path names another). Every plan that the program carries is bound
/// on its own and runs on the same inputs; those whose libraries or devices are missing are named if some
/// plan can run. A function with open sizes is compared at several (choose_sizes_to_check) if no input is
/// given; other sizes than the first may be refused by the oracle. A mismatch is a result, not an error.
Result<CheckResult> check_model(const CheckRequest& request, const CheckTools& tools);

/// Returns the object of `check --json` (docs/json.md).
std::string report_check_json(const CheckResult& result, const CheckRequest& request);

}  // namespace intarsia
