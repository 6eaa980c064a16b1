// ONNX Runtime, found on the machine and opened once per process. None of it is linked: a program that needs
// it on a machine that lacks it is an error with a remedy.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "backends/onnxruntime/api.h"
#include "base/code/foreign_library.h"
#include "base/core_set.h"
#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia::ort {

/// Oldest version that has all slots of Api; a library of major version 2 would be another API.
inline constexpr int oldest_minor_version = 16;

/// Returns the search: INTARSIA_ONNXRUNTIME, "libonnxruntime.so.1", the Python environments around our own
/// library.
LibrarySearch default_search();

/// Pool of threads, shared by the sessions that want exactly this one.
struct SharedPool {
  int threads = 1;               // includes the caller of a run; 1: no pool
  std::optional<CoreSet> cores;  // cores that its threads are pinned to; nullopt: not pinned
  bool operator==(const SharedPool&) const = default;
};

/// Environment that sessions share and keep alive.
struct Environment {
  Environment(const Api& of, Env* made, SharedPool its) : api(of), env(made), pool(std::move(its)) {}
  ~Environment() { api.release_env(env); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  const Api& api;
  Env* env;
  SharedPool pool;
};

/// Opened library (log level: errors). Lives until the process ends.
class Library {
 public:
  /// Returns the process's library, opened on first use. After a failure the next call tries again.
  /// Thread-safe.
  static Result<const Library*> get();
  /// Opens what the search finds. Fails with all places that were searched, or with the version found and
  /// wanted.
  static Result<std::unique_ptr<Library>> open(const LibrarySearch& search);

  const Api& api() const { return api_; }
  const std::string& version() const { return version_; }  // "1.31.1"
  const std::string& path() const { return path_; }
  /// Returns the process's only environment, made for the first session and released with the last. That
  /// first session determines its pool. A later session may get another pool than it wants, and no session
  /// gets one if other code in the process made the environment. Thread-safe.
  Result<std::shared_ptr<const Environment>> environment(const SharedPool& wanted) const;
  Allocator* allocator() const { return allocator_; }           // CPU, the library's own heap
  const MemoryInfo* cpu_memory() const { return cpu_memory_; }  // describes buffers in host memory

  /// Turns a status of the library into ours and releases it.
  Status check(OrtStatus* status) const;

 private:
  Library(void* const* table, std::string version, std::string path)
      : api_(table), version_(std::move(version)), path_(std::move(path)) {}
  Status start();
  Result<std::shared_ptr<const Environment>> make_environment(const SharedPool& pool) const;

  Api api_;
  std::string version_;
  std::string path_;
  mutable std::mutex mutex_;  // guards environment_
  mutable std::weak_ptr<const Environment> environment_;
  Allocator* allocator_ = nullptr;
  MemoryInfo* cpu_memory_ = nullptr;
};

}  // namespace intarsia::ort
