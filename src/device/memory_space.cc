#include "device/memory_space.h"

#include <cstring>

#include "base/tensor_view.h"

namespace intarsia {
namespace {

std::byte* host_address(const Place& place) { return static_cast<std::byte*>(place.memory) + place.offset; }

void copy_bytes(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memmove(to, from, bytes);
}

class HostMemorySpace : public MemorySpace {
 public:
  HostMemorySpace() : MemorySpace("host") {}

  bool is_host() const override { return true; }
  Result<Memory> allocate(size_t bytes) override { return Memory(TRY(allocate_staging(bytes)), bytes); }
  Result<Memory> reserve(size_t bytes) override {
    std::shared_ptr<void> memory = reserve_aligned(bytes);
    if (memory == nullptr) return fail(ErrorKind::out_of_memory, "cannot reserve {} bytes", bytes);
    return Memory(std::move(memory), bytes);
  }
  void* address(const Place& place) const override { return host_address(place); }
  Status upload(const Place& to, const void* from, size_t bytes, TimeSpan*) override {
    copy_bytes(host_address(to), from, bytes);
    return {};
  }
  Status download(void* to, const Place& from, size_t bytes, TimeSpan*) override {
    copy_bytes(to, host_address(from), bytes);
    return {};
  }
  Status move(const Place& to, const Place& from, size_t bytes) override {
    copy_bytes(host_address(to), host_address(from), bytes);
    return {};
  }
};

}  // namespace

const std::shared_ptr<MemorySpace>& host_memory_space() {
  static const std::shared_ptr<MemorySpace> space = std::make_shared<HostMemorySpace>();
  return space;
}

Result<std::shared_ptr<void>> MemorySpace::allocate_staging(size_t bytes) {
  std::shared_ptr<void> memory = allocate_aligned(bytes);
  if (memory == nullptr)
    return fail(ErrorKind::out_of_memory, "cannot allocate {} bytes in the host's memory", bytes);
  return memory;
}

bool MemorySpace::can_copy_from(const MemorySpace&) const { return false; }

Status MemorySpace::copy_from(MemorySpace& other, const Place&, const Place&, size_t, TimeSpan*) {
  return fail(ErrorKind::internal, "'{}' cannot copy from '{}'", name(), other.name());
}

CopyCounts MemorySpace::copy_counts() const {
  return {uploads_, uploaded_bytes_, downloads_, downloaded_bytes_, direct_, direct_bytes_};
}

void MemorySpace::count_upload(size_t bytes) {
  uploads_.fetch_add(1, std::memory_order_relaxed);
  uploaded_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void MemorySpace::count_download(size_t bytes) {
  downloads_.fetch_add(1, std::memory_order_relaxed);
  downloaded_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void MemorySpace::count_direct(size_t bytes) {
  direct_.fetch_add(1, std::memory_order_relaxed);
  direct_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

bool needs_staging(const MemorySpace& from, const MemorySpace& to) {
  return &from != &to && !from.is_host() && !to.is_host() && !to.can_copy_from(from);
}

Status copy_between(MemorySpace& from, const Place& source, MemorySpace& to, const Place& target,
                    size_t bytes, void* staging, TimeSpan* ran) {
  if (&from == &to) return from.move(target, source, bytes);
  if (from.is_host()) return to.upload(target, host_address(source), bytes, ran);
  if (to.is_host()) return from.download(host_address(target), source, bytes, ran);
  if (to.can_copy_from(from)) return to.copy_from(from, target, source, bytes, ran);
  INTARSIA_CHECK(staging != nullptr || bytes == 0);
  TimeSpan down, up;
  TRY(from.download(staging, source, bytes, ran == nullptr ? nullptr : &down));
  TRY(to.upload(target, staging, bytes, ran == nullptr ? nullptr : &up));
  if (ran != nullptr && down.end_ns != 0 && up.end_ns != 0) *ran = {down.begin_ns, up.end_ns};
  return {};
}

}  // namespace intarsia
