#include "cli/commands/push_frame.h"

#include <sys/resource.h>

namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

bool try_push_frame(intarsia::Pipeline& pipeline, const std::vector<intarsia_tensor>& inputs,
                    std::shared_ptr<const void> owner) {
  using Owner = std::shared_ptr<const void>;
  auto kept = std::make_unique<Owner>(std::move(owner));
  const intarsia_frame_owner release{[](void* user) { delete static_cast<Owner*>(user); }, kept.get()};
  int32_t pushed = 0;
  intarsia::detail::check(
      intarsia_pipeline_push(pipeline.get(), 0, inputs.data(), inputs.size(), &release, &pushed, nullptr));
  if (pushed != 0) kept.release();
  return pushed != 0;
}

double cpu_seconds_of_process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}
