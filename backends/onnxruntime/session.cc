#include "backends/onnxruntime/session.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace intarsia::ort {
namespace {

constexpr int all_optimizations = 99, no_optimizations = 0;

struct ReleaseOptions {
  const Api* api;
  void operator()(SessionOptions* options) const { api->release_session_options(options); }
};
using OwnedOptions = std::unique_ptr<SessionOptions, ReleaseOptions>;

/// Returns the affinities of the library's workers, each to the whole core set; the library counts CPUs from
/// 1.
std::string affinities(const CoreSet& cores, int workers) {
  std::string text;
  for (int core : cores.numbers()) text += fmt::format("{}{}", text.empty() ? "" : ",", core + 1);
  return fmt::format("{}", fmt::join(std::vector<std::string>(static_cast<size_t>(workers), text), ";"));
}

/// Returns the pool that the session can share with others: one that spins has its own.
SharedPool wanted_pool(const SessionSettings& settings) {
  if (settings.spin || settings.threads < 2) return {};
  return {settings.threads, settings.cores == nullptr ? std::nullopt : std::optional(*settings.cores)};
}

Status set_threads(const Library& library, SessionOptions* options, const SessionSettings& settings,
                   const SharedPool& pool) {
  const Api& api = library.api();
  if (pool.threads > 1 && pool == wanted_pool(settings)) return library.check(api.use_pool_of_env(options));
  TRY(library.check(api.set_intra_op_threads(options, settings.threads)));
  TRY(library.check(api.set_inter_op_threads(options, 1)));
  TRY(library.check(
      api.add_config_entry(options, "session.intra_op.allow_spinning", settings.spin ? "1" : "0")));
  if (settings.cores == nullptr || settings.threads < 2) return {};
  return library.check(api.add_config_entry(options, "session.intra_op_thread_affinities",
                                            affinities(*settings.cores, settings.threads - 1).c_str()));
}

Result<OwnedOptions> make_options(const Library& library, const SessionSettings& settings,
                                  const SharedPool& pool) {
  const Api& api = library.api();
  SessionOptions* raw = nullptr;
  TRY(library.check(api.create_session_options(&raw)));
  OwnedOptions options(raw, {&api});
  TRY(set_threads(library, raw, settings, pool));
  TRY(library.check(api.set_log_level(raw, log_level_error)));
  TRY(library.check(
      api.set_optimization_level(raw, settings.optimize ? all_optimizations : no_optimizations)));
  if (!settings.optimize) TRY(library.check(api.add_config_entry(raw, "session.disable_prepacking", "1")));
  if (!settings.profile.empty()) TRY(library.check(api.enable_profiling(raw, settings.profile.c_str())));
  return options;
}

Result<TensorView> describe_tensor(const Library& library, const Value* value) {
  const Api& api = library.api();
  TensorInfo* info = nullptr;
  TRY(library.check(api.tensor_info(value, &info)));
  int dtype = 0;
  size_t rank = 0;
  TensorView view;
  Status status = library.check(api.element_type(info, &dtype));
  if (status) status = library.check(api.rank(info, &rank));
  view.shape.resize(rank);
  if (status) status = library.check(api.sizes(info, view.shape.data(), rank));
  api.release_tensor_info(info);
  if (!status) return tl::unexpected(std::move(status).error());
  if (dtype <= 0 || dtype >= dtype_count)
    return fail("ONNX Runtime returned a tensor of the unknown type {}", dtype);
  view.dtype = static_cast<DType>(dtype);
  return view;
}

Result<OwnedValue> copy_string_tensor(const Library& library, const ConstTensorView& tensor) {
  const Api& api = library.api();
  Value* raw = nullptr;
  TRY(library.check(api.create_tensor(library.allocator(), tensor.shape.data(), tensor.shape.size(),
                                      static_cast<int>(DType::string), &raw)));
  OwnedValue value(raw, {&library});
  size_t i = 0;
  for (const std::string& text : tensor.as<std::string>()) {
    char* buffer = nullptr;
    TRY(library.check(api.string_buffer(raw, i++, text.size(), &buffer)));
    text.copy(buffer, text.size());
  }
  return value;
}

}  // namespace

Result<OwnedValue> wrap_tensor(const Library& library, const ConstTensorView& tensor) {
  if (tensor.dtype == DType::string) return copy_string_tensor(library, tensor);
  static char nothing;  // an empty tensor may have no memory, but the library wants an address
  void* data = tensor.data != nullptr ? const_cast<void*>(tensor.data) : &nothing;  // the C API has no const
  Value* raw = nullptr;
  TRY(library.check(library.api().create_tensor_on_data(library.cpu_memory(), data, tensor.bytes(),
                                                        tensor.shape.data(), tensor.shape.size(),
                                                        static_cast<int>(tensor.dtype), &raw)));
  return OwnedValue(raw, {&library});
}

Status copy_strings(const Library& library, const Value* value, const TensorView& to) {
  const TensorView made = TRY(describe_tensor(library, value));
  if (made.dtype != to.dtype || made.shape != to.shape) {
    return fail("ONNX Runtime returned {} {}, want {} {}", dtype_name(made.dtype), print_shape(made.shape),
                dtype_name(to.dtype), print_shape(to.shape));
  }
  size_t i = 0;
  for (std::string& text : to.as<std::string>()) {
    size_t bytes = 0;
    TRY(library.check(library.api().string_length(value, i, &bytes)));
    text.resize(bytes);
    TRY(library.check(library.api().string_content(value, bytes, i++, text.data())));
  }
  return {};
}

