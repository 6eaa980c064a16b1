// A model file opened in OpenVINO with one set of inputs, to be run repeatedly.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/openvino/ov_library.h"
#include "base/tensor_view.h"

namespace intarsia::openvino {

/// How OpenVINO divides its threads. Of the first two neither is always the faster one.
enum class Division {
  latency_hint,    // it chooses, for the shortest time of one run
  one_stream,      // all threads in one run
  throughput_hint  // it chooses, for the most runs in a time: several at once
};

struct ModelSettings {
  int threads = 1;  // of all runs at once
  Division division = Division::latency_hint;
};

class OpenedModel {
 public:
  /// On the CPU in f32: left alone, the library would compute in bf16 where the CPU can. One tensor for each
  /// of the model's inputs, in any order, whose memory is used in place; sizes that the model leaves open
  /// become theirs. Fails for inputs that are missing, unknown or strings, and with OpenVINO's own message.
  static Result<OpenedModel> open(const std::string& model_path, std::span<const NamedValue> inputs,
                                  const ModelSettings& settings);

  /// How many runs may be at a time, each with a number below this.
  size_t request_count() const { return requests_.size(); }
  /// Runs of different numbers may be at the same time, in different threads.
  Status run(size_t request = 0);

  /// Of the last run of number 0, in the model's order. Their memory is the model's: the next run overwrites
  /// it.
  Result<std::vector<NamedValue>> outputs() const;

  const std::string& version() const { return library_->version(); }

 private:
  explicit OpenedModel(const Library& library);
  Status read(const std::string& path, std::span<const NamedValue> inputs);
  Status compile(const ModelSettings& settings);
  Status make_requests(size_t count);
  Result<size_t> best_request_count() const;

  const Library* library_;
  std::vector<NamedValue> inputs_;  // keeps their memory
  Owned<Core> core_;
  Owned<Model> model_;
  Owned<CompiledModel> compiled_;
  std::vector<Owned<InferRequest>> requests_;
  bool is_async_ = false;
};

}  // namespace intarsia::openvino
