#include "device/cuda/space.h"

#include <algorithm>

namespace intarsia {
namespace {

constexpr unsigned non_blocking = 1;  // CU_STREAM_NON_BLOCKING: does not wait for the default stream
constexpr unsigned portable = 1;      // CU_MEMHOSTALLOC_PORTABLE: for all devices

CudaPointer address_of(const Place& place) { return CudaMemory::of(place.memory) + place.offset; }

}  // namespace

CudaMemory::~CudaMemory() {
  if (const auto scope = CudaScope::enter(*device)) device->api->cuMemFree(address);
}

Result<CudaQueue> CudaQueue::make(const CudaDevice& device) {
  const CudaScope scope = TRY(CudaScope::enter(device));
  CudaStream stream = nullptr;
  TRY(device.check(device.api->cuStreamCreate(&stream, non_blocking), "cuStreamCreate"));
  return CudaQueue(device, stream);
}

CudaQueue::~CudaQueue() {
  if (stream_ == nullptr) return;
  if (const auto scope = CudaScope::enter(*device_)) device_->api->cuStreamDestroy(stream_);
}

Result<std::shared_ptr<CudaSpace>> CudaSpace::make(const std::string& name, const CudaDevice& device) {
  CudaQueue queue = TRY(CudaQueue::make(device));
  return std::shared_ptr<CudaSpace>(new CudaSpace(name, device, std::move(queue)));
}

/// Checks an enqueued command and waits until our queue is done.
Status CudaSpace::finish(CudaCode enqueued, const char* function) const {
  TRY(device_.check(enqueued, function));
  return device_.check(api_.cuStreamSynchronize(queue_.get()), function);
}

Result<CudaPointer> CudaSpace::create(size_t bytes) const {
  CudaPointer memory = 0;
  const CudaCode code = api_.cuMemAlloc(&memory, std::max<size_t>(bytes, 1));
  if (code == CudaCode::success) return memory;
  size_t free = 0, total = 0;
  api_.cuMemGetInfo(&free, &total);
  return tl::unexpected(with_context(device_.check(code, "cuMemAlloc"),
                                     "cannot allocate {} bytes on {} ({} of {} bytes free): bind another "
                                     "device or pass --memory",
                                     bytes, name(), free, total)
                            .error());
}

Result<Memory> CudaSpace::allocate(size_t bytes) {
  const CudaScope scope = TRY(CudaScope::enter(device_));
  auto memory = std::make_shared<CudaMemory>(device_, TRY(create(bytes)));
  if (bytes > 0)
    TRY(finish(api_.cuMemsetD8Async(memory->address, 0, bytes, queue_.get()), "cuMemsetD8Async"));
  return Memory(std::move(memory), bytes);
}

Result<std::shared_ptr<void>> CudaSpace::allocate_staging(size_t bytes) {
  const CudaScope scope = TRY(CudaScope::enter(device_));
  void* memory = nullptr;
  TRY(device_.check(api_.cuMemHostAlloc(&memory, std::max<size_t>(bytes, 1), portable), "cuMemHostAlloc"));
  return std::shared_ptr<void>(memory, [&device = device_](void* address) {
    if (const auto entered = CudaScope::enter(device)) device.api->cuMemFreeHost(address);
  });
}

Status CudaSpace::upload(const Place& to, const void* from, size_t bytes, TimeSpan*) {
  count_upload(bytes);
  if (bytes == 0) return {};
  const CudaScope scope = TRY(CudaScope::enter(device_));
  return finish(api_.cuMemcpyHtoDAsync(address_of(to), from, bytes, queue_.get()), "cuMemcpyHtoDAsync");
}

Status CudaSpace::download(void* to, const Place& from, size_t bytes, TimeSpan*) {
  count_download(bytes);
  if (bytes == 0) return {};
  const CudaScope scope = TRY(CudaScope::enter(device_));
  return finish(api_.cuMemcpyDtoHAsync(to, address_of(from), bytes, queue_.get()), "cuMemcpyDtoHAsync");
}

Status CudaSpace::copy(CudaPointer to, CudaPointer from, size_t bytes) const {
  return finish(api_.cuMemcpyDtoDAsync(to, from, bytes, queue_.get()), "cuMemcpyDtoDAsync");
}

/// Copies within the space, by way of other memory if the ranges overlap, as the driver cannot copy these.
Status CudaSpace::move(const Place& to, const Place& from, size_t bytes) {
  const CudaPointer target = address_of(to), source = address_of(from);
  if (bytes == 0 || target == source) return {};
  const CudaScope scope = TRY(CudaScope::enter(device_));
  if (std::max(target, source) - std::min(target, source) >= bytes) return copy(target, source, bytes);
  const CudaMemory between(device_, TRY(create(bytes)));
  TRY(copy(between.address, source, bytes));
  return copy(target, between.address, bytes);
}

bool CudaSpace::can_copy_from(const MemorySpace& other) const {
  return dynamic_cast<const CudaSpace*>(&other) != nullptr;
}

Status CudaSpace::copy_from(MemorySpace& other, const Place& to, const Place& from, size_t bytes, TimeSpan*) {
  const auto* source = dynamic_cast<const CudaSpace*>(&other);
  if (source == nullptr) return MemorySpace::copy_from(other, to, from, bytes);
  count_direct(bytes);
  if (bytes == 0) return {};
  const CudaScope scope = TRY(CudaScope::enter(device_));
  return finish(api_.cuMemcpyPeerAsync(address_of(to), device_.context, address_of(from),
                                       source->device_.context, bytes, queue_.get()),
                "cuMemcpyPeerAsync");
}

}  // namespace intarsia
