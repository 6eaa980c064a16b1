// Owning wrappers of a model compiled by OpenVINO and its requests.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/openvino/library.h"
#include "base/tensor_view.h"

namespace intarsia::openvino {

/// Name of the library's threads in the system.
inline constexpr const char* thread_name = "openvino";

using OwnedRequest = Owned<InferRequest>;

/// Type of a model's input or output, as OpenVINO reports it.
struct PortType {
  DType dtype = DType::undefined;
  std::optional<Shape> shape;  // -1: an open size; nullopt: the rank is open
};

struct SessionSettings {
  int threads = 1;              // threads of one run, including the caller's
  std::string device = "CPU";   // the library's name of the device
  bool counts_time = false;     // requests tell the time of each operator
  bool rounds_to_bf16 = false;  // f32 may be computed in bf16
};

/// Returns the library's name of an executor's device: "GPU" for "openvino:GPU", the CPU for all others.
std::string device_of(const std::string& executor);

/// Lists the library's devices: "CPU", "GPU", "GPU.1", ... Error: the library cannot be opened.
Result<std::vector<std::string>> list_devices();

/// Compiled model, immutable; any number of its requests may run at once.
class ModelSession {
 public:
  /// Compiles a ModelProto, which need not outlive the call, in f32 if not asked otherwise: left alone, the
  /// library would compute in bf16 or f16 where the device can. Error (not_found): there is no such device.
  static Result<std::shared_ptr<const ModelSession>> from_bytes(std::string_view model,
                                                                const SessionSettings& settings);

  const Library& library() const { return library_; }
  const std::vector<PortType>& inputs() const { return inputs_; }
  const std::vector<PortType>& outputs() const { return outputs_; }
  Result<OwnedRequest> make_request() const;

 private:
  explicit ModelSession(const Library& library)
      : library_(library), compiled_(nullptr, library.api().ov_compiled_model_free) {}
  Status compile(std::string_view model, const SessionSettings& settings);
  Status read_ports();

  const Library& library_;
  Owned<CompiledModel> compiled_;
  std::vector<PortType> inputs_, outputs_;
};

}  // namespace intarsia::openvino
