#include "pipeline_trace.h"

#include <fmt/format.h>

#include <intarsia/intarsia.hpp>
#include <map>
#include <set>

#include "files.h"
#include "print.h"

std::string row_name(const std::string& stage, uint32_t replica) {
  return replica == 0 ? stage : fmt::format("{} #{}", stage, replica + 1);
}

void PipelineTrace::record(void* user, const intarsia_frame_event* event) {
  static_cast<PipelineTrace*>(user)->slices_.push_back(
      {row_name(event->stage, event->replica), event->frame, event->begin_ns, event->end_ns});
}

void PipelineTrace::write(const std::string& path) const {
  Json events = Json::array();
  std::map<std::string, int> rows;
  std::set<uint64_t> begun;  // frames
  for (const StageSlice& slice : slices_) {
    const auto [row, is_new] = rows.try_emplace(slice.row, static_cast<int>(rows.size()) + 1);
    const Json where{{"pid", 1}, {"tid", row->second}};
    const auto add = [&](Json event) {
      event.update(where);
      events.push_back(std::move(event));
    };
    if (is_new) add({{"name", "thread_name"}, {"ph", "M"}, {"args", {{"name", slice.row}}}});
    const double begin = static_cast<double>(slice.begin_ns) / 1e3;
    add({{"name", fmt::format("frame {}", slice.frame)},
         {"cat", "stage"},
         {"ph", "X"},
         {"ts", begin},
         {"dur", static_cast<double>(slice.end_ns - slice.begin_ns) / 1e3},
         {"args", {{"frame", slice.frame}}}});
    // The arrows of one frame have its number, and bind to the slices that they lie in.
    const char* phase = begun.insert(slice.frame).second ? "s" : "t";
    add({{"name", "frame"}, {"cat", "frame"}, {"ph", phase}, {"id", slice.frame}, {"ts", begin}});
  }
  const Json trace{{"traceEvents", events}, {"displayTimeUnit", "ms"}};
  write_file(path, {trace.dump(1, ' ', false, Json::error_handler_t::replace), "\n"});
}
