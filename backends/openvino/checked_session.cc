#include "backends/openvino/checked_session.h"

#include <algorithm>
#include <span>

#include "backends/openvino/tensor.h"
#include "base/threads/pool_cores.h"

namespace intarsia::openvino {
namespace {

constexpr std::byte unwritten{0xa5};

std::span<std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data()), tensor.bytes()};
}

bool is_open(const PortType& port) {
  return !port.shape || std::ranges::find(*port.shape, -1) != port.shape->end();
}

Status run_on_zeros(const ModelSession& session, const std::vector<bool>& is_copied,
                    std::vector<Tensor>& outputs) {
  const Library& library = session.library();
  const OwnedRequest request = TRY(session.make_request());
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < session.inputs().size(); ++i) {
    inputs.emplace_back(session.inputs()[i].dtype, *session.inputs()[i].shape);
    const Owned<TensorHandle> handle = TRY(wrap_tensor(library, inputs[i].view()));
    TRY(library.check(
        library.api().ov_infer_request_set_input_tensor_by_index(request.get(), i, handle.get())));
  }
  for (size_t i = 0; i < session.outputs().size(); ++i) {
    outputs.emplace_back(session.outputs()[i].dtype, *session.outputs()[i].shape);
    std::ranges::fill(bytes_of(outputs[i]), unwritten);
    if (is_copied[i]) continue;
    const Owned<TensorHandle> handle = TRY(wrap_tensor(library, outputs[i].view()));
    TRY(library.check(
        library.api().ov_infer_request_set_output_tensor_by_index(request.get(), i, handle.get())));
  }
  const NamesNewThreads named(thread_name);
  return library.check(library.api().ov_infer_request_infer(request.get()));
}

/// Adds the outputs that were left unwritten; returns whether there are any.
Result<bool> find_unwritten(const ModelSession& session, std::vector<bool>& is_copied) {
  std::vector<Tensor> outputs;
  TRY(run_on_zeros(session, is_copied, outputs));
  bool found = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto is_mark = [](std::byte item) { return item == unwritten; };
    if (is_copied[i] || !std::ranges::all_of(bytes_of(outputs[i]), is_mark)) continue;
    is_copied[i] = true;
    found = true;
  }
  return found;
}

}  // namespace

Result<CheckedSession> open_checked(std::string_view model, const SessionSettings& settings) {
  CheckedSession checked{TRY(ModelSession::from_bytes(model, settings)), {}};
  const bool has_open_sizes = std::ranges::any_of(checked.session->inputs(), is_open) ||
                              std::ranges::any_of(checked.session->outputs(), is_open);
  checked.is_copied.assign(checked.session->outputs().size(), has_open_sizes);
  if (has_open_sizes) return checked;
  while (TRY(find_unwritten(*checked.session, checked.is_copied)))
    checked.session = TRY(ModelSession::from_bytes(model, settings));
  return checked;
}

}  // namespace intarsia::openvino
