#include "cli/results/trace.h"

#include <intarsia/intarsia.hpp>

Trace::Trace(intarsia_session* session) : session_(session) {
  intarsia::detail::check(intarsia_session_set_trace(session, record, this));
}

Trace::~Trace() { intarsia_error_release(intarsia_session_set_trace(session_, nullptr, nullptr)); }

void Trace::record(void* user, const intarsia_trace_event* event) {
  auto& trace = *static_cast<Trace*>(user);
  const std::lock_guard lock(trace.mutex_);
  trace.slices_.push_back(
      {"session", event->device, event->name, event->kind, event->begin_ns, event->end_ns});
}

void Trace::write(const std::string& path) const { write_trace(path, slices_); }
