#include "device/plugin/space.h"

#include <algorithm>

namespace intarsia {

Result<Memory> PluginSpace::allocate(size_t bytes) {
  intarsia_plugin_memory memory = nullptr;
  TRY(with_context(device_->call("allocate",
                                 [&](const auto* message) {
                                   return device_->runtime().allocate(
                                       device_->handle(), std::max<size_t>(bytes, 1), &memory, message);
                                 }),
                   "cannot allocate {} bytes", bytes));
  if (memory == nullptr) return device_->wrong_answer("allocate", "it gave no memory");
  const auto free = [device = device_](void* one) {
    device->release([&] { device->runtime().free_memory(device->handle(), one); });
  };
  return Memory(std::shared_ptr<void>(memory, free), bytes);
}

Result<std::shared_ptr<void>> PluginSpace::allocate_staging(size_t bytes) {
  const intarsia_plugin_runtime& runtime = device_->runtime();
  if (runtime.allocate_staging == nullptr) return MemorySpace::allocate_staging(bytes);
  void* memory = nullptr;
  TRY(device_->call("allocate_staging", [&](const auto* message) {
    return runtime.allocate_staging(device_->handle(), std::max<size_t>(bytes, 1), &memory, message);
  }));
  if (memory == nullptr) return device_->wrong_answer("allocate_staging", "it gave no memory");
  return std::shared_ptr<void>(memory, [device = device_](void* one) {
    device->release([&] { device->runtime().free_staging(device->handle(), one); });
  });
}

Status PluginSpace::upload(const Place& to, const void* from, size_t bytes, TimeSpan*) {
  count_upload(bytes);
  if (bytes == 0) return {};
  return device_->call_and_wait("upload", [&](auto* event, const auto* message) {
    return device_->runtime().upload(device_->handle(), to.memory, to.offset, from, bytes, event, message);
  });
}

Status PluginSpace::download(void* to, const Place& from, size_t bytes, TimeSpan*) {
  count_download(bytes);
  if (bytes == 0) return {};
  return device_->call_and_wait("download", [&](auto* event, const auto* message) {
    return device_->runtime().download(device_->handle(), to, from.memory, from.offset, bytes, event,
                                       message);
  });
}

Status PluginSpace::move(const Place& to, const Place& from, size_t bytes) {
  if (bytes == 0 || (to.memory == from.memory && to.offset == from.offset)) return {};
  return device_->call_and_wait("move", [&](auto* event, const auto* message) {
    return device_->runtime().move(device_->handle(), to.memory, to.offset, from.memory, from.offset, bytes,
                                   event, message);
  });
}

bool PluginSpace::can_copy_from(const MemorySpace& other) const {
  const auto* of_plugin = dynamic_cast<const PluginSpace*>(&other);
  return of_plugin != nullptr && device_->runtime().copy_from != nullptr &&
         of_plugin->device_->plugin().is_same(device_->plugin());
}

Status PluginSpace::copy_from(MemorySpace& other, const Place& to, const Place& from, size_t bytes,
                              TimeSpan*) {
  if (!can_copy_from(other)) return MemorySpace::copy_from(other, to, from, bytes);
  count_direct(bytes);
  if (bytes == 0) return {};
  const PluginDevice& source = *static_cast<const PluginSpace&>(other).device_;
  return device_->call_and_wait("copy_from", [&](auto* event, const auto* message) {
    return device_->runtime().copy_from(device_->handle(), to.memory, to.offset, source.handle(), from.memory,
                                        from.offset, bytes, event, message);
  });
}

}  // namespace intarsia
