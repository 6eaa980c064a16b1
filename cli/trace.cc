#include "trace.h"

#include <intarsia/intarsia.hpp>
#include <map>

#include "files.h"

Trace::Trace(intarsia_session* session) : session_(session) {
  intarsia::detail::check(intarsia_session_set_trace(session, record, this));
}

Trace::~Trace() { intarsia_error_release(intarsia_session_set_trace(session_, nullptr, nullptr)); }

void Trace::record(void* user, const intarsia_trace_event* event) {
  auto& trace = *static_cast<Trace*>(user);
  const std::lock_guard lock(trace.mutex_);
  trace.events_.push_back({{"name", event->name},
                           {"cat", event->kind},
                           {"tid", event->device},
                           {"ts", static_cast<double>(event->begin_ns) / 1e3},
                           {"dur", static_cast<double>(event->end_ns - event->begin_ns) / 1e3}});
}

void Trace::write(const std::string& path) const {
  Json rows = Json::array();
  std::map<std::string, int> numbers;
  for (Json event : events_) {
    const std::string device = event["tid"];
    const auto [row, is_new] = numbers.try_emplace(device, static_cast<int>(numbers.size()) + 1);
    if (is_new) {
      rows.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 1},
                      {"tid", row->second},
                      {"args", {{"name", device}}}});
    }
    event["ph"] = "X";
    event["pid"] = 1;
    event["tid"] = row->second;
    rows.push_back(std::move(event));
  }
  const Json trace{{"traceEvents", rows}, {"displayTimeUnit", "ms"}};
  write_file(path, {trace.dump(1, ' ', false, Json::error_handler_t::replace), "\n"});
}
