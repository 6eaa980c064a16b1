#include "backends/halide/schedule/share_kernels.h"

#include <algorithm>
#include <map>
#include <set>

namespace intarsia::halide {
namespace {

constexpr size_t max_buffers = 90;            // limit for a kernel: the run half takes 96
constexpr size_t max_buffers_of_device = 72;  // limit for 1024 bytes of parameters, 12 for each

/// Returns the maximum number of kernels that differ only in numbers; more than this become one.
/// Microcontrollers have little memory for code.
size_t max_alike(const Isa& isa) { return isa.is_in_order() ? 1 : 4; }

bool is_exponent(const Graph& body, ValueId value) {
  return std::ranges::any_of(
      body.nodes, [&](const Node& node) { return op_of(node) == CoreOp::pow && node.inputs[1] == value; });
}

/// Returns the call with numbers, those at the places that `is_read` tells, as arguments.
Call with_numbers_read(Call call, const std::vector<bool>& is_read) {
  Kernel& kernel = call.kernel;
  const size_t most = kernel.isa.is_offloaded() ? max_buffers_of_device : max_buffers;
  for (size_t i = 0; i < call.numbers.size(); ++i) {
    const auto& [number, source] = call.numbers[i];
    if (!is_read[i] || kernel.inputs.size() >= most || is_exponent(kernel.body, number)) continue;
    Value& value = kernel.body.value(number);
    value.constant.reset();
    value.type.shape = SymbolicShape{};
    kernel.body.inputs.push_back(number);
    kernel.inputs.push_back({value.type.dtype, {}, {}});
    call.inputs.push_back(source);
  }
  call.numbers.clear();
  return call;
}

size_t count_kernels(const std::vector<Call*>& calls) {
  std::set<std::string> texts;
  for (const Call* call : calls) texts.insert(call->kernel.text());
  return texts.size();
}

/// Returns which numbers of kernels that are alike without them differ.
std::vector<bool> differing_numbers(const std::vector<Call*>& calls) {
  const auto number = [](const Call& call, size_t i) -> const Tensor& {
    return *call.kernel.body.value(call.numbers[i].first).constant;
  };
  const Call& first = *calls.front();
  std::vector<bool> differ(first.numbers.size());
  for (size_t i = 0; i < differ.size(); ++i)
    differ[i] = std::ranges::any_of(calls, [&](const Call* call) {
      return !same_tensor(number(*call, i).view(), number(first, i).view());
    });
  return differ;
}

}  // namespace

void share_kernels(std::vector<Call>& calls) {
  std::map<std::string, std::vector<Call*>> alike;  // indexed by the text without numbers
  for (Call& call : calls) {
    const std::vector<bool> all(call.numbers.size(), true);
    alike[with_numbers_read(call, all).kernel.text()].push_back(&call);
  }
  for (const auto& [text, group] : alike) {
    if (count_kernels(group) <= max_alike(group.front()->kernel.isa)) continue;
    const std::vector<bool> differ = differing_numbers(group);
    for (Call* call : group) *call = with_numbers_read(std::move(*call), differ);
  }
}

}  // namespace intarsia::halide
