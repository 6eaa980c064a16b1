#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "emit_c/c_text.h"
#include "emit_c/place_steps.h"
#include "emit_c/write_steps.h"
#include "emit_c/write_user_call.h"

namespace intarsia {
namespace {

/// Adds what an item of a batch is away from the first.
void move_to_item(const CallItems& items, const CallTensor& tensor, CAddress& address) {
  const bool moves = tensor.where == CallTensor::Where::output ||
                     (tensor.where == CallTensor::Where::input && items.input_moves[tensor.index]);
  if (!moves) return;
  const uint64_t bytes = tensor.where == CallTensor::Where::output ? items.output_bytes[tensor.index]
                                                                   : items.input_bytes[tensor.index];
  address.more += fmt::format(" + item * {}", bytes);
}

bool copies_to_itself(const KernelCall& call, const std::vector<CAddress>& addresses) {
  if (!call.is_copy || call.tensors.size() != 2 || addresses[0] != addresses[1]) return false;
  const CallTensor &from = call.tensors[0], &to = call.tensors[1];
  return from.dtype == to.dtype && from.extents == to.extents && from.strides == to.strides;
}

}  // namespace

std::vector<std::string> StepsWriter::addresses_of(const fbs::StepT& step, const CWorkspace& workspace,
                                                   const std::vector<CallTensor>& tensors) const {
  std::vector<std::string> texts;
  for (const CallTensor& tensor : tensors)
    texts.push_back(tensor.dtype == DType::undefined ? "" : address_of(step, workspace, tensor).text());
  return texts;
}

std::string StepsWriter::write_region(const fbs::StepT& step, const CWorkspace& workspace) {
  const RegionCalls& region = *context_.emitted.regions[step.region];
  std::string text;
  for (const auto& [size, why] : region.requirements)
    text += fmt::format("  /* {} */\n  if ({} < 0) ", c_comment(why), c_expression(size, context_.names)) +
            context_.fail_with("BAD_SIZE");
  if (!region.calls.empty())
    text +=
        fmt::format("  intarsia_begin(&run, {});\n",
                    context_.emitted.has_threads() ? "threads->parallel_for, threads->pool" : "NULL, NULL");
  if (region.items)
    text += fmt::format("  for (int64_t item = 0; item < {}; ++item) {{\n", count_items(step, *region.items));
  for (const KernelCall& call : region.calls) text += write_call(step, region, workspace, call);
  for (const UserCall& call : region.user_calls)
    text += write_user_call(call, addresses_of(step, workspace, call.inputs),
                            addresses_of(step, workspace, call.outputs), context_.names,
                            context_.fail_with("KERNEL_FAILED"));
  return text + (region.items ? "  }\n" : "");
}

std::string StepsWriter::count_items(const fbs::StepT& step, const CallItems& items) const {
  const size_t first =
      static_cast<size_t>(std::ranges::find(items.input_moves, true) - items.input_moves.begin());
  const Dim bytes = bytes_of_value(function(), *function().values[step.inputs[first]]);
  return c_expression(floor_div(bytes, static_cast<int64_t>(items.input_bytes[first])), context_.names);
}

std::string StepsWriter::write_call(const fbs::StepT& step, const RegionCalls& region,
                                    const CWorkspace& workspace, const KernelCall& call) {
  std::vector<CAddress> addresses;
  for (const CallTensor& tensor : call.tensors) {
    addresses.push_back(address_of(step, workspace, tensor));
    if (region.items) move_to_item(*region.items, tensor, addresses.back());
    if (call.times != 1 && tensor.step != 0)
      addresses.back().more += fmt::format(" + t * {}", c_expression(tensor.step, context_.names));
  }
  std::string text = fmt::format("  /* {} */\n", c_comment(call.label));
  if (copies_to_itself(call, addresses)) return text;
  const bool is_open = !has_fixed_form(call), repeats = call.times != 1;
  const size_t number = context_.kernels.number_of(call);
  std::string list;
  for (const CAddress& address : addresses)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", address.text());
  if (repeats)
    text += fmt::format("  for (int64_t t = 0; t < {}; ++t) {{\n", c_expression(call.times, context_.names));
  if (is_open && !repeats) text += "  {\n";
  if (is_open)
    text +=
        fmt::format("  const int32_t tensors[] = {{{}}};\n", fmt::join(form_of(call, context_.names), ", "));
  text += write_checks(call, addresses);
  text += give_scratch(workspace, call.scratch);
  text += fmt::format("  RUN(kernel_{}, {}, {});\n", number,
                      is_open ? "tensors" : fmt::format("tensors_{}", number), list);
  return text + (repeats || is_open ? "  }\n" : "");
}

/// Says where the kernel that runs next allocates.
std::string StepsWriter::give_scratch(const CWorkspace& workspace, const CallScratch& scratch) const {
  if (scratch.bytes == 0) return "";
  CAddress address = in_workspace(workspace, scratch.part);
  address.bytes += static_cast<int64_t>(scratch.offset);
  const uint64_t bytes =
      workspace.rooms.empty()
          ? static_cast<uint64_t>(scratch.bytes.number())
          : workspace.rooms[scratch.part] / std::max<uint32_t>(context_.emitted.program.threads, 1);
  return fmt::format("  intarsia_give_scratch(&run, {}, {});\n", address.text(), bytes);
}

std::string StepsWriter::write_checks(const KernelCall& call, const std::vector<CAddress>& addresses) const {
  std::string text;
  for (const CallCheck& check : call.checks) {
    const CallTensor& tensor = call.tensors[check.tensor];
    const bool is_one = check.ranges.size() == 1;
    const size_t axes = tensor.extents.size() - (is_one ? 0 : 1);
    std::string form = fmt::format("{}", axes);
    for (size_t i = 0; i < axes; ++i)
      form += fmt::format(", (int32_t){}, (int32_t){}", c_expression(tensor.extents[i], context_.names),
                          c_expression(tensor.strides[i], context_.names));
    for (size_t k = 0; k < check.ranges.size(); ++k) {
      CAddress address = addresses[check.tensor];
      if (k > 0)
        address.more += fmt::format(
            " + {}",
            c_expression(tensor.strides.back() * static_cast<int64_t>(k * dtype_bytes(tensor.dtype, 1)),
                         context_.names));
      text += fmt::format("  if (!intarsia_are_in_range({}, {}, (const int32_t[]){{{}}}, {}, {})) ",
                          address.text(), 8 * dtype_bytes(tensor.dtype, 1), form,
                          c_expression(check.ranges[k].first, context_.names),
                          c_expression(check.ranges[k].second, context_.names)) +
              context_.fail_with("BAD_INDEX");
    }
  }
  return text;
}

}  // namespace intarsia
