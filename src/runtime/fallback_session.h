// Sessions that go on with their program's alternatives when a device fails.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "runtime/session.h"

namespace intarsia {

/// Session that falls back to alternatives; one call at a time, as for Session. Move-only.
class FallbackSession {
 public:
  /// Opens a session, as bind_program() and Session::create(). A function whose device is lost, or has no
  /// memory for its runs, gets its next alternative.
  static Result<FallbackSession> open(std::shared_ptr<const LoadedProgram> program, BindOptions options);

  /// Makes one without a session, until reopen() has worked.
  FallbackSession(std::shared_ptr<const LoadedProgram> program, BindOptions options)
      : program_(std::move(program)), given_(options), options_(std::move(options)) {}

  /// Opens another session of the same program, bound as this one is, with its constants and code.
  Result<FallbackSession> open_another() const;

  bool is_open() const { return session_.has_value(); }
  /// Returns the session. fall_back() and reopen() replace it and keep its trace and dump.
  Session& session() { return *session_; }
  const Session& session() const { return *session_; }

  /// Handles the error of a run of a function (empty: the only one). Returns true if a device was lost and an
  /// alternative has taken over, so that the run can be repeated from its inputs. Otherwise the error also
  /// tells why an alternative failed to take over.
  bool fall_back(std::string_view function, Error& error);

  /// Binds again as at first, with lost devices opened anew. After an error there is no session.
  Status reopen();

 private:
  /// Hooks that a session passes on to the one that replaces it.
  struct Hooks {
    TraceCallback trace;
    DumpHook dump;
  };
  Hooks hooks() const;
  Status bind(const Hooks& hooks);
  bool pass_over(const BoundProgram& bound, size_t function, const std::string& reason);
  bool pass_over_devices(const BoundProgram& bound, const std::string& reason);

  std::shared_ptr<const LoadedProgram> program_;
  BindOptions given_, options_;  // options as opened, and the current ones
  std::optional<Session> session_;
};

}  // namespace intarsia
