#include "backends/plugin/plugin_buffers.h"

#include <algorithm>

namespace intarsia::plugin {

Buffers::Buffers(size_t count) : buffers_(count) {
  for (intarsia_plugin_buffer& buffer : buffers_) {
    buffer.struct_size = sizeof(buffer);
    pointers_.push_back(&buffer);
  }
}

Status Buffers::set(size_t i, DType dtype, const Shape& shape, const Place& place) {
  if (shape.size() > INTARSIA_PLUGIN_MAX_RANK)
    return fail("a tensor has {} axes; plug-ins take {}", shape.size(), INTARSIA_PLUGIN_MAX_RANK);
  buffers_[i].dtype = static_cast<int32_t>(dtype);
  buffers_[i].rank = static_cast<int32_t>(shape.size());
  std::ranges::copy(shape, buffers_[i].sizes);
  set_place(i, place);
  return {};
}

void Buffers::set_place(size_t i, const Place& place) {
  buffers_[i].memory = place.memory;
  buffers_[i].offset = place.offset;
}

void Buffers::clear(size_t i) {
  buffers_[i] = {};
  buffers_[i].struct_size = sizeof(buffers_[i]);
}

Result<TensorView> read_type(const intarsia_plugin_buffer& buffer) {
  const bool has_dtype =
      buffer.dtype > 0 && buffer.dtype < dtype_count && buffer.dtype != static_cast<int32_t>(DType::string);
  if (!has_dtype) return fail("dtype {}, which is none of numbers", buffer.dtype);
  if (buffer.rank < 0 || buffer.rank > INTARSIA_PLUGIN_MAX_RANK) return fail("rank {}", buffer.rank);
  TensorView view{nullptr, static_cast<DType>(buffer.dtype), {buffer.sizes, buffer.sizes + buffer.rank}};
  TRY(checked_elements(view.shape));
  return view;
}

}  // namespace intarsia::plugin
