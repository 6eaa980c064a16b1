// The memory of an OpenCL device.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "device/memory_space.h"
#include "device/opencl_queues.h"

namespace intarsia {

/// Bytes of a space's memory that are allocated. Pieces of it outlive the space.
using HeldBytes = std::shared_ptr<std::atomic<uint64_t>>;

/// What a Place's memory is in such a space.
struct OpenclMemory {
  const OpenclApi* api;
  cl_mem object;
  uint64_t bytes;  // of the device; the host has those of staging memory
  HeldBytes held;  // these are in it

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

/// Values lie at any multiple of their element size: kernels get their memory and an offset.
class OpenclSpace : public MemorySpace {
 public:
  /// `name`: of the device, "opencl:0". `device` lives as long as the process. Error: the device refuses.
  static Result<std::shared_ptr<OpenclSpace>> make(const std::string& name, const OpenclDevice& device);

  const OpenclDevice& device() const { return queues_.device(); }
  /// Of all commands: copies, and kernels.
  OpenclQueues& queues() { return queues_; }

  Result<Memory> allocate(size_t bytes) override;
  /// Memory of the host that the device can reach, if it has such.
  Result<std::shared_ptr<void>> allocate_staging(size_t bytes) override;
  void* address(const Place&) const override { return nullptr; }
  Status upload(const Place& to, const void* from, size_t bytes, TimeSpan* ran = nullptr) override;
  Status download(void* to, const Place& from, size_t bytes, TimeSpan* ran = nullptr) override;
  Status move(const Place& to, const Place& from, size_t bytes) override;
  /// From other devices of its platform.
  bool can_copy_from(const MemorySpace& other) const override;
  Status copy_from(MemorySpace& other, const Place& to, const Place& from, size_t bytes,
                   TimeSpan* ran = nullptr) override;

 private:
  OpenclSpace(const std::string& name, const OpenclDevice& device)
      : MemorySpace(name), queues_(device), device_(device), api_(*device.api) {}
  Result<std::shared_ptr<OpenclMemory>> create(cl_mem_flags flags, size_t bytes) const;
  /// Why so many bytes cannot be allocated, and what to do.
  std::string no_room(uint64_t bytes) const;
  /// Enqueues a command by `enqueue(queue, event)`, which is `function`, and waits for it.
  template <typename Enqueue>
  Status run_command(const char* function, TimeSpan* ran, const Enqueue& enqueue);
  Status copy(cl_mem to, size_t to_offset, cl_mem from, size_t from_offset, size_t bytes, TimeSpan* ran);

  OpenclQueues queues_;
  const OpenclDevice& device_;
  const OpenclApi& api_;
  HeldBytes held_ = std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace intarsia
