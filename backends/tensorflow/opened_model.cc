#include "backends/tensorflow/opened_model.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "backends/tensorflow/region_session.h"
#include "backends/tensorflow/restore_variables.h"
#include "backends/tensorflow/write_graph_def.h"
#include "base/bytes.h"
#include "base/files/mapped_file.h"

namespace intarsia::tf {
namespace {

Result<std::unique_ptr<Session>> open_session(const Library& library, const ModelLocation& model,
                                              int threads) {
  const SessionSettings settings{threads, true};
  if (!model.files.tags.empty()) return open_saved_model(library, model.files, settings);
  const MappedFile file = TRY(map_file(model.files.folder));
  return Session::from_graph(library, as_text(file.bytes), settings);
}

}  // namespace

Status OpenedModel::set_inputs(const ModelLocation& model, std::span<const NamedValue> inputs) {
  given_.assign(inputs.begin(), inputs.end());
  for (const NamedValue& input : given_) {
    if (std::ranges::find(model.inputs, input.name, &std::pair<std::string, std::string>::first) !=
        model.inputs.end())
      continue;
    std::vector<std::string> names;
    for (const auto& [name, tensor] : model.inputs) names.push_back(name);
    return fail("the model has no input '{}'; its inputs are: {}", input.name, fmt::join(names, ", "));
  }
  for (const auto& [name, tensor] : model.inputs) {
    const auto given = std::ranges::find(given_, name, &NamedValue::name);
    if (given == given_.end()) return fail("input '{}' is missing", name);
    inputs_.push_back(TRY(session_->graph().find(tensor)));
    fed_.push_back(
        TRY(with_context(wrap_tensor(session_->library(), given->tensor.view()), "input '{}'", name)));
  }
  return {};
}

Result<OpenedModel> OpenedModel::open(const ModelLocation& model, std::span<const NamedValue> inputs,
                                      int threads) {
  const Library& library = *TRY(Library::get());
  for (const std::string& path : model.op_libraries) TRY(library.load_operators(path));
  OpenedModel opened;
  opened.session_ = TRY(open_session(library, model, threads));
  TRY(opened.set_inputs(model, inputs));
  for (const auto& [name, tensor] : model.outputs) {
    opened.outputs_.push_back(TRY(opened.session_->graph().find(tensor)));
    opened.output_names_.push_back(name);
  }
  return opened;
}

Result<OpenedModel> OpenedModel::open_graph(const Graph& graph, std::span<const NamedValue> inputs,
                                            const std::vector<std::string>& op_libraries, int threads) {
  const Library& library = *TRY(Library::get());
  for (const std::string& path : op_libraries) TRY(library.load_operators(path));
  const WrittenGraph written = TRY(write_graph_def(graph));
  RegionSession region = TRY(open_region(library, as_region(written), threads));
  OpenedModel opened;
  opened.session_ = std::move(region.session);
  opened.inputs_ = std::move(region.inputs);
  opened.outputs_ = std::move(region.outputs);
  opened.given_.assign(inputs.begin(), inputs.end());
  for (const NamedValue& input : opened.given_)
    opened.fed_.push_back(TRY(wrap_tensor(library, input.tensor.view())));
  if (opened.fed_.size() != opened.inputs_.size())
    return fail("the graph has {} inputs, got {}", opened.inputs_.size(), opened.fed_.size());
  for (ValueId output : graph.outputs) opened.output_names_.push_back(graph.value(output).name);
  return opened;
}

Status OpenedModel::run() {
  std::vector<TF_Tensor*> values, made(outputs_.size(), nullptr);
  for (const OwnedTensor& tensor : fed_) values.push_back(tensor.get());
  made_.clear();
  TRY(session_->run(inputs_, values, outputs_, made));
  for (TF_Tensor* tensor : made) made_.emplace_back(tensor, DeleteTensor{&session_->library()});
  return {};
}

Result<std::vector<NamedValue>> OpenedModel::take_outputs() {
  std::vector<NamedValue> outputs;
  for (size_t i = 0; i < made_.size(); ++i) {
    outputs.push_back(
        {output_names_[i], TRY(with_context(adopt_tensor(session_->library(), std::move(made_[i])),
                                            "output '{}'", output_names_[i]))});
  }
  made_.clear();
  return outputs;
}

}  // namespace intarsia::tf
