// Arbitrary bytes as the halide backend's blob: loading ends in an error or in calls whose arguments lie in
// their tensors. Kernels that touch the first and last byte of each argument stand in for code; every tensor
// has separate memory.
//
// Covers: backends/halide/runtime/ load.cc region_executable.cc
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backends/halide/abi/kernel_symbol.h"
#include "backends/halide/abi/region_plan_generated.h"
#include "backends/halide/runtime/load.h"
#include "backends/halide/runtime/load_open_region.h"
#include "backends/halide/runtime/region_executable.h"

namespace {

using namespace intarsia;

constexpr size_t workspace_bytes = 1 << 16, max_tensor_bytes = 1 << 16, max_times = 1 << 10;

/// Kernel of `count` arguments; it writes the last one.
template <size_t count>
int touch(void** arguments) {
  for (size_t i = 1; i <= count; ++i) {
    const auto& buffer = *static_cast<const HalideBuffer*>(arguments[i]);
    size_t last = 1;  // elements up to one past the last
    for (int32_t d = 0; d < buffer.dimensions; ++d)
      last += static_cast<size_t>(buffer.dim[d].extent - 1) * static_cast<size_t>(buffer.dim[d].stride);
    volatile uint8_t* const ends[] = {buffer.host, buffer.host + last * (buffer.type.bits / 8) - 1};
    for (volatile uint8_t* end : ends) {
      const uint8_t byte = *end;
      if (i == count) *end = byte;
    }
  }
  return 0;
}

template <size_t... counts>
halide::KernelFunction touch_of(size_t count, std::index_sequence<counts...>) {
  constexpr halide::KernelFunction all[] = {touch<counts + 1>...};
  return all[count - 1];
}

/// Signs the arguments in the name of each kernel, which no fuzzer can do. Returns kernels with their
/// argument counts.
std::vector<std::pair<std::string, size_t>> sign(std::vector<uint8_t>& blob) {
  std::vector<std::pair<std::string, size_t>> kernels;
  const auto is_valid = [&] {
    return flatbuffers::Verifier(blob.data(), blob.size()).VerifyBuffer<halide::fbs::RegionPlan>(nullptr);
  };
  if (!is_valid()) return kernels;
  const auto* plan = flatbuffers::GetRoot<halide::fbs::RegionPlan>(blob.data());
  for (size_t k = 0; plan->kernels() != nullptr && k < std::min<size_t>(plan->kernels()->size(), 64); ++k) {
    const auto* kernel = plan->kernels()->Get(static_cast<flatbuffers::uoffset_t>(k));
    if (kernel->symbol() == nullptr || kernel->arguments() == nullptr) continue;
    const size_t count = kernel->arguments()->size();
    if (count == 0 || count > halide::max_arguments) continue;
    std::vector<halide::ArgumentForm> forms;
    for (const auto* from : *kernel->arguments()) {
      halide::ArgumentForm& form =
          forms.emplace_back(halide::ArgumentForm{static_cast<DType>(from->dtype()), {}, {}});
      if (from->extents() != nullptr && from->extents()->size() <= 64)
        form.extents = {from->extents()->begin(), from->extents()->end()};
      if (from->strides() != nullptr && from->strides()->size() <= 64)
        form.strides = {from->strides()->begin(), from->strides()->end()};
    }
    const std::string ending = halide::symbol_ending(forms);
    if (kernel->symbol()->size() < ending.size()) continue;
    auto* text = const_cast<char*>(kernel->symbol()->c_str());
    std::memcpy(text + kernel->symbol()->size() - ending.size(), ending.data(), ending.size());
    if (!is_valid()) return kernels;  // the text overlapped something else
    kernels.emplace_back(kernel->symbol()->str(), count);
  }
  return kernels;
}

TensorView tensor_of(uint64_t bytes, std::vector<std::unique_ptr<uint8_t[]>>& memory) {
  memory.push_back(std::make_unique<uint8_t[]>(bytes));
  return {memory.back().get(), DType::u8, {static_cast<int64_t>(bytes)}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> blob(data, data + size);
  const auto kernels = sign(blob);
  std::vector<std::unique_ptr<uint8_t[]>> memory;
  std::vector<ConstTensorView> constants;
  for (uint64_t bytes : {1, 64, 4096, 65536}) constants.push_back(tensor_of(bytes, memory));
  LoadContext context;
  context.blob = std::as_bytes(std::span(blob));
  context.constants = constants;
  context.workspace_bytes = workspace_bytes;
  context.symbol = [&](const std::string& name) -> void* {
    const auto at = std::ranges::find(kernels, name, [](const auto& kernel) { return kernel.first; });
    if (at == kernels.end()) return nullptr;
    return reinterpret_cast<void*>(touch_of(at->second, std::make_index_sequence<halide::max_arguments>()));
  };
  const auto executable = halide::load(context);
  if (!executable) return 0;
  // Plans of open regions are edited with their kernels' code (edited_open_plans.cc).
  const auto* plan = flatbuffers::GetRoot<halide::fbs::RegionPlan>(blob.data());
  if (halide::is_open_plan(plan->version())) return 0;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  for (const auto* call : *plan->calls())
    if (call->times() > max_times) return 0;
  for (const auto* sizes : {plan->input_bytes(), plan->output_bytes()})
    if (sizes->size() > 16 ||
        std::ranges::any_of(*sizes, [](uint64_t bytes) { return bytes > max_tensor_bytes; }))
      return 0;
  for (uint64_t bytes : *plan->input_bytes()) inputs.push_back({tensor_of(bytes, memory), {}});
  const bool has_items = plan->input_moves() != nullptr;  // whose run allocates the outputs of all items
  for (uint64_t bytes : *plan->output_bytes()) outputs.push_back({tensor_of(bytes, memory), {}, has_items});
  const std::shared_ptr<void> workspace(std::aligned_alloc(64, workspace_bytes), std::free);
  (void)(*executable)->run({inputs, outputs, static_cast<std::byte*>(workspace.get()), nullptr});
  return 0;
}
