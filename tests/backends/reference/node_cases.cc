// Runs ONNX node tests on the shape rules and the reference kernels.
//
//   node_cases [--filter SUBSTRING] [--quiet] FOLDER...
//
// A FOLDER contains model.onnx and test_data_set_N/{input,output}_N.pb, or folders that do (see
// tests/support/dump_node_cases.py). Each case is checked node by node: the rule's types must agree with the
// kernel's outputs, and the graph's outputs with the files. Prints PASS, FAIL or UNSUPPORTED and the name,
// one line per case; --quiet omits the passes. The exit status is 1 if a case failed, or none passed.
//
// Covers: backends/reference/ kernel_call.cc
// src/graph/ op_table.cc shape_context.cc shape_rules.cc
// src/import/ onnx_tensor.cc
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "backends/reference/kernel_call.h"
#include "backends/reference/kernels/convert.h"
#include "graph/graph.h"
#include "graph/op_table.h"
#include "import/import_onnx.h"
#include "import/onnx_tensor.h"

namespace intarsia {
namespace {

namespace fs = std::filesystem;

enum class Verdict { pass, fail, unsupported };

struct Outcome {
  Verdict verdict = Verdict::pass;
  std::string reason;
};

Outcome failed(std::string reason) { return {Verdict::fail, std::move(reason)}; }
Outcome unsupported(std::string reason) { return {Verdict::unsupported, std::move(reason)}; }

struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-5;
};

// Returns the tolerance of a type. The expected outputs are rounded after every step, ours once at the end:
// two units in the last place (of 2^-10 and 2^-7 relative at most) do not count as a difference.
Tolerance tolerance_of(DType dtype) {
  Tolerance tolerance;
  if (dtype == DType::f16) tolerance.relative = 0x1p-9;
  if (dtype == DType::bf16) tolerance.relative = 0x1p-6;
  return tolerance;
}

bool close(double got, double want, const Tolerance& tolerance) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (got == want) return true;
  return std::fabs(got - want) <= tolerance.absolute + tolerance.relative * std::fabs(want);
}

/// Describes the first difference; empty if there is none.
std::string difference(const TensorView& got, const TensorView& want) {
  if (got.dtype != want.dtype)
    return fmt::format("dtype {}, want {}", dtype_name(got.dtype), dtype_name(want.dtype));
  if (got.shape != want.shape)
    return fmt::format("shape {}, want {}", print_shape(got.shape), print_shape(want.shape));
  if (!is_float(got.dtype)) return same_tensor(got, want) ? "" : "elements differ";
  const auto count = static_cast<size_t>(element_count(got.shape));
  std::vector<double> a(count);
  std::vector<double> b(count);
  reference::read_numbers(got, a.data());
  reference::read_numbers(want, b.data());
  for (size_t i = 0; i < count; ++i) {
    if (!close(a[i], b[i], tolerance_of(got.dtype)))
      return fmt::format("element {} is {}, want {}", i, a[i], b[i]);
  }
  return "";
}

/// Describes how the inferred type disagrees with the computed tensor in its dtype, rank or known sizes;
/// empty if it agrees.
std::string disagreement(const ValueType& inferred, const TensorView& computed) {
  if (inferred.dtype != computed.dtype) {
    return fmt::format("inferred dtype {}, computed {}", dtype_name(inferred.dtype),
                       dtype_name(computed.dtype));
  }
  if (!inferred.shape) return "";
  bool agree = inferred.shape->size() == computed.shape.size();
  for (size_t i = 0; agree && i < computed.shape.size(); ++i) {
    const Dim& dim = (*inferred.shape)[i];
    agree = !dim.is_number() || dim == computed.shape[i];
  }
  if (agree) return "";
  return fmt::format("inferred shape {}, computed {}", print_shape(*inferred.shape),
                     print_shape(computed.shape));
}

/// Values of a run of a graph.
class Run {
 public:
  explicit Run(Graph graph) : graph_(std::move(graph)), values_(graph_.values.size()) {
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = graph_.values[i].constant;
  }

