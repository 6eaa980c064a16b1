#include "backends/halide/schedule/share_kernels.h"

#include <algorithm>
#include <map>
#include <set>

namespace intarsia::halide {
namespace {

/// Maximum number of kernels that differ only in numbers; more than this become one.
constexpr size_t max_alike = 4;

constexpr size_t max_buffers = 90;            // limit for a kernel: the run half takes 96
constexpr size_t max_buffers_of_device = 72;  // limit for 1024 bytes of parameters, 12 for each

bool is_exponent(const Graph& body, ValueId value) {
  return std::ranges::any_of(
      body.nodes, [&](const Node& node) { return op_of(node) == CoreOp::pow && node.inputs[1] == value; });
}

/// Returns the call with its numbers as arguments.
Call with_numbers_read(Call call) {
  Kernel& kernel = call.kernel;
  const size_t most = kernel.isa.is_offloaded() ? max_buffers_of_device : max_buffers;
  for (const auto& [number, source] : call.numbers) {
    Value& value = kernel.body.value(number);
    if (kernel.inputs.size() >= most || is_exponent(kernel.body, number)) continue;
    value.constant.reset();
    value.type.shape = SymbolicShape{};
    kernel.body.inputs.push_back(number);
    kernel.inputs.push_back({value.type.dtype, {}, {}});
    call.inputs.push_back(source);
  }
  call.numbers.clear();
  return call;
}

}  // namespace

void share_kernels(std::vector<Call>& calls) {
  std::map<std::string, std::set<std::string>> alike;  // indexed by the text without numbers
  std::vector<std::pair<Call, std::string>> candidates;
  for (const Call& call : calls) {
    Call reading = with_numbers_read(call);
    std::string text = reading.kernel.text();
    alike[text].insert(call.kernel.text());
    candidates.emplace_back(std::move(reading), std::move(text));
  }
  for (size_t c = 0; c < calls.size(); ++c)
    if (alike.at(candidates[c].second).size() > max_alike) calls[c] = std::move(candidates[c].first);
}

}  // namespace intarsia::halide
