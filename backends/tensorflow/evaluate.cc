#include "backends/tensorflow/evaluate.h"

#include <algorithm>

#include "backends/tensorflow/write_graph_def.h"

namespace intarsia {
namespace tf {
namespace {

Result<std::vector<OwnedTensor>> wrap_inputs(const Library& library, const Graph& graph,
                                             std::span<const NamedValue> inputs) {
  std::vector<OwnedTensor> wrapped;
  for (ValueId id : graph.inputs) {
    const std::string& name = graph.value(id).name;
    const auto given = std::ranges::find(inputs, name, &NamedValue::name);
    if (given == inputs.end()) return fail("input '{}' is missing", name);
    wrapped.push_back(TRY(with_context(wrap_tensor(library, given->tensor.view()), "input '{}'", name)));
  }
  return wrapped;
}

Result<std::vector<NamedValue>> evaluate(const Library& library, const Graph& graph,
                                         std::span<const NamedValue> inputs) {
  const WrittenGraph written = TRY(write_graph_def(graph));
  const RegionSession region = TRY(open_region(library, as_region(written), 1));
  const std::vector<OwnedTensor> wrapped = TRY(wrap_inputs(library, graph, inputs));
  std::vector<TF_Tensor*> fed, made(region.outputs.size(), nullptr);
  for (const OwnedTensor& tensor : wrapped) fed.push_back(tensor.get());
  TRY(region.session->run(region.inputs, fed, region.outputs, made));
  std::vector<OwnedTensor> owned;
  for (TF_Tensor* tensor : made) owned.emplace_back(tensor, DeleteTensor{&library});
  std::vector<NamedValue> outputs;
  for (size_t i = 0; i < owned.size(); ++i) {
    const std::string& name = graph.value(graph.outputs[i]).name;
    outputs.push_back(
        {name, TRY(with_context(adopt_tensor(library, std::move(owned[i])), "output '{}'", name))});
  }
  return outputs;
}

}  // namespace
}  // namespace tf

Result<std::vector<NamedValue>> evaluate_with_tensorflow(const Graph& graph,
                                                         std::span<const NamedValue> inputs,
                                                         const std::vector<std::string>& op_libraries) {
  const tf::Library& library = *TRY(tf::Library::get());
  for (const std::string& path : op_libraries) TRY(library.load_operators(path));
  return with_context(tf::evaluate(library, graph, inputs), "TensorFlow {}", library.version());
}

}  // namespace intarsia
