// Native code in this process that nobody else can change.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace intarsia {

/// A shared object, loaded from a private copy: two loads of the same bytes, or of one file before and after
/// it was replaced, each have their own code.
class LoadedCode {
 public:
  /// `name` is for people: debuggers and /proc/self/maps show it.
  static Result<LoadedCode> load(std::span<const std::byte> library, const std::string& name);

  /// Address of an exported symbol, or null.
  void* symbol(const std::string& name) const;

 private:
  explicit LoadedCode(std::shared_ptr<void> handle) : handle_(std::move(handle)) {}
  std::shared_ptr<void> handle_;
};

}  // namespace intarsia
