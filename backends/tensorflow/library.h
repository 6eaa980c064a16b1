// TensorFlow, found on the machine and opened once per process. None of it is linked: a program that needs
// it on a machine that lacks it is an error with a remedy.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "backends/tensorflow/api.h"
#include "base/code/foreign_library.h"
#include "base/result.h"

namespace intarsia::tf {

/// Oldest minor version: 2.15 and newer of major version 2 are supported.
inline constexpr int oldest_minor_version = 15;

class Library {
 public:
  /// Returns the process's library, opened on first use (or found, if Python has already imported it). After
  /// a failure the next call tries again. Thread-safe. The process's environment, in which TensorFlow finds
  /// some of its settings, and its standard error are left alone.
  static Result<const Library*> get();

  const Api& api() const { return api_; }
  const std::string& version() const { return version_; }  // "2.21.0"
  const std::string& path() const { return path_; }

  /// Loads a library of the user's own operators; a second call does nothing. Thread-safe.
  Status load_operators(const std::string& path) const;

 private:
  static Result<std::unique_ptr<Library>> open();

  Api api_{};
  std::string version_;
  std::string path_;
  mutable std::mutex mutex_;  // guards loaded_
  mutable std::set<std::string> loaded_;
};

/// Status of the library for one call: `check` turns it into ours.
class CallStatus {
 public:
  explicit CallStatus(const Library& library) : library_(library), status_(library.api().new_status()) {}
  ~CallStatus() { library_.api().delete_status(status_); }
  CallStatus(const CallStatus&) = delete;
  CallStatus& operator=(const CallStatus&) = delete;
  operator TF_Status*() const { return status_; }
  Status check() const;

 private:
  const Library& library_;
  TF_Status* status_;
};

}  // namespace intarsia::tf
