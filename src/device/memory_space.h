// Where values lie: memory that is allocated, and copied from and to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time_span.h"

namespace intarsia {

/// Memory of one space, freed with the last copy of this.
class Memory {
 public:
  Memory() = default;
  Memory(std::shared_ptr<void> handle, size_t bytes) : handle_(std::move(handle)), bytes_(bytes) {}

  /// What the space knows it by: an address where the space has addresses, else what its library works with.
  void* handle() const { return handle_.get(); }
  size_t bytes() const { return bytes_; }
  const std::shared_ptr<void>& owner() const { return handle_; }

 private:
  std::shared_ptr<void> handle_;
  size_t bytes_ = 0;
};

/// Bytes of some memory, from `offset` on.
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
  uint64_t direct = 0;  // from another space, not by way of the host
  uint64_t direct_bytes = 0;
  bool operator==(const CopyCounts&) const = default;
};

/// Executors of one space exchange values without copies. All calls may come from several threads at once;
/// each returns when its work is done.
class MemorySpace {
 public:
  explicit MemorySpace(std::string name) : name_(std::move(name)) {}
  virtual ~MemorySpace() = default;
  MemorySpace(const MemorySpace&) = delete;
  MemorySpace& operator=(const MemorySpace&) = delete;

  const std::string& name() const { return name_; }  // "host", "sim:0"

  /// True: it is the host's memory. Callers' buffers are used in place, handles are addresses, and what
  /// follows is a plain copy.
  virtual bool is_host() const { return false; }
  /// Of memory, and of the offsets at which values lie in it: bytes, a power of 2 of at most 64 KiB.
  virtual size_t alignment() const { return 64; }
  /// Zero-filled memory. Error: not enough.
  virtual Result<Memory> allocate(size_t bytes) = 0;
  /// Memory of the host from which and to which copies are fast.
  virtual Result<std::shared_ptr<void>> allocate_staging(size_t bytes);
  /// What executables in the space find in TensorView::data: null where they work with handles.
  virtual void* address(const Place& place) const = 0;

  /// `ran` of these (null: nobody asks) gets when the device copied, by its own clock, where that is known;
  /// else it stays as it is.
  virtual Status upload(const Place& to, const void* from, size_t bytes, TimeSpan* ran = nullptr) = 0;
  virtual Status download(void* to, const Place& from, size_t bytes, TimeSpan* ran = nullptr) = 0;
  /// Within the space.
  virtual Status move(const Place& to, const Place& from, size_t bytes) = 0;
  /// Can copy_from() be called?
  virtual bool can_copy_from(const MemorySpace& other) const;
  /// Not by way of the host.
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

/// The memory of this process: one object.
const std::shared_ptr<MemorySpace>& host_memory_space();

/// Between any two spaces: within one, up, down, directly, or by way of `staging`, which is memory of the
/// host of at least `bytes` bytes and used only where needs_staging(). `ran`: as above.
bool needs_staging(const MemorySpace& from, const MemorySpace& to);
Status copy_between(MemorySpace& from, const Place& source, MemorySpace& to, const Place& target,
                    size_t bytes, void* staging, TimeSpan* ran = nullptr);

}  // namespace intarsia
