#include "runtime/fallback_session.h"

#include <algorithm>

#include "runtime/find_function.h"

namespace intarsia {
namespace {

bool uses_device(const fbs::FunctionT& function) {
  return std::ranges::any_of(function.values, [](const auto& value) { return value->space != host_space; });
}

}  // namespace

Result<FallbackSession> FallbackSession::open(std::shared_ptr<const LoadedProgram> program,
                                              BindOptions options) {
  FallbackSession made(std::move(program), std::move(options));
  TRY(made.bind({}));
  return made;
}

Result<FallbackSession> FallbackSession::open_another() const {
  FallbackSession other(program_, given_);
  other.options_ = options_;
  other.session_ = TRY(Session::create(session_->shared_program(), options_.session));
  return other;
}

FallbackSession::Hooks FallbackSession::hooks() const {
  return session_ ? Hooks{session_->trace(), session_->dump()} : Hooks();
}

/// Binds and creates a session. The loop ends, as each round but the last passes over another alternative.
Status FallbackSession::bind(const Hooks& hooks) {
  while (true) {
    const std::shared_ptr<const BoundProgram> bound = TRY(bind_program(program_, options_));
    Result<Session> session = Session::create(bound, options_.session);
    if (session) {
      session_ = std::move(*session);
      session_->set_trace(hooks.trace);
      session_->set_dump(hooks.dump);
      return {};
    }
    const Error& error = session.error();
    const bool is_of_device = error.kind == ErrorKind::device_lost || error.kind == ErrorKind::out_of_memory;
    if (!is_of_device || !pass_over_devices(*bound, error.message)) return tl::unexpected(error);
  }
}

/// Passes over a function's alternative; returns false if none may be tried after it.
bool FallbackSession::pass_over(const BoundProgram& bound, size_t function, const std::string& reason) {
  const BoundFunction& now = bound.functions[function];
  const auto& functions = bound.description().functions;
  const bool is_chosen = options_.stage || options_.alternative;
  if (is_chosen || now.alternative >= functions[function]->alternatives.size()) return false;
  options_.passed_over.resize(functions.size());
  options_.passed_over[function] = {now.alternative + 1,
                                    now.reason + (now.reason.empty() ? "" : "; ") + reason};
  return true;
}

/// Passes over the alternatives of all functions that need more than the host.
bool FallbackSession::pass_over_devices(const BoundProgram& bound, const std::string& reason) {
  bool is_passed = false;
  for (size_t i = 0; i < bound.functions.size(); ++i)
    if (uses_device(*bound.functions[i].function)) is_passed |= pass_over(bound, i, reason);
  return is_passed;
}

bool FallbackSession::fall_back(std::string_view name, Error& error) {
  if (error.kind != ErrorKind::device_lost || options_.on_device_lost == OnDeviceLost::error) return false;
  const Session& lost = *session_;
  const Result<size_t> function = find_function(lost.program(), name);
  const BindOptions before = options_;
  if (!function || !pass_over(lost.program(), *function, error.message)) return false;
  if (const Status bound = bind(hooks()); !bound) {
    error.message = bound.error().message;
    options_ = before;
    return false;
  }
  return true;
}

Status FallbackSession::reopen() {
  const Hooks kept = hooks();
  session_.reset();
  options_ = given_;
  return bind(kept);
}

}  // namespace intarsia