  Outcome feed(const fs::path& data) {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.value(graph_.inputs[i]).type.opaque) return unsupported("an input is not a tensor");
      Result<Tensor> tensor = read_onnx_tensor_file(data / fmt::format("input_{}.pb", i));
      if (!tensor) return unsupported(tensor.error().message);
      values_[index(graph_.inputs[i])] = *tensor;
    }
    return {};
  }

  Outcome run_nodes() {
    for (const Node& node : graph_.nodes) {
      Outcome outcome = run_node(node);
      if (outcome.verdict == Verdict::pass) continue;
      outcome.reason = fmt::format("{}: {}", node.op, outcome.reason);
      return outcome;
    }
    return {};
  }

  Outcome compare(const fs::path& data) const {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const fs::path file = data / fmt::format("output_{}.pb", i);
      if (!fs::exists(file)) continue;
      Result<Tensor> want = read_onnx_tensor_file(file);
      if (!want) return unsupported(want.error().message);
      const std::optional<Tensor>& got = values_[index(graph_.outputs[i])];
      if (!got) return failed(fmt::format("output {} was not computed", i));
      if (random_) {
        if (got->dtype() == want->dtype() && got->shape() == want->shape()) continue;
        return failed(fmt::format("random output {} has another dtype or shape", i));
      }
      const std::string text = difference(got->view(), want->view());
      if (!text.empty()) return failed(fmt::format("output {}: {}", i, text));
    }
    return {};
  }

 private:
  Outcome run_node(const Node& node) {
    const OpInfo* info = find_op(node.domain, node.op);
    if (info == nullptr) return unsupported("no row");
    ShapeContext shapes(graph_, node);
    if (Status status = info->rule(shapes); !status) return failed("shape rule: " + status.error().message);
    const reference::Kernel kernel = reference::find_kernel(node.domain, node.op);
    if (kernel == nullptr) return unsupported("no kernel");
    for (const Attributes::Entry& attribute : node.attributes) {
      if (std::holds_alternative<EncodedAttribute>(attribute.value)) return unsupported("has a subgraph");
    }
    // Dropout without its input training_mode only copies.
    const bool draws = !info->deterministic && !(node.op == "Dropout" && node.inputs.size() < 3);
    random_ = random_ || draws;

    bool constant = !draws;
    std::vector<ConstTensorView> views;
    views.reserve(node.inputs.size());
    std::vector<const ConstTensorView*> inputs;
    for (ValueId id : node.inputs) {
      if (id == no_value) {
        inputs.push_back(nullptr);
        continue;
      }
      if (!values_[index(id)]) return failed("an input was not computed");
      inputs.push_back(&views.emplace_back(values_[index(id)]->view()));
      constant = constant && graph_.value(id).constant;
    }
    std::vector<reference::OutputSlot> outputs(node.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].wanted = node.outputs[i] != no_value;
    if (Status status = reference::call_kernel(kernel, node.attributes, node.version, inputs, outputs);
        !status) {
      return failed(status.error().message);
    }
    return keep_outputs(node, outputs, constant);
  }

  Outcome keep_outputs(const Node& node, const std::vector<reference::OutputSlot>& outputs, bool constant) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].wanted) continue;
      Value& value = graph_.value(node.outputs[i]);
      const std::string text = disagreement(value.type, outputs[i].view);
      if (!text.empty()) return failed(fmt::format("output {}: {}", i, text));
      values_[index(node.outputs[i])] = Tensor(outputs[i].view, outputs[i].owner);
      if (constant) value.constant = values_[index(node.outputs[i])];
    }
    return {};
  }

  Graph graph_;
  std::vector<std::optional<Tensor>> values_;
  bool random_ = false;
};

Outcome run_case(const fs::path& folder) {
  Result<Graph> graph = import_onnx((folder / "model.onnx").string());
  if (!graph) return unsupported("import: " + graph.error().message);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("test_data_set_")) continue;
    Run run(*graph);
    if (Outcome outcome = run.feed(entry.path()); outcome.verdict != Verdict::pass) return outcome;
    if (Outcome outcome = run.run_nodes(); outcome.verdict != Verdict::pass) return outcome;
    if (Outcome outcome = run.compare(entry.path()); outcome.verdict != Verdict::pass) return outcome;
  }
  return {};
}

/// Cases whose stored outputs are for a length of the result before it is rounded down, against the text of
/// the operator and ONNX Runtime.
constexpr std::string_view contradicting_cases[] = {"test_resize_downsample_scales_cubic_align_corners",
                                                    "test_resize_downsample_scales_linear_align_corners"};

Outcome judge_case(const fs::path& folder) {
  if (std::ranges::find(contradicting_cases, folder.filename().string()) != std::end(contradicting_cases))
    return unsupported("its outputs contradict the operator's text");
  return run_case(folder);
}

std::vector<fs::path> find_cases(const fs::path& folder) {
  std::vector<fs::path> cases;
  if (fs::exists(folder / "model.onnx")) {
    cases.push_back(folder);
  } else {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
    }
  }
  std::ranges::sort(cases);
  return cases;
}

struct Counts {
  int passed = 0;
  int failed = 0;
  int unsupported = 0;
};

void report(const std::string& name, const Outcome& outcome, bool quiet, Counts& counts) {
  switch (outcome.verdict) {
    case Verdict::pass:
      ++counts.passed;
      if (!quiet) fmt::print("PASS {}\n", name);
      break;
    case Verdict::fail:
      ++counts.failed;
      fmt::print("FAIL {}: {}\n", name, outcome.reason);
      break;
    case Verdict::unsupported:
      ++counts.unsupported;
      fmt::print("UNSUPPORTED {}: {}\n", name, outcome.reason);
      break;
  }
  std::fflush(stdout);
}

int run_all(const std::vector<std::string>& arguments) {
  std::string filter;
  bool quiet = false;
  std::vector<std::string> folders;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--filter" && i + 1 < arguments.size()) {
      filter = arguments[++i];
    } else if (arguments[i] == "--quiet") {
      quiet = true;
    } else {
      folders.push_back(arguments[i]);
    }
  }
  if (folders.empty()) {
    std::fputs("usage: node_cases [--filter SUBSTRING] [--quiet] FOLDER...\n", stderr);
    return 2;
  }
  Counts counts;
  for (const std::string& folder : folders) {
    for (const fs::path& path : find_cases(folder)) {
      const std::string name = path.filename().string();
      if (name.find(filter) != std::string::npos) report(name, judge_case(path), quiet, counts);
    }
  }
  fmt::print("{} passed, {} failed, {} unsupported\n", counts.passed, counts.failed, counts.unsupported);
  return counts.failed == 0 && counts.passed > 0 ? 0 : 1;
}

}  // namespace
}  // namespace intarsia

int main(int argc, char** argv) { return intarsia::run_all({argv + 1, argv + argc}); }
