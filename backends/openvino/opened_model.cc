#include "backends/openvino/opened_model.h"

#include <charconv>
#include <cstring>

#include "backends/openvino/tensor.h"
#include "base/files/regular_file.h"

namespace intarsia::openvino {

OpenedModel::OpenedModel(const Library& library)
    : library_(&library),
      core_(nullptr, library.api().ov_core_free),
      model_(nullptr, library.api().ov_model_free),
      compiled_(nullptr, library.api().ov_compiled_model_free) {}

/// Reads the model and gives it the inputs' shapes.
Status OpenedModel::read(const std::string& path, std::span<const NamedValue> inputs) {
  const Api& api = library_->api();
  Core* core = nullptr;
  TRY(library_->check(api.ov_core_create(&core)));
  core_.reset(core);
  Model* model = nullptr;
  TRY(library_->check(api.ov_core_read_model(core, path.c_str(), nullptr, &model)));
  model_.reset(model);
  size_t count = 0;
  TRY(library_->check(api.ov_model_inputs_size(model, &count)));
  if (count != inputs.size()) return fail("the model has {} inputs, got {}", count, inputs.size());
  std::vector<const char*> names;
  std::vector<std::vector<Range>> sizes;
  std::vector<PartialShape> shapes;
  for (const NamedValue& input : inputs) {
    names.push_back(input.name.c_str());
    std::vector<Range>& fixed = sizes.emplace_back();
    for (const int64_t size : input.tensor.shape()) fixed.push_back({size, size});
    const auto rank = static_cast<int64_t>(fixed.size());
    shapes.push_back({{rank, rank}, fixed.data()});
  }
  return library_->check(api.ov_model_reshape(model, names.data(), shapes.data(), names.size()));
}

Status OpenedModel::compile(const ModelSettings& settings) {
  const Api& api = library_->api();
  const std::string threads = std::to_string(settings.threads);
  const bool one_stream = settings.division == Division::one_stream;
  is_async_ = settings.division == Division::throughput_hint;
  CompiledModel* compiled = nullptr;
  TRY(library_->check(
      api.ov_core_compile_model(core_.get(), model_.get(), "CPU", 6, &compiled, "INFERENCE_PRECISION_HINT",
                                settings.rounds_to_bf16 ? "bf16" : "f32", "INFERENCE_NUM_THREADS",
                                threads.c_str(), one_stream ? "NUM_STREAMS" : "PERFORMANCE_HINT",
                                one_stream  ? "1"
                                : is_async_ ? "THROUGHPUT"
                                            : "LATENCY")));
  compiled_.reset(compiled);
  return {};
}

Result<size_t> OpenedModel::best_request_count() const {
  if (!is_async_) return 1;
  const char* const key = "OPTIMAL_NUMBER_OF_INFER_REQUESTS";
  char* value = nullptr;
  TRY(library_->check(library_->api().ov_compiled_model_get_property(compiled_.get(), key, &value)));
  const std::unique_ptr<const char, void (*)(const char*)> owner(value, library_->api().ov_free);
  size_t count = 0;
  const auto parsed = std::from_chars(value, value + std::strlen(value), count);
  if (parsed.ec != std::errc() || count == 0)
    return fail("OpenVINO's {} is '{}', want a number from 1 on", key, value);
  return count;
}

/// Makes requests, all with the same inputs.
Status OpenedModel::make_requests(size_t count) {
  const Api& api = library_->api();
  for (size_t i = 0; i < count; ++i) {
    InferRequest* request = nullptr;
    TRY(library_->check(api.ov_compiled_model_create_infer_request(compiled_.get(), &request)));
    requests_.emplace_back(request, api.ov_infer_request_free);
    for (const NamedValue& input : inputs_) {
      const Owned<TensorHandle> tensor =
          TRY(with_context(wrap_tensor(*library_, input.tensor.view()), "input '{}'", input.name));
      TRY(with_context(
          library_->check(api.ov_infer_request_set_tensor(request, input.name.c_str(), tensor.get())),
          "input '{}'", input.name));
    }
  }
  return {};
}

Status OpenedModel::run(size_t number) {
  const Api& api = library_->api();
  InferRequest* const request = requests_[number].get();
  if (!is_async_) return library_->check(api.ov_infer_request_infer(request));
  TRY(library_->check(api.ov_infer_request_start_async(request)));
  return library_->check(api.ov_infer_request_wait(request));
}

Result<OpenedModel> OpenedModel::open(const std::string& model_path, std::span<const NamedValue> inputs,
                                      const ModelSettings& settings) {
  TRY(check_regular_file(model_path));
  OpenedModel model(*TRY(Library::get(Binding::tbbs)));
  TRY(model.read(model_path, inputs));
  TRY(model.compile(settings));
  model.inputs_.assign(inputs.begin(), inputs.end());
  TRY(model.make_requests(TRY(model.best_request_count())));
  return model;
}

Result<std::vector<NamedValue>> OpenedModel::outputs() const {
  const Api& api = library_->api();
  size_t count = 0;
  TRY(library_->check(api.ov_model_outputs_size(model_.get(), &count)));
  std::vector<NamedValue> outputs;
  for (size_t i = 0; i < count; ++i) {
    Port* port = nullptr;
    TRY(library_->check(api.ov_model_const_output_by_index(model_.get(), i, &port)));
    const Owned<Port> port_owner(port, api.ov_output_const_port_free);
    char* name = nullptr;
    TRY(library_->check(api.ov_port_get_any_name(port, &name)));
    const std::unique_ptr<const char, void (*)(const char*)> name_owner(name, api.ov_free);

    TensorHandle* tensor = nullptr;
    TRY(library_->check(api.ov_infer_request_get_output_tensor_by_index(requests_[0].get(), i, &tensor)));
    std::shared_ptr<void> owner(tensor,
                                [&api](void* p) { api.ov_tensor_free(static_cast<TensorHandle*>(p)); });
    TensorView view = TRY(with_context(view_tensor(*library_, tensor), "output '{}'", name));
    outputs.push_back({name, Tensor(std::move(view), std::move(owner))});
  }
  return outputs;
}

}  // namespace intarsia::openvino
