#include "backends/openvino/profile_model.h"

#include <algorithm>

#include "backends/openvino/tensor.h"

namespace intarsia::openvino {
namespace {

constexpr int warm_runs = 5;
constexpr int was_executed = 2;

/// Returns times by operator, in the order of execution, with 0 for operators that did not run.
Result<std::vector<OperatorTime>> read_counters(const Library& library, const InferRequest* request) {
  ProfilingList list{};
  TRY(library.check(library.api().ov_infer_request_get_profiling_info(request, &list)));
  std::vector<OperatorTime> times;
  for (const ProfilingInfo& info : std::span(list.items, list.size)) {
    const int64_t microseconds = info.status == was_executed ? info.real_microseconds : 0;
    times.push_back({fmt::format("{}: {}", info.node_name, info.node_type), 1000 * microseconds});
  }
  library.api().ov_profiling_info_list_free(&list);
  return times;
}

}  // namespace

void leave_out_first_run(std::span<const OperatorTime> first, int64_t runs,
                         std::span<OperatorTime> averages) {
  for (size_t i = 0; i < std::min(first.size(), averages.size()); ++i) {
    if (first[i].label != averages[i].label) continue;
    int64_t& time = averages[i].nanoseconds;
    time = std::max((time * runs - first[i].nanoseconds) / (runs - 1), int64_t{0});
  }
}

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
  const auto run = [&] { return library.check(library.api().ov_infer_request_infer(request.get())); };
  TRY(run());
  const std::vector<OperatorTime> cold = TRY(read_counters(library, request.get()));
  for (int i = 0; i < warm_runs; ++i) TRY(run());
  std::vector<OperatorTime> times = TRY(read_counters(library, request.get()));
  if (settings.device == "CPU") leave_out_first_run(cold, 1 + warm_runs, times);
  std::erase_if(times, [](const OperatorTime& time) { return time.nanoseconds <= 0; });
  return times;
}

}  // namespace intarsia::openvino
