// Memory of a CUDA device.
#pragma once

#include <utility>

#include "device/cuda/devices.h"
#include "device/memory_space.h"

namespace intarsia {

/// Memory that a Place refers to in such a space.
struct CudaMemory {
  const CudaDevice* device;
  CudaPointer address;

  CudaMemory(const CudaDevice& device, CudaPointer address) : device(&device), address(address) {}
  ~CudaMemory();
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  static CudaPointer of(const void* memory) { return static_cast<const CudaMemory*>(memory)->address; }
};

/// Queue that runs its commands in order, in parallel with other queues.
class CudaQueue {
 public:
  static Result<CudaQueue> make(const CudaDevice& device);
  CudaQueue(CudaQueue&& from) noexcept
      : device_(from.device_), stream_(std::exchange(from.stream_, nullptr)) {}
  CudaQueue& operator=(CudaQueue&&) = delete;
  ~CudaQueue();
  CudaStream get() const { return stream_; }

 private:
  CudaQueue(const CudaDevice& device, CudaStream stream) : device_(&device), stream_(stream) {}
  const CudaDevice* device_;
  CudaStream stream_;
};

/// Memory space of a CUDA device. Values lie at any multiple of their element size: kernels get their memory
/// and an offset.
class CudaSpace : public MemorySpace {
 public:
  /// Makes the space of the device called `name` ("cuda:0"), which lives as long as the process. Error: the
  /// device refuses.
  static Result<std::shared_ptr<CudaSpace>> make(const std::string& name, const CudaDevice& device);

  const CudaDevice& device() const { return device_; }

  Result<Memory> allocate(size_t bytes) override;
  /// Allocates pinned host memory, which all devices can access.
  Result<std::shared_ptr<void>> allocate_staging(size_t bytes) override;
  void* address(const Place&) const override { return nullptr; }
  Status upload(const Place& to, const void* from, size_t bytes, TimeSpan* ran = nullptr) override;
  Status download(void* to, const Place& from, size_t bytes, TimeSpan* ran = nullptr) override;
  Status move(const Place& to, const Place& from, size_t bytes) override;
  /// Returns true for spaces of CUDA devices.
  bool can_copy_from(const MemorySpace& other) const override;
  Status copy_from(MemorySpace& other, const Place& to, const Place& from, size_t bytes,
                   TimeSpan* ran = nullptr) override;

 private:
  CudaSpace(const std::string& name, const CudaDevice& device, CudaQueue queue)
      : MemorySpace(name), device_(device), api_(*device.api), queue_(std::move(queue)) {}
  Result<CudaPointer> create(size_t bytes) const;
  Status finish(CudaCode enqueued, const char* function) const;
  Status copy(CudaPointer to, CudaPointer from, size_t bytes) const;

  const CudaDevice& device_;
  const CudaApi& api_;
  CudaQueue queue_;  // runs copies, in parallel with kernels
};

}  // namespace intarsia
