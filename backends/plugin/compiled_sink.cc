#include "backends/plugin/compiled_sink.h"

#include "base/caught.h"

namespace intarsia::plugin {
namespace {

CompiledSink& sink_of(intarsia_plugin_compiled* compiled) {
  return *static_cast<CompiledSink*>(compiled->host);
}

int32_t status_of(const Status& status) {
  if (status) return INTARSIA_PLUGIN_OK;
  return status.error().kind == ErrorKind::out_of_memory ? INTARSIA_PLUGIN_OUT_OF_MEMORY
                                                         : INTARSIA_PLUGIN_FAILED;
}

}  // namespace

CompiledSink::CompiledSink() {
  view_ = {.struct_size = sizeof(view_),
           .host = this,
           .set_blob = set_blob,
           .add_constant = add_constant,
           .workspace_bytes = 0};
}

int32_t CompiledSink::set_blob(intarsia_plugin_compiled* compiled, const void* bytes, size_t size) {
  return status_of(caught([&]() -> Status {
    sink_of(compiled).blob_.emplace(static_cast<const char*>(bytes), size);
    return {};
  }));
}

int32_t CompiledSink::add_constant(intarsia_plugin_compiled* compiled, const void* data, int32_t dtype,
                                   int32_t rank, const int64_t* sizes) {
  return status_of(caught([&]() -> Status {
    const bool is_known = dtype > 0 && dtype < dtype_count && dtype != static_cast<int32_t>(DType::string) &&
                          rank >= 0 && rank <= INTARSIA_PLUGIN_MAX_RANK;
    if (!is_known) return fail("a constant of dtype {} and rank {}", dtype, rank);
    const ConstTensorView view(data, static_cast<DType>(dtype), Shape(sizes, sizes + rank));
    TRY(checked_elements(view.shape));
    sink_of(compiled).constants_.emplace_back(view);
    return {};
  }));
}

}  // namespace intarsia::plugin
