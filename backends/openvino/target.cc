#include "backends/openvino/target.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "backends/openvino/complete_model.h"
#include "backends/openvino/node_rules.h"
#include "backends/openvino/session.h"
#include "onnx/probe_node.h"
#include "onnx/unfold_constants.h"
#include "onnx/write_onnx_model.h"
#include "onnx_region/region_model.h"

namespace intarsia {
namespace openvino {
namespace {

/// Compiles with one thread: only acceptance matters, and the library's workers would stay.
Result<std::shared_ptr<const ModelSession>> try_model(const OnnxModel& model, const std::string& device) {
  std::vector<ConstTensorView> constants;
  for (const Tensor& constant : model.constants) constants.push_back(constant.view());
  return ModelSession::from_bytes(TRY(complete_model({model.bytes, model.constant_names, constants})),
                                  {.threads = 1, .device = device});
}

std::string print_port(const PortType& port) {
  return fmt::format("{} {}", dtype_name(port.dtype), port.shape ? print_shape(*port.shape) : "of any rank");
}

bool is_same(const PortType& port, const ValueType& want) {
  if (port.dtype != want.dtype || !port.shape || !want.shape || port.shape->size() != want.shape->size())
    return false;
  for (size_t i = 0; i < port.shape->size(); ++i) {
    const Dim& size = (*want.shape)[i];
    const int64_t made = (*port.shape)[i];
    if (made >= 0 && size.is_number() && size.number() != made) return false;
  }
  return true;
}

bool is_used(const Graph& graph, ValueId value) {
  return std::ranges::find(graph.outputs, value) != graph.outputs.end() ||
         std::ranges::any_of(graph.nodes, [&](const Node& node) {
           const std::vector<ValueId> reads = values_read(node);
           return std::ranges::find(reads, value) != reads.end();
         });
}

/// Checks that the last ports of OpenVINO's model have the types of the graph's outputs.
Status compare_outputs(const std::vector<PortType>& ports, const Graph& graph,
                       const std::vector<ValueId>& outputs) {
  size_t at = ports.size();
  for (size_t i = outputs.size(); i-- > 0;) {
    if (outputs[i] == no_value) continue;
    const Value& value = graph.value(outputs[i]);
    if (at == 0) return fail("OpenVINO's model lacks the output '{}'", value.name);
    if (const PortType& port = ports[--at]; !is_same(port, value.type) && is_used(graph, outputs[i])) {
      return fail("OpenVINO makes output '{}' {}, want {}", value.name, print_port(port),
                  print_type(value.type));
    }
  }
  return {};
}

/// Checks the number of inputs: the library drops those that it does not use, and does not say which.
Status check_inputs(const ModelSession& session, size_t want) {
  if (session.inputs().size() == want) return {};
  return fail("OpenVINO uses {} of {} inputs", session.inputs().size(), want);
}

class OpenVinoTarget : public Target {
 public:
  OpenVinoTarget()
      : Target({.name = "openvino",
                .device_kinds = {"cpu", "sim", "openvino"},
                .code_generation = "1",
                .needs_framework = true,
                .has_one_pool = true}) {}

  std::string version() const override {
    const auto library = Library::get();
    return library ? (*library)->version() : std::string();
  }

  Support supports(const Graph& graph, NodeId id, const TargetDevice& device) const override {
    if (const Support known = computes_exactly(graph, graph.node(id)); !known.yes) return known;
    if (Result<const Library*> library = Library::get(); !library)
      return Support::refused(library.error().message);
    const Status taken = accepts(graph, id, {.keep_sizes = true}, device_of(device.name));
    if (taken) return Support::supported();
    const Status with_constants =
        accepts(graph, id, {.keep_constants = true, .keep_sizes = true}, device_of(device.name));
    return with_constants ? Support::supported() : Support::refused(with_constants.error().message);
  }

  Result<CompiledRegion> compile(const Graph& region, const TargetDevice& device,
                                 const CompileOptions& options) const override {
    OnnxModel model = TRY(write_onnx_model(unfold_constants(region), LargeConstants::left_out));
    if (!options.is_loaded_next) TRY(check_region(model, region, device_of(device.name)));
    CompiledRegion compiled;
    compiled.blob = encode_region_model(model.bytes, model.constant_names, options.rounds_to == DType::bf16);
    compiled.constants = std::move(model.constants);
    compiled.kernels = static_cast<int>(region.nodes.size());
    return compiled;
  }

 private:
  using Ports = Result<std::vector<PortType>>;  // types of outputs

  Status check_region(const OnnxModel& model, const Graph& region, const std::string& device) const {
    const auto session = TRY(with_context(try_model(model, device), "OpenVINO {} refuses the region '{}'",
                                          version(), region.name));
    TRY(check_inputs(*session, region.inputs.size()));
    return compare_outputs(session->outputs(), region, region.outputs);
  }

  Status accepts(const Graph& graph, NodeId id, ProbeOptions options, const std::string& device) const {
    const Graph probe = make_probe(graph, id, options);
    const Ports& outputs =
        ask(TRY(write_onnx_model(probe, LargeConstants::left_out)), probe.inputs.size(), device);
    if (!outputs) return tl::unexpected(outputs.error());
    return compare_outputs(*outputs, graph, graph.node(id).outputs);
  }

  static Ports try_probe(const OnnxModel& probe, size_t inputs, const std::string& device) {
    const auto session = TRY(try_model(probe, device));
    TRY(check_inputs(*session, inputs));
    return session->outputs();
  }

  /// Returns the types of the model's outputs. Answers are cached by device and model: equal nodes ask once.
  const Ports& ask(const OnnxModel& probe, size_t inputs, const std::string& device) const {
    const std::string key = device + '\n' + probe.bytes;
    {
      std::lock_guard lock(mutex_);
      if (auto at = answers_.find(key); at != answers_.end()) return at->second;
    }
    Ports answer = try_probe(probe, inputs, device);
    std::lock_guard lock(mutex_);
    return answers_.emplace(key, std::move(answer)).first->second;
  }

  mutable std::mutex mutex_;  // guards answers_, which only grow
  mutable std::map<std::string, Ports> answers_;
};

}  // namespace
}  // namespace openvino

std::unique_ptr<Target> make_openvino_target() { return std::make_unique<openvino::OpenVinoTarget>(); }

}  // namespace intarsia
