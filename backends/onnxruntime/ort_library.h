// ONNX Runtime, found on the machine and opened once per process. None of it is linked: a program that needs
// it on a machine that lacks it is an error with a remedy.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "backends/onnxruntime/ort_api.h"
#include "base/core_set.h"
#include "base/foreign_library.h"
#include "base/result.h"
#include "base/tensor_view.h"

namespace intarsia::ort {

/// Oldest version that has all slots of Api; a library of major version 2 would be another API.
inline constexpr int oldest_minor_version = 16;

/// INTARSIA_ONNXRUNTIME, "libonnxruntime.so.1", the Python environments around our own library.
LibrarySearch default_search();

/// The pool of threads that sessions share which want just this one.
struct SharedPool {
  int threads = 1;               // the caller of a run included; 1: none
  std::optional<CoreSet> cores;  // that its threads are held to; empty: to none in particular
  bool operator==(const SharedPool&) const = default;
};

/// What sessions have in common; they keep it alive.
struct Environment {
  Environment(const Api& of, Env* made, SharedPool its) : api(of), env(made), pool(std::move(its)) {}
  ~Environment() { api.release_env(env); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  const Api& api;
  Env* env;
  SharedPool pool;
};

/// One opened library (log level: errors). Lives until the process ends.
class Library {
 public:
  /// The process's library, opened on first use. After a failure the next call tries again. Thread-safe.
  static Result<const Library*> get();
  /// Opens what the search finds. Fails with all places that were searched, or with the version found and
  /// wanted.
  static Result<std::unique_ptr<Library>> open(const LibrarySearch& search);

  const Api& api() const { return api_; }
  const std::string& version() const { return version_; }  // "1.31.1"
  const std::string& path() const { return path_; }
  /// The process's only one, made for the first session and released with the last. That first session
  /// determines its pool; another's wish may not be met, and none is where others in the process made the
  /// environment. Thread-safe.
  Result<std::shared_ptr<const Environment>> environment(const SharedPool& wanted) const;
  Allocator* allocator() const { return allocator_; }           // CPU, the library's own heap
  const MemoryInfo* cpu_memory() const { return cpu_memory_; }  // of buffers in host memory

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
  mutable std::mutex mutex_;  // for what follows
  mutable std::weak_ptr<const Environment> environment_;
  Allocator* allocator_ = nullptr;
  MemoryInfo* cpu_memory_ = nullptr;
};

}  // namespace intarsia::ort
