#include "pipeline/frame_items.h"

#include <algorithm>

namespace intarsia {
namespace {

Status check_rows(const TensorView& tensor) {
  if (tensor.dtype == DType::undefined) return fail("it is no tensor");
  if (tensor.shape.empty()) return fail("it is a scalar, want a tensor with rows (axis 0)");
  if (dtype_bits(tensor.dtype) % 8 != 0)
    return fail("its elements ({}) are smaller than a byte", dtype_name(tensor.dtype));
  return {};
}

Shape row_of(const Shape& shape) { return {shape.begin() + 1, shape.end()}; }

std::string print_item(const TensorView& item) {
  return fmt::format("{} {}", dtype_name(item.dtype), print_shape(item.shape));
}

/// Makes a tensor without rows.
Result<FrameValue> make_empty(const StagePort& item, BufferPool& pool) {
  const bool is_known = item.dtype != DType::undefined && item.shape && !item.shape->empty();
  Shape shape = is_known ? *item.shape : Shape{0};
  shape[0] = 0;
  for (int64_t& size : shape) size = std::max<int64_t>(size, 0);
  if (is_known && item.dtype == DType::string) {
    const Tensor strings(DType::string, shape);
    return FrameValue{strings.view(), strings.owner()};
  }
  return pool.make(is_known ? item.dtype : DType::f32, shape);
}

/// Counts the rows of all items together. Errors: as gather().
Result<int64_t> count_rows(std::span<const FrameValue> items) {
  const TensorView& first = items.front().tensor;
  int64_t rows = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const TensorView& item = items[i].tensor;
    TRY(with_context(check_rows(item), "item {}", i));
    if (item.dtype != first.dtype || row_of(item.shape) != row_of(first.shape))
      return fail("item {} is {}, item 0 {}: they cannot be joined along axis 0", i, print_item(item),
                  print_item(first));
    rows += item.shape[0];
  }
  return rows;
}

}  // namespace

Result<std::vector<FrameValue>> scatter(const FrameValue& value) {
  TRY(check_rows(value.tensor));
  Shape shape = value.tensor.shape;
  shape[0] = 1;
  const size_t bytes = dtype_bytes(value.tensor.dtype, static_cast<size_t>(element_count(shape)));
  std::vector<FrameValue> items;
  for (int64_t i = 0; i < value.tensor.shape[0]; ++i) {
    auto* data = static_cast<std::byte*>(value.tensor.data) + bytes * static_cast<size_t>(i);
    items.push_back({{data, value.tensor.dtype, shape}, value.owner});
  }
  return items;
}

Result<FrameValue> gather(std::span<const FrameValue> items, const StagePort& item, BufferPool& pool) {
  if (items.empty()) return make_empty(item, pool);
  const int64_t rows = TRY(count_rows(items));
  if (items.size() == 1) return items.front();
  const TensorView& first = items.front().tensor;
  Shape shape = first.shape;
  shape[0] = rows;
  const bool is_text = first.dtype == DType::string;
  const Tensor strings = is_text ? Tensor(DType::string, shape) : Tensor();
  FrameValue all = is_text ? FrameValue{strings.view(), strings.owner()} : TRY(pool.make(first.dtype, shape));
  auto* to = static_cast<std::byte*>(all.tensor.data);
  for (const FrameValue& part : items) {
    copy_elements(part.tensor, TensorView{to, part.tensor.dtype, part.tensor.shape});
    to += part.tensor.bytes();
  }
  return all;
}

}  // namespace intarsia
