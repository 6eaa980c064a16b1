// A model file opened in OpenVINO with one set of inputs, to be run repeatedly.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/openvino/ov_library.h"
#include "base/tensor_view.h"

namespace intarsia::openvino {

/// How OpenVINO divides its threads. Neither is always the faster one.
enum class Division {
  latency_hint,  // it chooses, for the shortest time of one run
  one_stream     // all threads in one run
};

struct ModelSettings {
  int threads = 1;
  Division division = Division::latency_hint;
};

class OpenedModel {
 public:
  /// On the CPU in f32: left alone, the library would compute in bf16 where the CPU can. One tensor for each
  /// of the model's inputs, in any order, whose memory is used in place; sizes that the model leaves open
  /// become theirs. Fails for inputs that are missing, unknown or strings, and with OpenVINO's own message.
  static Result<OpenedModel> open(const std::string& model_path, std::span<const NamedValue> inputs,
                                  const ModelSettings& settings);

  Status run() { return library_->check(library_->api().ov_infer_request_infer(request_.get())); }

  /// Of the last run, in the model's order. Their memory is the model's: the next run overwrites it.
  Result<std::vector<NamedValue>> outputs() const;

  const std::string& version() const { return library_->version(); }

 private:
  explicit OpenedModel(const Library& library);
  Status read(const std::string& path, std::span<const NamedValue> inputs);
  Status compile(const ModelSettings& settings);
  Status set_inputs(std::span<const NamedValue> inputs);

  const Library* library_;
  std::vector<NamedValue> inputs_;  // keeps their memory
  Owned<Core> core_;
  Owned<Model> model_;
  Owned<CompiledModel> compiled_;
  Owned<InferRequest> request_;
};

}  // namespace intarsia::openvino
