#include "device/device.h"

#include <cstring>

namespace intarsia {

CopyCounts Device::copy_counts() const { return {uploads_, uploaded_bytes_, downloads_, downloaded_bytes_}; }

void Device::count_upload(size_t bytes) {
  uploads_.fetch_add(1, std::memory_order_relaxed);
  uploaded_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void Device::count_download(size_t bytes) {
  downloads_.fetch_add(1, std::memory_order_relaxed);
  downloaded_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

Status copy_between(Device& from, const void* source, Device& to, void* target, size_t bytes,
                    std::span<std::byte> staging) {
  if (from.in_host_memory() && to.in_host_memory()) {
    if (bytes > 0) std::memmove(target, source, bytes);
    return {};
  }
  if (&from == &to) return from.move(target, source, bytes);
  if (from.in_host_memory()) return to.upload(target, source, bytes);
  if (to.in_host_memory()) return from.download(target, source, bytes);
  INTARSIA_CHECK(staging.size() >= bytes);
  TRY(from.download(staging.data(), source, bytes));
  return to.upload(target, staging.data(), bytes);
}

}  // namespace intarsia
