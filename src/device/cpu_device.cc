#include "device/cpu_device.h"

#include <cstring>

#include "base/tensor_view.h"

namespace intarsia {
namespace {

class CpuDevice : public Device {
 public:
  explicit CpuDevice(const std::string& name) : Device(name, "cpu") {}

  bool in_host_memory() const override { return true; }

  Result<Buffer> allocate(size_t bytes) override {
    std::shared_ptr<void> memory = allocate_aligned(bytes);
    if (memory == nullptr)
      return fail(ErrorKind::out_of_memory, "device '{}': cannot allocate {} bytes", name(), bytes);
    return Buffer(std::move(memory), bytes);
  }

  Status upload(void* target, const void* source, size_t bytes) override {
    return move(target, source, bytes);
  }
  Status download(void* target, const void* source, size_t bytes) override {
    return move(target, source, bytes);
  }

  Status move(void* target, const void* source, size_t bytes) override {
    if (bytes > 0) std::memmove(target, source, bytes);
    return {};
  }

  Status run(const Executable& executable, const RunContext& context) override {
    return executable.run(context);
  }
};

}  // namespace

std::shared_ptr<Device> make_cpu_device(const std::string& name) { return std::make_shared<CpuDevice>(name); }

}  // namespace intarsia
