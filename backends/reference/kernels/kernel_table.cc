#include <algorithm>
#include <tuple>
#include <vector>

#include "backends/reference/kernels/kernel_families.h"

namespace intarsia::reference {
namespace {

std::vector<KernelEntry> build_table() {
  std::vector<KernelEntry> table;
  for (auto family : {elementwise_kernels, reduction_kernels, normalization_kernels, quantization_kernels,
                      recurrent_kernels, signal_kernels, attention_kernels, random_kernels, movement_kernels,
                      indexing_kernels, window_kernels, contraction_kernels, image_kernels, selection_kernels,
                      machine_learning_kernels, text_kernels, training_kernels}) {
    std::span<const KernelEntry> rows = family();
    table.insert(table.end(), rows.begin(), rows.end());
  }
  std::ranges::sort(table, {}, [](const KernelEntry& row) { return std::tie(row.domain, row.op); });
  INTARSIA_CHECK(std::ranges::adjacent_find(table, [](const KernelEntry& a, const KernelEntry& b) {
                   return a.domain == b.domain && a.op == b.op;
                 }) == table.end());
  return table;
}

}  // namespace

Kernel find_kernel(std::string_view domain, std::string_view op) {
  static const std::vector<KernelEntry> table = build_table();
  if (domain == "ai.onnx") domain = "";
  auto at = std::ranges::lower_bound(table, std::tie(domain, op), {},
                                     [](const KernelEntry& row) { return std::tie(row.domain, row.op); });
  return at != table.end() && at->domain == domain && at->op == op ? at->kernel : nullptr;
}

Result<std::vector<int64_t>> KernelContext::input_ints(size_t i) const {
  const ConstTensorView& view = input(i);
  if (view.dtype == DType::i64)
    return std::vector<int64_t>(view.as<int64_t>().begin(), view.as<int64_t>().end());
  if (view.dtype == DType::i32)
    return std::vector<int64_t>(view.as<int32_t>().begin(), view.as<int32_t>().end());
  return fail("input {} has dtype {}, want i32 or i64", i, dtype_name(view.dtype));
}

}  // namespace intarsia::reference
