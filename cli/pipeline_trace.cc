#include "pipeline_trace.h"

#include <fmt/format.h>

#include <intarsia/intarsia.hpp>

#include "files.h"

int PipelineTrace::row(const std::string& stage, uint32_t replica) {
  const auto [row, is_new] = rows_.try_emplace({stage, replica}, static_cast<int>(rows_.size()) + 1);
  if (is_new) {
    const std::string name = replica == 0 ? stage : fmt::format("{} #{}", stage, replica + 1);
    events_.push_back(
        {{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", row->second}, {"args", {{"name", name}}}});
  }
  return row->second;
}

void PipelineTrace::record(void* user, const intarsia_frame_event* event) {
  auto& trace = *static_cast<PipelineTrace*>(user);
  const int row = trace.row(event->stage, event->replica);
  const double begin = static_cast<double>(event->begin_ns) / 1e3;
  trace.events_.push_back({{"name", fmt::format("frame {}", event->frame)},
                           {"cat", "stage"},
                           {"ph", "X"},
                           {"pid", 1},
                           {"tid", row},
                           {"ts", begin},
                           {"dur", static_cast<double>(event->end_ns - event->begin_ns) / 1e3},
                           {"args", {{"frame", event->frame}, {"stage", event->stage}}}});
  // The arrows of one frame have its number; steps after the first bind to the slice that they lie in.
  const bool is_first = trace.begun_.insert(event->frame).second;
  trace.events_.push_back({{"name", "frame"},
                           {"cat", "frame"},
                           {"ph", is_first ? "s" : "t"},
                           {"id", event->frame},
                           {"pid", 1},
                           {"tid", row},
                           {"ts", begin}});
}

void PipelineTrace::write(const std::string& path) const {
  const Json trace{{"traceEvents", events_}, {"displayTimeUnit", "ms"}};
  write_file(path, {trace.dump(1, ' ', false, Json::error_handler_t::replace), "\n"});
}
