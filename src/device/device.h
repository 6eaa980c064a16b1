// What a device does at run time: allocate, copy, run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "device/executable.h"

namespace intarsia {

/// Memory of one device, 64-byte aligned, freed with the Buffer. Move-only.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<void> memory, size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  Buffer(Buffer&&) = default;
  Buffer& operator=(Buffer&&) = default;

  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  size_t bytes() const { return bytes_; }
  /// Keeps the memory alive beyond the Buffer.
  const std::shared_ptr<void>& memory() const { return memory_; }

 private:
  std::shared_ptr<void> memory_;
  size_t bytes_ = 0;
};

/// Copies over the link between the host and a device since the device was created.
struct CopyCounts {
  uint64_t uploads = 0;  // host to device
  uint64_t uploaded_bytes = 0;
  uint64_t downloads = 0;  // device to host
  uint64_t downloaded_bytes = 0;
  bool operator==(const CopyCounts&) const = default;
};

/// A piece of hardware. All calls may come from several threads at once; each returns when its work is done.
class Device {
 public:
  Device(std::string name, std::string kind) : name_(std::move(name)), kind_(std::move(kind)) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }  // "sim:0"
  const std::string& kind() const { return kind_; }  // "sim"

  /// True: its memory is the host's, callers' buffers are used in place, and the copies below never happen.
  virtual bool in_host_memory() const = 0;
  /// Zero-filled memory. Error: not enough.
  virtual Result<Buffer> allocate(size_t bytes) = 0;
  virtual Status upload(void* device_target, const void* host_source, size_t bytes) = 0;
  virtual Status download(void* host_target, const void* device_source, size_t bytes) = 0;
  /// Within the device's own memory.
  virtual Status move(void* target, const void* source, size_t bytes) = 0;
  /// Every buffer of the context is in this device's memory.
  virtual Status run(const Executable& executable, const RunContext& context) = 0;

  CopyCounts copy_counts() const;

 protected:
  void count_upload(size_t bytes);
  void count_download(size_t bytes);

 private:
  std::string name_;
  std::string kind_;
  std::atomic<uint64_t> uploads_{0}, uploaded_bytes_{0}, downloads_{0}, downloaded_bytes_{0};
};

/// Copies between the memories of any two devices. `staging` is host memory of at least `bytes` bytes, used
/// only between two different devices neither of which is in host memory.
Status copy_between(Device& from, const void* source, Device& to, void* target, size_t bytes,
                    std::span<std::byte> staging);

}  // namespace intarsia
