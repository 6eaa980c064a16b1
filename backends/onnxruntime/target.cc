#include "backends/onnxruntime/target.h"

#include <map>
#include <mutex>

#include "backends/onnxruntime/infer_types.h"
#include "backends/onnxruntime/session.h"
#include "onnx/probe_node.h"
#include "onnx/unfold_constants.h"
#include "onnx/write_onnx_model.h"
#include "onnx_region/region_model.h"

namespace intarsia {
namespace ort {
namespace {

/// Checks whether ONNX Runtime takes this model, by creating a session and dropping it.
Status try_session(const OnnxModel& model) {
  std::vector<ConstTensorView> constants;
  for (const Tensor& constant : model.constants) constants.push_back(constant.view());
  SessionSettings settings{.optimize = false, .constant_names = model.constant_names, .constants = constants};
  TRY(ModelSession::from_bytes(model.bytes, settings));
  return {};
}

class OnnxRuntimeTarget : public Target {
 public:
  OnnxRuntimeTarget() : Target({.name = "onnxruntime", .code_generation = "1", .needs_framework = true}) {}

  std::string version() const override {
    const auto library = Library::get();
    return library ? (*library)->version() : std::string();
  }

  bool hands_over(const ValueType&) const override { return true; }

  Support supports(const Graph& graph, NodeId node, const TargetDevice&) const override {
    if (Result<const Library*> library = Library::get(); !library)
      return Support::refused(library.error().message);
    const Support support = ask(make_probe(graph, node));
    return support.yes ? support : ask(make_probe(graph, node, {.keep_constants = true}));
  }

  Status infer_types(Graph& graph, NodeId node) const override {
    return infer_types_with_onnxruntime(graph, node);
  }

  Result<CompiledRegion> compile(const Graph& region, const TargetDevice&,
                                 const CompileOptions& options) const override {
    OnnxModel model = TRY(write_onnx_model(unfold_constants(region)));
    if (!options.is_loaded_next)
      TRY(with_context(try_session(model), "ONNX Runtime {} refuses the region '{}'", version(),
                       region.name));
    CompiledRegion compiled;
    compiled.blob = encode_region_model(model.bytes, model.constant_names);
    compiled.constants = std::move(model.constants);
    compiled.kernels = static_cast<int>(region.nodes.size());
    return compiled;
  }

 private:
  /// Asks the library about a probe. Answers are cached by the model itself: equal nodes ask once.
  Support ask(const Graph& probe) const {
    const Result<OnnxModel> model = write_onnx_model(probe);
    if (!model) return Support::refused(model.error().message);
    {
      std::lock_guard lock(mutex_);
      if (auto at = answers_.find(model->bytes); at != answers_.end()) return at->second;
    }
    const Status tried = try_session(*model);
    const Support answer = tried ? Support::supported() : Support::refused(tried.error().message);
    std::lock_guard lock(mutex_);
    return answers_.emplace(model->bytes, answer).first->second;
  }

  mutable std::mutex mutex_;  // guards answers_
  mutable std::map<std::string, Support> answers_;
};

}  // namespace
}  // namespace ort

std::unique_ptr<Target> make_onnxruntime_target() { return std::make_unique<ort::OnnxRuntimeTarget>(); }

}  // namespace intarsia
