// A model file opened in OpenVINO with one set of inputs, to be run repeatedly.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/openvino/library.h"
#include "base/tensor_view.h"

namespace intarsia::openvino {

/// Division of OpenVINO's threads. Neither of the first two is always the faster one.
enum class Division {
  latency_hint,    // OpenVINO chooses, for the shortest time of one run
  one_stream,      // threads all work on one run
  throughput_hint  // OpenVINO chooses, for the most runs per time: several at once
};

struct ModelSettings {
  int threads = 1;  // threads of all concurrent runs
  Division division = Division::latency_hint;
  bool rounds_to_bf16 = false;  // may compute f32 in bf16
};

class OpenedModel {
 public:
  /// Opens a model on the CPU, in f32 if not asked otherwise: left alone, the library would compute in bf16
  /// where the CPU can. Takes
  /// one tensor for each of the model's inputs, in any order, whose memory is used in place; sizes that the
  /// model leaves open become theirs. Fails for inputs that are missing, unknown or strings, and with
  /// OpenVINO's own message.
  static Result<OpenedModel> open(const std::string& model_path, std::span<const NamedValue> inputs,
                                  const ModelSettings& settings);

  /// Returns how many runs may be in progress at a time, each with a number below this.
  size_t request_count() const { return requests_.size(); }
  /// Runs the model; runs of different numbers may overlap, in different threads.
  Status run(size_t request = 0);

  /// Returns the outputs of the last run of number 0, in the model's order. The model owns their memory: the
  /// next run overwrites it.
  Result<std::vector<NamedValue>> outputs() const;

  const std::string& version() const { return library_->version(); }

 private:
  explicit OpenedModel(const Library& library);
  Status read(const std::string& path, std::span<const NamedValue> inputs);
  Status compile(const ModelSettings& settings);
  Status make_requests(size_t count);
  Result<size_t> best_request_count() const;

  const Library* library_;
  std::vector<NamedValue> inputs_;  // keeps their memory alive
  Owned<Core> core_;
  Owned<Model> model_;
  Owned<CompiledModel> compiled_;
  std::vector<Owned<InferRequest>> requests_;
  bool is_async_ = false;
};

}  // namespace intarsia::openvino
