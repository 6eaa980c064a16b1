// Memory of an OpenCL device.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "device/memory_space.h"
#include "device/opencl/queues.h"

namespace intarsia {

/// Count of allocated bytes of a space. Shared, as its memory may outlive the space.
using HeldBytes = std::shared_ptr<std::atomic<uint64_t>>;

/// Memory that a Place refers to in such a space.
struct OpenclMemory {
  const OpenclApi* api;
  cl_mem object;
  uint64_t bytes;  // bytes on the device; 0 for staging memory, which is on the host
  HeldBytes held;  // count that includes these bytes

  OpenclMemory(const OpenclApi& api, cl_mem object, uint64_t bytes, HeldBytes held)
      : api(&api), object(object), bytes(bytes), held(std::move(held)) {}
  ~OpenclMemory() {
    api->clReleaseMemObject(object);
    held->fetch_sub(bytes);
  }
  OpenclMemory(const OpenclMemory&) = delete;
  OpenclMemory& operator=(const OpenclMemory&) = delete;

  static cl_mem of(const void* memory) { return static_cast<const OpenclMemory*>(memory)->object; }
};

/// Memory space of an OpenCL device. Values lie at any multiple of their element size: kernels get their
/// memory and an offset.
class OpenclSpace : public MemorySpace {
 public:
  /// Makes the space of the device called `name` ("opencl:0"), which lives as long as the process. Error: the
  /// device refuses.
  static Result<std::shared_ptr<OpenclSpace>> make(const std::string& name, const OpenclDevice& device);

  const OpenclDevice& device() const { return queues_.device(); }
  /// Returns the queues of all commands: copies and kernels.
  OpenclQueues& queues() { return queues_; }

  Result<Memory> allocate(size_t bytes) override;
  /// Allocates host memory that the device can access, if it has such.
  Result<std::shared_ptr<void>> allocate_staging(size_t bytes) override;
  void* address(const Place&) const override { return nullptr; }
  Status upload(const Place& to, const void* from, size_t bytes, TimeSpan* ran = nullptr) override;
  Status download(void* to, const Place& from, size_t bytes, TimeSpan* ran = nullptr) override;
  Status move(const Place& to, const Place& from, size_t bytes) override;
  /// Returns true for spaces of devices of its platform.
  bool can_copy_from(const MemorySpace& other) const override;
  Status copy_from(MemorySpace& other, const Place& to, const Place& from, size_t bytes,
                   TimeSpan* ran = nullptr) override;

 private:
  OpenclSpace(const std::string& name, const OpenclDevice& device)
      : MemorySpace(name), queues_(device), device_(device), api_(*device.api) {}
  Result<std::shared_ptr<OpenclMemory>> create(cl_mem_flags flags, size_t bytes) const;
  /// Returns why so many bytes cannot be allocated, and a remedy.
  std::string no_room(uint64_t bytes) const;
  /// Enqueues a command by `enqueue(queue, event)`, a call of `function`, and waits for it.
  template <typename Enqueue>
  Status run_command(const char* function, TimeSpan* ran, const Enqueue& enqueue);
  Status copy(cl_mem to, size_t to_offset, cl_mem from, size_t from_offset, size_t bytes, TimeSpan* ran);

  OpenclQueues queues_;
  const OpenclDevice& device_;
  const OpenclApi& api_;
  HeldBytes held_ = std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace intarsia
