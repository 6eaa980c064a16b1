#include "backends/openvino/profile_model.h"

#include <algorithm>

#include "backends/openvino/ov_tensor.h"

namespace intarsia::openvino {
namespace {

constexpr int profile_runs = 5;
constexpr int was_executed = 2;

/// Sums over operators of one label; the least of all runs.
Status add_run(const Library& library, const InferRequest* request, std::vector<OperatorTime>& least) {
  ProfilingList list{};
  TRY(library.check(library.api().ov_infer_request_get_profiling_info(request, &list)));
  std::vector<OperatorTime> times;
  for (const ProfilingInfo& info : std::span(list.items, list.size)) {
    if (info.status != was_executed) continue;
    times.push_back({fmt::format("{}: {}", info.node_name, info.node_type), 1000 * info.real_microseconds});
  }
  library.api().ov_profiling_info_list_free(&list);
  for (size_t i = 0; i < times.size(); ++i) {
    if (i == least.size()) least.push_back(times[i]);
    if (least[i].label == times[i].label)
      least[i].nanoseconds = std::min(least[i].nanoseconds, times[i].nanoseconds);
  }
  return {};
}

}  // namespace

Result<std::vector<OperatorTime>> profile_model(std::string_view model, SessionSettings settings,
                                                std::span<const Input> inputs) {
  settings.counts_time = true;
  const auto session = TRY(ModelSession::from_bytes(model, settings));
  const Library& library = session->library();
  const OwnedRequest request = TRY(session->make_request());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Owned<TensorHandle> handle = TRY(wrap_tensor(library, inputs[i].tensor));
    TRY(library.check(
        library.api().ov_infer_request_set_input_tensor_by_index(request.get(), i, handle.get())));
  }
  std::vector<OperatorTime> least;
  for (int run = 0; run < profile_runs; ++run) {
    TRY(library.check(library.api().ov_infer_request_infer(request.get())));
    TRY(add_run(library, request.get(), least));
  }
  return least;
}

}  // namespace intarsia::openvino
