#include "cli/results/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <intarsia/intarsia.hpp>
#include <map>
#include <tuple>

#include "cli/system/files.h"
#include "cli/text/print.h"

namespace {

/// Numbers of groups and rows, by which viewers sort them.
class TraceRows {
 public:
  struct Place {
    int group = 0, row = 0;
  };

  /// Places a slice. Slices come in the order of their start times; of two that start together, the longer
  /// first.
  Place put(const TraceSlice& slice) {
    std::vector<Row>& rows = rows_[{slice.group, slice.row}];
    for (Row& row : rows)
      if (row.takes(slice)) return row.place;
    const auto [group, is_new] = groups_.try_emplace(slice.group, static_cast<int>(groups_.size()) + 1);
    if (is_new) name("process", {group->second, 0}, slice.group);
    Row& row = rows.emplace_back(Row{{group->second, ++row_count_}, {}});
    const std::string suffix = rows.size() > 1 ? fmt::format(" #{}", rows.size()) : "";
    name("thread", row.place, slice.row + suffix);
    row.takes(slice);
    return row.place;
  }
  /// Returns the metadata events.
  const Json& names() const { return names_; }

 private:
  struct Row {
    Place place;
    std::vector<int64_t> open;  // ends of open slices, each within the previous one

    bool takes(const TraceSlice& slice) {
      while (!open.empty() && open.back() <= slice.begin_ns) open.pop_back();
      if (!open.empty() && open.back() < slice.end_ns) return false;
      open.push_back(slice.end_ns);
      return true;
    }
  };

  void name(const std::string& what, const Place& place, const std::string& name) {
    const int number = what == "process" ? place.group : place.row;
    const auto add = [&](const char* field, Json arguments) {
      names_.push_back({{"name", what + field},
                        {"ph", "M"},
                        {"pid", place.group},
                        {"tid", place.row},
                        {"args", std::move(arguments)}});
    };
    add("_name", {{"name", name}});
    add("_sort_index", {{"sort_index", number}});
  }

  std::map<std::pair<std::string, std::string>, std::vector<Row>> rows_;
  std::map<std::string, int> groups_;
  int row_count_ = 0;
  Json names_ = Json::array();
};

/// Arrows that follow a frame: they have its number, and bind to the slices in which they start and end.
class TraceArrows {
 public:
  explicit TraceArrows(const std::vector<TraceSlice>& slices) {
    for (const TraceSlice& slice : slices)
      if (slice.has_arrow) ++frames_[*slice.frame].slices;
  }

  /// Returns "s", "t" or "f"; null if the frame has only this slice.
  const char* next_phase(uint64_t frame) {
    Arrows& arrows = frames_.at(frame);
    const size_t number = arrows.seen++;
    if (arrows.slices == 1) return nullptr;
    return number == 0 ? "s" : number + 1 < arrows.slices ? "t" : "f";
  }

 private:
  struct Arrows {
    size_t slices = 0, seen = 0;
  };
  std::map<uint64_t, Arrows> frames_;
};

Json make_event(const TraceSlice& slice, double begin_us, const Json& where) {
  Json event{{"name", slice.name},
             {"cat", slice.category},
             {"ph", "X"},
             {"ts", begin_us},
             {"dur", static_cast<double>(slice.end_ns - slice.begin_ns) / 1e3}};
  event.update(where);
  if (slice.frame) event["args"] = {{"frame", *slice.frame}};
  return event;
}

Json make_arrow(const char* phase, uint64_t frame, double begin_us, const Json& where) {
  Json event{{"name", "frame"}, {"cat", "frame"}, {"ph", phase}, {"id", frame}, {"ts", begin_us}};
  if (*phase == 'f') event["bp"] = "e";  // arrow ends in the slice around it, not at the next one
  event.update(where);
  return event;
}

}  // namespace

void write_trace(const std::string& path, std::vector<TraceSlice> slices) {
  const auto order = [](const TraceSlice& slice) {
    return std::make_tuple(slice.begin_ns, -slice.end_ns, slice.category == "kernel");
  };
  std::stable_sort(slices.begin(), slices.end(),
                   [&](const TraceSlice& a, const TraceSlice& b) { return order(a) < order(b); });
  TraceRows rows;
  TraceArrows arrows(slices);
  Json events = Json::array();
  for (const TraceSlice& slice : slices) {
    const TraceRows::Place place = rows.put(slice);
    const Json where{{"pid", place.group}, {"tid", place.row}};
    const double begin_us = static_cast<double>(slice.begin_ns - slices[0].begin_ns) / 1e3;
    events.push_back(make_event(slice, begin_us, where));
    const char* phase = slice.has_arrow ? arrows.next_phase(*slice.frame) : nullptr;
    if (phase != nullptr) events.push_back(make_arrow(phase, *slice.frame, begin_us, where));
  }
  Json all = rows.names();
  all.insert(all.end(), events.begin(), events.end());
  const Json trace{{"traceEvents", std::move(all)}, {"displayTimeUnit", "ms"}};
  write_file(path, {trace.dump(1, ' ', false, Json::error_handler_t::replace), "\n"});
}
