// A plug-in (include/intarsia/plugin.h), opened and checked.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "include/intarsia/plugin.h"

namespace intarsia {

/// Fields of its structs that its header lacks are zero. Its library stays open as long as the process lives:
/// nobody knows which threads it has.
class Plugin {
 public:
  /// Errors: no regular file, no library, no `intarsia_plugin_entry`, another ABI, a struct that is too
  /// short, a name that cannot be, a function that is missing.
  static Result<std::shared_ptr<const Plugin>> open(const std::string& path);

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& path() const { return path_; }
  /// "plug-in 'toy_npu' 1.0"
  const std::string& who() const { return who_; }
  /// Null: it only runs programs.
  const intarsia_plugin_compiler* compiler() const { return compiler_ ? &*compiler_ : nullptr; }
  const intarsia_plugin_runtime& runtime() const { return runtime_; }
  /// The same library, whatever it was opened by.
  bool is_same(const Plugin& other) const { return table_ == other.table_; }

 private:
  Plugin() = default;
  Status read();

  const intarsia_plugin* table_ = nullptr;
  std::string path_, name_, version_, who_;
  std::optional<intarsia_plugin_compiler> compiler_;
  intarsia_plugin_runtime runtime_{};
};

/// Of a version, what must be the same where a program is compiled and where it runs: what is before the
/// first dot.
std::string major_of(const std::string& version);

}  // namespace intarsia
