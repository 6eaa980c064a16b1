#include "api/time_in_tensorflow.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/peers.h"
#include "base/clock.h"
#include "base/fill_tensor.h"
#include "import/import_model.h"
#include "measure/compare_tensors.h"

namespace intarsia::api {
namespace {

constexpr int warm_runs = 3, fewest_turns = 5, most_turns = 60;
constexpr int64_t all_turns_nanoseconds = 2'000'000'000;

/// Returns the signature by the name that the model's file has for it: a frozen GraphDef has none.
std::string signature_in_file(const ModelsToTime& models) {
  return find_model_format(models.original) == ModelFormat::saved_model ? models.signature : std::string();
}

/// Returns values for all inputs of a signature: the samples, and others for inputs that have none.
Result<std::vector<NamedValue>> complete_samples(const ModelsToTime& models) {
  const ModelBoundary boundary = TRY(read_boundary(models.original, signature_in_file(models)));
  std::vector<NamedValue> values;
  for (const BoundaryTensor& input : boundary.inputs) {
    const auto sample = std::ranges::find(models.samples, input.name, &NamedValue::name);
    if (sample != models.samples.end()) {
      values.push_back(*sample);
      continue;
    }
    if (!input.type.shape)
      return fail(ErrorKind::unsupported, "the rank of input '{}' is not known", input.name);
    Shape shape;
    for (const Dim& size : *input.type.shape) shape.push_back(size.is_number() ? size.number() : 1);
    Tensor tensor(input.type.dtype, shape);
    if (const Status filled = fill_tensor(tensor.view(), values.size()); !filled)
      return fail(ErrorKind::unsupported, "input '{}': {}", input.name, filled.error().message);
    values.push_back({input.name, std::move(tensor)});
  }
  return values;
}

/// Model in TensorFlow that is timed.
struct TimedModel {
  OpenPeer peer;
  std::vector<int64_t> turns = {};

  Status run() {
    const int64_t start = clock_nanoseconds();
    TRY(peer.lanes[0]());
    turns.push_back(clock_nanoseconds() - start);
    return {};
  }
  int64_t median() {
    const auto middle = turns.begin() + static_cast<std::ptrdiff_t>(turns.size() / 2);
    std::ranges::nth_element(turns, middle);
    return *middle;
  }
};

/// Returns the difference of two results: the largest of floats, relative to the largest element; infinity
/// where others differ.
double compare_results(const TensorView& result, const TensorView& wanted) {
  const Difference difference = compare_tensors(result, wanted, {});
  return std::isnan(difference.max_rel) ? std::numeric_limits<double>::infinity() : difference.max_rel;
}

/// Returns the largest difference of results, but of those that differ from one run of the original to the
/// next.
Result<double> compare_models(TimedModel& original, TimedModel& rewritten) {
  TRY(original.run());
  const std::vector<NamedValue> wanted = TRY(original.peer.outputs());
  TRY(original.run());
  const std::vector<NamedValue> again = TRY(original.peer.outputs()), got = TRY(rewritten.peer.outputs());
  double largest = 0;
  for (size_t i = 0; i < wanted.size() && i < got.size(); ++i) {
    const TensorView& value = wanted[i].tensor.view();
    if (compare_results(again[i].tensor.view(), value) > tolerated_difference) continue;
    largest = std::max(largest, compare_results(got[i].tensor.view(), value));
  }
  return largest;
}

/// Times two models in turns, as other processes slow down both.
Result<TimesInTensorFlow> time_in_turns(TimedModel original, const std::function<Result<OpenPeer>()>& open) {
  TimesInTensorFlow times;
  for (int i = 0; i < warm_runs; ++i) TRY(original.run());
  Result<OpenPeer> opened = open();
  TimedModel rewritten{opened ? *std::move(opened) : OpenPeer()};
  Status runs = opened ? Status() : tl::unexpected(opened.error());
  for (int i = 0; i < warm_runs && runs; ++i) runs = rewritten.run();
  if (!runs) {
    times.fault = runs.error().message;
    return times;
  }
  times.difference = TRY(compare_models(original, rewritten));
  original.turns.clear();
  rewritten.turns.clear();
  const int64_t start = clock_nanoseconds();
  for (int turn = 0; turn < most_turns; ++turn) {
    if (turn >= fewest_turns && clock_nanoseconds() - start > all_turns_nanoseconds) break;
    TRY(original.run());
    TRY(rewritten.run());
  }
  times.original = original.median();
  times.rewritten = rewritten.median();
  return times;
}

/// Returns the libraries that a rewritten model needs.
Result<std::vector<std::string>> libraries_of(const CompileRequest& request) {
  std::vector<std::string> libraries = request.op_libraries;
  libraries.push_back(TRY(find_program_operator()));
  return libraries;
}

Result<TimesInTensorFlow> time_models(const ModelsToTime& models, const CompileRequest& request) {
  PeerRequest peer{"tensorflow",
                   "",
                   models.original,
                   request.threads,
                   TRY(complete_samples(models)),
                   signature_in_file(models),
                   TRY(libraries_of(request))};
  OpenPeer original = TRY(open_peer(peer));
  peer.model_path = models.rewritten;
  TimesInTensorFlow times = TRY(time_in_turns({std::move(original)}, [&] { return open_peer(peer); }));
  for (const NamedValue& input : peer.inputs)
    times.inputs.push_back({input.name, input.tensor.dtype(), input.tensor.shape()});
  return times;
}

Result<TimesInTensorFlow> time_graphs(const Graph& original, const Graph& rewritten,
                                      const std::vector<NamedValue>& inputs, const CompileRequest& request) {
  const std::vector<std::string> libraries = TRY(libraries_of(request));
  OpenPeer first = TRY(open_tensorflow_graph(original, inputs, libraries, request.threads));
  return time_in_turns({std::move(first)},
                       [&] { return open_tensorflow_graph(rewritten, inputs, libraries, request.threads); });
}

Result<std::vector<NamedValue>> run_graph(const Graph& graph, const std::vector<NamedValue>& inputs,
                                          const CompileRequest& request) {
  OpenPeer peer = TRY(open_tensorflow_graph(graph, inputs, TRY(libraries_of(request)), request.threads));
  TRY(peer.lanes[0]());
  return peer.outputs();
}

}  // namespace

TensorFlowTimer make_tensorflow_timer(const CompileRequest& request) {
  return {[&](const ModelsToTime& models) { return time_models(models, request); },
          [&](const Graph& original, const Graph& rewritten, const std::vector<NamedValue>& inputs) {
            return time_graphs(original, rewritten, inputs, request);
          },
          [&](const Graph& graph, const std::vector<NamedValue>& inputs) {
            return run_graph(graph, inputs, request);
          }};
}

}  // namespace intarsia::api
