// Memory of a plug-in's device.
#pragma once

#include <memory>

#include "device/memory_space.h"
#include "device/plugin/device.h"

namespace intarsia {

class PluginSpace : public MemorySpace {
 public:
  explicit PluginSpace(std::shared_ptr<const PluginDevice> device)
      : MemorySpace(device->name()), device_(std::move(device)) {}

  size_t alignment() const override { return device_->runtime().alignment; }
  Result<Memory> allocate(size_t bytes) override;
  Result<std::shared_ptr<void>> allocate_staging(size_t bytes) override;
  void* address(const Place&) const override { return nullptr; }
  Status upload(const Place& to, const void* from, size_t bytes, TimeSpan* ran = nullptr) override;
  Status download(void* to, const Place& from, size_t bytes, TimeSpan* ran = nullptr) override;
  Status move(const Place& to, const Place& from, size_t bytes) override;
  /// Returns true for spaces of the same plug-in, if it can copy between devices.
  bool can_copy_from(const MemorySpace& other) const override;
  Status copy_from(MemorySpace& other, const Place& to, const Place& from, size_t bytes,
                   TimeSpan* ran = nullptr) override;

 private:
  std::shared_ptr<const PluginDevice> device_;
};

}  // namespace intarsia
