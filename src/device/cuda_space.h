// The memory of a CUDA device.
#pragma once

#include <utility>

#include "device/cuda_devices.h"
#include "device/memory_space.h"

namespace intarsia {

/// What a Place's memory is in such a space.
struct CudaMemory {
  const CudaDevice* device;
  CudaPointer address;

  CudaMemory(const CudaDevice& device, CudaPointer address) : device(&device), address(address) {}
  ~CudaMemory();
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  static CudaPointer of(const void* memory) { return static_cast<const CudaMemory*>(memory)->address; }
};

/// A queue of commands that runs them in order, beside all other queues.
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

/// Values lie at any multiple of their element size: kernels get their memory and an offset.
class CudaSpace : public MemorySpace {
 public:
  /// `name`: of the device, "cuda:0". `device` lives as long as the process. Error: the device refuses.
  static Result<std::shared_ptr<CudaSpace>> make(const std::string& name, const CudaDevice& device);

  const CudaDevice& device() const { return device_; }

  Result<Memory> allocate(size_t bytes) override;
  /// Memory of the host that stays where it is, which every device reaches.
  Result<std::shared_ptr<void>> allocate_staging(size_t bytes) override;
  void* address(const Place&) const override { return nullptr; }
  Status upload(const Place& to, const void* from, size_t bytes, TimeSpan* ran = nullptr) override;
  Status download(void* to, const Place& from, size_t bytes, TimeSpan* ran = nullptr) override;
  Status move(const Place& to, const Place& from, size_t bytes) override;
  /// From all other CUDA devices.
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
  CudaQueue queue_;  // of copies, which so run beside kernels
};

}  // namespace intarsia
