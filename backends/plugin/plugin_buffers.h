// Tensors as the run half of a plug-in takes them.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "base/tensor_view.h"
#include "device/memory_space.h"
#include "include/intarsia/plugin.h"

namespace intarsia::plugin {

/// Buffers that stay where they are, and the list of pointers that a call takes: a plug-in that was built
/// with an older header has another size of a buffer.
class Buffers {
 public:
  explicit Buffers(size_t count);
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  /// Sets a buffer. Error: more axes than plug-ins take.
  Status set(size_t i, DType dtype, const Shape& shape, const Place& place);
  void set_place(size_t i, const Place& place);
  /// Clears a buffer: its type is not known, and it has no memory.
  void clear(size_t i);

  size_t size() const { return buffers_.size(); }
  const intarsia_plugin_buffer& operator[](size_t i) const { return buffers_[i]; }
  const intarsia_plugin_buffer* const* get() const { return pointers_.data(); }
  intarsia_plugin_buffer* const* get() { return pointers_.data(); }

 private:
  std::vector<intarsia_plugin_buffer> buffers_;
  std::vector<intarsia_plugin_buffer*> pointers_;
};

/// Returns the dtype and shape that a plug-in has written. Error: not a dtype of numbers, or not a shape.
Result<TensorView> read_type(const intarsia_plugin_buffer& buffer);

}  // namespace intarsia::plugin
