// Native code in this process that others cannot change.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace intarsia {

/// Shared object, loaded from a private copy. Two loads have separate code, whether of the same bytes or of a
/// file before and after its replacement.
class LoadedCode {
 public:
  /// Loads a library. Debuggers and /proc/self/maps show `name`.
  static Result<LoadedCode> load(std::span<const std::byte> library, const std::string& name);

  /// Returns the address of an exported symbol, or null.
  void* symbol(const std::string& name) const;

 private:
  explicit LoadedCode(std::shared_ptr<void> handle) : handle_(std::move(handle)) {}
  std::shared_ptr<void> handle_;
};

}  // namespace intarsia
