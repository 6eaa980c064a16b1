// Opened and checked plug-ins (include/intarsia/plugin.h).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "include/intarsia/plugin.h"

namespace intarsia {

/// Open plug-in. Fields that its version of the header lacks are zero. Its library stays open for the life of
/// the process, as its threads are unknown.
class Plugin {
 public:
  /// Opens a plug-in. Errors: not a regular file, not a library, no `intarsia_plugin_entry`, another ABI, a
  /// struct that is too short, an invalid name, a missing function.
  static Result<std::shared_ptr<const Plugin>> open(const std::string& path);

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& path() const { return path_; }
  /// Returns its name for messages: "plug-in 'toy_npu' 1.0".
  const std::string& who() const { return who_; }
  /// Returns its compiler; null if it only runs programs.
  const intarsia_plugin_compiler* compiler() const { return compiler_ ? &*compiler_ : nullptr; }
  const intarsia_plugin_runtime& runtime() const { return runtime_; }
  /// Checks whether both are the same library, even if opened by different paths.
  bool is_same(const Plugin& other) const { return table_ == other.table_; }

 private:
  Plugin() = default;
  Status read();

  const intarsia_plugin* table_ = nullptr;
  std::string path_, name_, version_, who_;
  std::optional<intarsia_plugin_compiler> compiler_;
  intarsia_plugin_runtime runtime_{};
};

/// Returns the part of a version before the first dot, which must be the same where a program is compiled and
/// where it runs.
std::string major_of(const std::string& version);

}  // namespace intarsia
