// C API of rewriting models for TensorFlow.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/give_text.h"
#include "api/handles.h"
#include "api/make_services.h"
#include "api/peers.h"
#include "api/struct_sizes.h"
#include "base/clock.h"
#include "base/fill_tensor.h"
#include "import/import_tensorflow.h"
#include "measure/compare_tensors.h"
#include "rewrite/rewrite_model.h"

namespace intarsia::api {
namespace {

constexpr int warm_runs = 3, fewest_turns = 5, most_turns = 60;
constexpr int64_t all_turns_nanoseconds = 2'000'000'000;

/// Returns values for all inputs of a signature: the samples, and others for inputs that have none.
Result<std::vector<NamedValue>> complete_samples(const ModelsToTime& models) {
  const ModelBoundary boundary = TRY(read_saved_model_boundary(models.original, models.signature));
  std::vector<NamedValue> values;
  for (const BoundaryTensor& input : boundary.inputs) {
    const auto sample = std::ranges::find(models.samples, input.name, &NamedValue::name);
    if (sample != models.samples.end()) {
      values.push_back(*sample);
      continue;
    }
    if (!input.type.shape) return fail("the rank of input '{}' is not known", input.name);
    Shape shape;
    for (const Dim& size : *input.type.shape) shape.push_back(size.is_number() ? size.number() : 1);
    Tensor tensor(input.type.dtype, shape);
    TRY(with_context(fill_tensor(tensor.view(), values.size()), "input '{}'", input.name));
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

/// Returns the largest difference of floats, relative to the largest of an output; infinity where others
/// differ.
Result<double> compare_results(TimedModel& original, TimedModel& rewritten) {
  const std::vector<NamedValue> wanted = TRY(original.peer.outputs()), got = TRY(rewritten.peer.outputs());
  double largest = 0;
  for (size_t i = 0; i < wanted.size() && i < got.size(); ++i) {
    const Difference difference = compare_tensors(got[i].tensor.view(), wanted[i].tensor.view(), {});
    if (std::isnan(difference.max_rel)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference.max_rel);
  }
  return largest;
}

Result<TimesInTensorFlow> time_in_tensorflow(const ModelsToTime& models, const CompileRequest& request) {
  PeerRequest peer{"tensorflow",
                   "",
                   models.original,
                   request.threads,
                   TRY(complete_samples(models)),
                   models.signature,
                   request.op_libraries};
  TimedModel original{TRY(open_peer(peer))};
  peer.model_path = models.rewritten;
  peer.op_libraries.push_back(TRY(find_program_operator()));
  TimedModel rewritten{TRY(open_peer(peer))};
  TimesInTensorFlow times;
  for (int i = 0; i < warm_runs; ++i) {
    TRY(original.run());
    TRY(rewritten.run());
  }
  times.difference = TRY(compare_results(original, rewritten));
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

Status rewrite(const intarsia_rewrite_request& given, char** report) {
  const intarsia_rewrite_request from = TRY(read_struct(given, "the rewrite request"));
  if (from.compile == nullptr || from.compile->model == nullptr) return fail("no model to rewrite");
  if (from.output == nullptr) return fail("no folder to write; name it");
  const ReadRequest read = TRY(read_request(*from.compile));
  const CompileServices services = TRY(make_services(read));
  const RewriteRequest request{read.request, from.output, from.force != 0};
  const RewriteReport made = TRY(rewrite_model(request, services, [&](const ModelsToTime& models) {
    return time_in_tensorflow(models, read.request);
  }));
  give_text(describe_rewrite(made).dump(2), report);
  return {};
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_rewrite(const intarsia_rewrite_request* request, char** report) {
  return guarded([&]() -> Status {
    if (request == nullptr) return fail("intarsia_rewrite got a null pointer");
    return rewrite(*request, report);
  });
}
