// Sink for what the compile half of a plug-in makes of a region.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/tensor_view.h"
#include "include/intarsia/plugin.h"

namespace intarsia::plugin {

class CompiledSink {
 public:
  CompiledSink();
  CompiledSink(const CompiledSink&) = delete;
  CompiledSink& operator=(const CompiledSink&) = delete;

  intarsia_plugin_compiled* get() { return &view_; }

  /// Returns the blob; nullopt if the plug-in set none.
  const std::optional<std::string>& blob() const { return blob_; }
  std::vector<Tensor> take_constants() { return std::move(constants_); }
  size_t workspace_bytes() const { return view_.workspace_bytes; }

 private:
  static int32_t set_blob(intarsia_plugin_compiled* compiled, const void* bytes, size_t size);
  static int32_t add_constant(intarsia_plugin_compiled* compiled, const void* data, int32_t dtype,
                              int32_t rank, const int64_t* sizes);

  std::optional<std::string> blob_;
  std::vector<Tensor> constants_;
  intarsia_plugin_compiled view_{};
};

}  // namespace intarsia::plugin
