// Memory spaces: allocation of memory for values, and copies from and to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time_span.h"

namespace intarsia {

/// Memory of one space, freed with the last copy of this object.
class Memory {
 public:
  Memory() = default;
  Memory(std::shared_ptr<void> handle, size_t bytes) : handle_(std::move(handle)), bytes_(bytes) {}

  /// Returns the space's handle: an address if the space has addresses, else an object of its library.
  void* handle() const { return handle_.get(); }
  size_t bytes() const { return bytes_; }
  const std::shared_ptr<void>& owner() const { return handle_; }

 private:
  std::shared_ptr<void> handle_;
  size_t bytes_ = 0;
};

/// Position in some memory, from `offset` on.
struct Place {
  void* memory = nullptr;  // Memory::handle()
  size_t offset = 0;
};

/// Copies over the link between the host and a space since the space was created.
struct CopyCounts {
  uint64_t uploads = 0;  // host to space
  uint64_t uploaded_bytes = 0;
  uint64_t downloads = 0;  // space to host
  uint64_t downloaded_bytes = 0;
  uint64_t direct = 0;  // space to space, bypassing the host
  uint64_t direct_bytes = 0;
  bool operator==(const CopyCounts&) const = default;
};

/// Memory space. Executors of one space exchange values without copies. Thread-safe; calls return when their
/// work is done.
class MemorySpace {
 public:
  explicit MemorySpace(std::string name) : name_(std::move(name)) {}
  virtual ~MemorySpace() = default;
  MemorySpace(const MemorySpace&) = delete;
  MemorySpace& operator=(const MemorySpace&) = delete;

  const std::string& name() const { return name_; }  // "host", "sim:0"

  /// Whether this is host memory: callers' buffers are used in place, handles are addresses, and the
  /// functions below copy plainly.
  virtual bool is_host() const { return false; }
  /// Returns the alignment of memory, and of offsets of values in it: bytes, a power of 2 of at most 64 KiB.
  virtual size_t alignment() const { return 64; }
  /// Allocates zero-filled memory. Error: not enough.
  virtual Result<Memory> allocate(size_t bytes) = 0;
  /// Allocates zero-filled memory of which a part may never be used: where the space can, only what is used
  /// takes up room. Error: not enough.
  virtual Result<Memory> reserve(size_t bytes) { return allocate(bytes); }
  /// Allocates host memory that can be copied from and to fast.
  virtual Result<std::shared_ptr<void>> allocate_staging(size_t bytes);
  /// Returns the TensorView::data for executables in the space: null if they work with handles.
  virtual void* address(const Place& place) const = 0;

  /// Copies between host and space. `ran` (may be null) gets the time span of the copy, by the device's clock
  /// where known; else it stays unchanged.
  virtual Status upload(const Place& to, const void* from, size_t bytes, TimeSpan* ran = nullptr) = 0;
  virtual Status download(void* to, const Place& from, size_t bytes, TimeSpan* ran = nullptr) = 0;
  /// Copies within the space.
  virtual Status move(const Place& to, const Place& from, size_t bytes) = 0;
  /// Checks whether copy_from() can be called.
  virtual bool can_copy_from(const MemorySpace& other) const;
  /// Copies from another space, bypassing the host.
  virtual Status copy_from(MemorySpace& other, const Place& to, const Place& from, size_t bytes,
                           TimeSpan* ran = nullptr);

  CopyCounts copy_counts() const;

 protected:
  void count_upload(size_t bytes);
  void count_download(size_t bytes);
  void count_direct(size_t bytes);

 private:
  std::string name_;
  std::atomic<uint64_t> uploads_{0}, uploaded_bytes_{0}, downloads_{0}, downloaded_bytes_{0}, direct_{0},
      direct_bytes_{0};
};

/// Returns the space of this process's memory, a single object.
const std::shared_ptr<MemorySpace>& host_memory_space();

/// Copies between any two spaces: within one, up, down, directly, or by way of `staging`, host memory of at
/// least `bytes` bytes that is used only where needs_staging(). `ran` is as in upload().
bool needs_staging(const MemorySpace& from, const MemorySpace& to);
Status copy_between(MemorySpace& from, const Place& source, MemorySpace& to, const Place& target,
                    size_t bytes, void* staging, TimeSpan* ran = nullptr);

}  // namespace intarsia