std::shared_ptr<void> share_value(OwnedValue value, std::shared_ptr<const void> keep) {
  const Library* library = value.get_deleter().library;
  return {value.release(), [library, keep = std::move(keep)](void* p) {
            library->api().release_value(static_cast<Value*>(p));
          }};
}

Result<Tensor> view_tensor(const Library& library, const std::shared_ptr<void>& value) {
  auto* raw = static_cast<Value*>(value.get());
  TensorView view = TRY(describe_tensor(library, raw));
  if (view.dtype == DType::string) {
    Tensor copy(view.dtype, view.shape);
    TRY(copy_strings(library, raw, copy.view()));
    return copy;
  }
  TRY(library.check(library.api().tensor_data(raw, &view.data)));
  return Tensor(std::move(view), value);
}

/// Adds each constant twice: as external data, which the optimizer reads while the session is created, and as
/// a shared initializer, without which the session would keep its own copy.
Status ModelSession::add_constants(SessionOptions* options, const SessionSettings& settings) {
  if (settings.constants.size() != settings.constant_names.size()) {
    return fail("the model wants {} constants, got {}", settings.constant_names.size(),
                settings.constants.size());
  }
  if (settings.constants.empty()) return {};
  std::vector<const char*> names;
  std::vector<const Value*> values;
  for (size_t i = 0; i < settings.constants.size(); ++i) {
    const std::string& name = settings.constant_names[i];
    constants_.push_back(
        TRY(with_context(wrap_tensor(library_, settings.constants[i]), "constant '{}'", name)));
    names.push_back(name.c_str());
    values.push_back(constants_.back().get());
    TRY(library_.check(library_.api().add_initializer(options, names.back(), values.back())));
  }
  return library_.check(
      library_.api().add_external_initializers(options, names.data(), values.data(), names.size()));
}

Status ModelSession::read_ports() {
  const Api& api = library_.api();
  auto read = [&](auto count_of, auto name_of, auto type_of, std::vector<Port>& ports) -> Status {
    size_t count = 0;
    TRY(library_.check(count_of(session_.get(), &count)));
    for (size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      TRY(library_.check(name_of(session_.get(), i, library_.allocator(), &name)));
      Port port{name};
      TRY(library_.check(api.allocator_free(library_.allocator(), name)));
      TypeInfo* type = nullptr;
      TRY(library_.check(type_of(session_.get(), i, &type)));
      Status status = library_.check(api.type_kind(type, &port.kind));
      api.release_type(type);
      TRY(status);
      ports.push_back(std::move(port));
    }
    return {};
  };
  TRY(read(api.input_count, api.input_name, api.input_type, inputs_));
  TRY(read(api.output_count, api.output_name, api.output_type, outputs_));
  for (const Port& port : inputs_) input_names_.push_back(port.name.c_str());
  for (const Port& port : outputs_) output_names_.push_back(port.name.c_str());
  return {};
}

template <typename Create>
Result<std::shared_ptr<const ModelSession>> ModelSession::make(const SessionSettings& settings,
                                                               Create create) {
  const Library& library = *TRY(Library::get());
  std::shared_ptr<ModelSession> session(new ModelSession(library));
  session->environment_ = TRY(library.environment(wanted_pool(settings)));
  const Environment& environment = *session->environment_;
  const OwnedOptions options = TRY(make_options(library, settings, environment.pool));
  TRY(session->add_constants(options.get(), settings));
  Session* raw = nullptr;
  TRY(library.check(create(library, environment.env, options.get(), &raw)));
  session->session_.reset(raw);
  TRY(session->read_ports());
  return session;
}

Result<std::shared_ptr<const ModelSession>> ModelSession::from_bytes(std::string_view model,
                                                                     const SessionSettings& settings) {
  return make(settings,
              [&](const Library& library, const Env* env, const SessionOptions* options, Session** out) {
                return library.api().create_session_from_array(env, model.data(), model.size(), options, out);
              });
}

Result<std::shared_ptr<const ModelSession>> ModelSession::from_file(const std::string& path,
                                                                    const SessionSettings& settings) {
  return make(settings,
              [&](const Library& library, const Env* env, const SessionOptions* options, Session** out) {
                return library.api().create_session(env, path.c_str(), options, out);
              });
}

Status ModelSession::run(std::span<const Value* const> inputs, std::span<Value*> outputs) const {
  const char* const* names = input_names_.data();
  std::vector<const char*> present_names;
  std::vector<const Value*> present;
  if (std::ranges::find(inputs, nullptr) != inputs.end()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr) continue;
      present_names.push_back(names[i]);
      present.push_back(inputs[i]);
    }
    inputs = present;
    names = present_names.data();
  }
  return library_.check(library_.api().run(session_.get(), nullptr, names, inputs.data(), inputs.size(),
                                           output_names_.data(), outputs.size(), outputs.data()));
}

Result<std::string> ModelSession::end_profiling() const {
  char* file = nullptr;
  TRY(library_.check(library_.api().end_profiling(session_.get(), library_.allocator(), &file)));
  const std::string path = file;
  TRY(library_.check(library_.api().allocator_free(library_.allocator(), file)));
  return path;
}

Result<TypeInfo*> ModelSession::output_type(size_t i) const {
  TypeInfo* type = nullptr;
  TRY(library_.check(library_.api().output_type(session_.get(), i, &type)));
  return type;
}

}  // namespace intarsia::ort
