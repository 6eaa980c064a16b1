#include "cli/results/pipeline_trace.h"

#include <fmt/format.h>

std::string row_name(const std::string& stage, uint32_t replica) {
  return replica == 0 ? stage : fmt::format("{} #{}", stage, replica + 1);
}

void PipelineTrace::record(void* user, const intarsia_frame_event* event) {
  auto& trace = *static_cast<PipelineTrace*>(user);
  const std::string row = row_name(event->stage, event->replica);
  if (event->name == nullptr)
    trace.slices_.push_back({row, event->frame, event->begin_ns, event->end_ns});
  else
    trace.steps_.push_back(
        {row, event->device, event->name, event->kind, event->begin_ns, event->end_ns, event->frame});
}

void PipelineTrace::write(const std::string& path) const {
  std::vector<TraceSlice> all;
  for (const StageSlice& slice : slices_)
    all.push_back({slice.row, "frames", fmt::format("frame {}", slice.frame), "stage", slice.begin_ns,
                   slice.end_ns, slice.frame, true});
  all.insert(all.end(), steps_.begin(), steps_.end());
  write_trace(path, std::move(all));
}
