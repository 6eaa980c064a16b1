// Pipelines of a build without them: their functions refuse.
#include "api/handles.h"
#include "base/left_out.h"
#include "include/intarsia/intarsia_pipeline.h"
#include "pipeline/time_histogram.h"

namespace intarsia::api {
namespace {

intarsia_error* no_pipelines() {
  return guarded([]() -> Status { return left_out("pipelines", "INTARSIA_WITH_PIPELINES"); });
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_pipeline_builder_create(intarsia_pipeline_builder**) { return no_pipelines(); }
void intarsia_pipeline_builder_release(intarsia_pipeline_builder*) {}
intarsia_error* intarsia_pipeline_add_program(intarsia_pipeline_builder*, const char*,
                                              const intarsia_program*, const char*,
                                              const intarsia_bind_options*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_add_stages(intarsia_pipeline_builder*, const intarsia_program*,
                                             const char*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_add_replica(intarsia_pipeline_builder*, const char*,
                                              const intarsia_bind_options*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_add_replica_program(intarsia_pipeline_builder*, const char*,
                                                      const intarsia_program*, const char*,
                                                      const intarsia_bind_options*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_add_function(intarsia_pipeline_builder*, const intarsia_stage_function*) {
  return no_pipelines();
}
uint64_t intarsia_stage_call_frame(const intarsia_stage_call*) { return 0; }
intarsia_error* intarsia_stage_call_allocate(intarsia_stage_call*, size_t, int32_t, size_t, const int64_t*,
                                             void**) {
  return no_pipelines();
}
intarsia_error* intarsia_stage_call_give(intarsia_stage_call*, size_t, const intarsia_tensor*,
                                         intarsia_release, void*) {
  return no_pipelines();
}
intarsia_error* intarsia_stage_call_keep(intarsia_stage_call*, size_t, intarsia_tensor*) {
  return no_pipelines();
}
void intarsia_stage_call_fail(intarsia_stage_call*, const char*) {}
void intarsia_stage_call_drop(intarsia_stage_call*, const char*) {}
intarsia_error* intarsia_pipeline_set_stage_options(intarsia_pipeline_builder*, const char*,
                                                    const intarsia_stage_options*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_connect(intarsia_pipeline_builder*, const char*, const char*, const char*,
                                          const char*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_connect_by_name(intarsia_pipeline_builder*) { return no_pipelines(); }
intarsia_error* intarsia_pipeline_read(intarsia_pipeline_builder*, const char*) { return no_pipelines(); }
intarsia_error* intarsia_pipeline_start(intarsia_pipeline_builder*, const intarsia_pipeline_options*,
                                        intarsia_pipeline**) {
  return no_pipelines();
}
void intarsia_pipeline_release(intarsia_pipeline*) {}
intarsia_error* intarsia_pipeline_describe(const intarsia_pipeline*, intarsia_pipeline_info*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_input(const intarsia_pipeline*, size_t, intarsia_argument*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_output(const intarsia_pipeline*, size_t, intarsia_argument*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_push(intarsia_pipeline*, int64_t, const intarsia_tensor*, size_t,
                                       const intarsia_frame_owner*, int32_t*, uint64_t*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_push_frame(intarsia_pipeline*, int64_t, const intarsia_tensor*, size_t,
                                             const intarsia_frame_owner*, const intarsia_frame_options*,
                                             int32_t*, uint64_t*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_pop(intarsia_pipeline*, int64_t, intarsia_tensor*, size_t,
                                      intarsia_frame*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_finish(intarsia_pipeline*) { return no_pipelines(); }
intarsia_error* intarsia_pipeline_cancel(intarsia_pipeline*) { return no_pipelines(); }
intarsia_error* intarsia_pipeline_stage(const intarsia_pipeline*, size_t, intarsia_stage_statistics*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_frames(const intarsia_pipeline*, intarsia_frame_statistics*) {
  return no_pipelines();
}
int64_t intarsia_time_bucket_bound_ns(size_t bucket) { return TimeHistogram::bound_ns(bucket); }
intarsia_error* intarsia_pipeline_times(const intarsia_pipeline*, int32_t, size_t, intarsia_time_histogram*) {
  return no_pipelines();
}
intarsia_error* intarsia_pipeline_replica(const intarsia_pipeline*, size_t, size_t,
                                          intarsia_replica_statistics*) {
  return no_pipelines();
}
