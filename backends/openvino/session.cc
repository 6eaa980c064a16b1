#include "backends/openvino/session.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>

#include "backends/openvino/tensor.h"
#include "base/device_name.h"
#include "base/threads/pool_cores.h"

namespace intarsia::openvino {
namespace {

/// Returns the process's only core, made on first use and never freed: what it compiled may outlive every
/// static object.
Result<const Core*> shared_core(const Library& library) {
  static std::mutex mutex;
  static Core* core = nullptr;
  std::lock_guard lock(mutex);
  if (core == nullptr) TRY(library.check(library.api().ov_core_create(&core)));
  return core;
}

Status check_is_listed(const std::string& device) {
  const std::vector<std::string> devices = TRY(list_devices());
  if (std::ranges::find(devices, device) != devices.end()) return {};
  return fail(ErrorKind::not_found, "OpenVINO has no device '{}'; it has {}", device,
              fmt::join(devices, ", "));
}

Result<PortType> read_port(const Library& library, const Port* port) {
  const Api& api = library.api();
  PortType result;
  uint32_t type = 0;
  PartialShape shape{};
  TRY(library.check(api.ov_port_get_element_type(port, &type)));
  TRY(library.check(api.ov_port_get_partial_shape(port, &shape)));
  result.dtype = dtype_of(type);
  if (shape.rank.least == shape.rank.most) {
    result.shape.emplace();
    for (int64_t i = 0; i < shape.rank.most; ++i)
      result.shape->push_back(shape.sizes[i].least == shape.sizes[i].most ? shape.sizes[i].least : -1);
  }
  api.ov_partial_shape_free(&shape);
  return result;
}

}  // namespace

std::string device_of(const std::string& executor) {
  const Result<DeviceName> name = DeviceName::parse(executor);
  return name && name->kind == "openvino" ? name->unit : "CPU";
}

Result<std::vector<std::string>> list_devices() {
  const Library& library = *TRY(Library::get());
  const Core* core = TRY(shared_core(library));
  DeviceList list{};
  TRY(library.check(library.api().ov_core_get_available_devices(core, &list)));
  std::vector<std::string> names(list.names, list.names + list.size);
  library.api().ov_available_devices_free(&list);
  return names;
}

Status ModelSession::compile(std::string_view bytes, const SessionSettings& settings) {
  const Api& api = library_.api();
  const Core* core = TRY(shared_core(library_));
  Model* raw = nullptr;
  TRY(library_.check(
      api.ov_core_read_model_from_memory_buffer(core, bytes.data(), bytes.size(), nullptr, &raw)));
  const Owned<Model> model(raw, api.ov_model_free);
  const char* const counts_time = settings.counts_time ? "YES" : "NO";
  const char* const precision = settings.rounds_to_bf16 ? "bf16" : "f32";
  const char* const mode = settings.rounds_to_bf16 ? "PERFORMANCE" : "ACCURACY";
  CompiledModel* compiled = nullptr;
  if (settings.device == "CPU") {
    const std::string threads = std::to_string(settings.threads);
    constexpr size_t properties = 6;
    TRY(library_.check(api.ov_core_compile_model(
        core, raw, "CPU", 2 * properties, &compiled, "INFERENCE_PRECISION_HINT", precision,
        "EXECUTION_MODE_HINT", mode, "INFERENCE_NUM_THREADS", threads.c_str(), "NUM_STREAMS", "1",
        "ENABLE_CPU_PINNING", "NO", "PERF_COUNT", counts_time)));
  } else {
    TRY(check_is_listed(settings.device));
    constexpr size_t properties = 3;
    TRY(library_.check(api.ov_core_compile_model(core, raw, settings.device.c_str(), 2 * properties,
                                                 &compiled, "INFERENCE_PRECISION_HINT", precision,
                                                 "EXECUTION_MODE_HINT", mode, "PERF_COUNT", counts_time)));
  }
  compiled_.reset(compiled);
  return {};
}

Status ModelSession::read_ports() {
  const Api& api = library_.api();
  const auto read = [&](auto count_of, auto port_at, std::vector<PortType>& ports) -> Status {
    size_t count = 0;
    TRY(library_.check(count_of(compiled_.get(), &count)));
    for (size_t i = 0; i < count; ++i) {
      Port* raw = nullptr;
      TRY(library_.check(port_at(compiled_.get(), i, &raw)));
      const Owned<Port> port(raw, api.ov_output_const_port_free);
      ports.push_back(TRY(read_port(library_, raw)));
    }
    return {};
  };
  TRY(read(api.ov_compiled_model_inputs_size, api.ov_compiled_model_input_by_index, inputs_));
  return read(api.ov_compiled_model_outputs_size, api.ov_compiled_model_output_by_index, outputs_);
}

Result<std::shared_ptr<const ModelSession>> ModelSession::from_bytes(std::string_view model,
                                                                     const SessionSettings& settings) {
  const NamesNewThreads named(thread_name);
  const Library& library = *TRY(Library::get());
  std::shared_ptr<ModelSession> session(new ModelSession(library));
  TRY(session->compile(model, settings));
  TRY(session->read_ports());
  return session;
}

Result<OwnedRequest> ModelSession::make_request() const {
  InferRequest* raw = nullptr;
  TRY(library_.check(library_.api().ov_compiled_model_create_infer_request(compiled_.get(), &raw)));
  return OwnedRequest(raw, library_.api().ov_infer_request_free);
}

}  // namespace intarsia::openvino
