// Driver of CUDA with two devices whose kernels compute nothing: memory is the host's behind handles that are
// not addresses, and what a driver would refuse is an error. For tests of its callers.
//
// FAKE_CUDA_PTX=FOLDER writes every program there. FAKE_CUDA_FAIL=FUNCTION:CODE makes each call of the
// function return the code. FAKE_CUDA_FREE=BYTES sets the memory of each device, FAKE_CUDA_DEVICES=N the
// number of devices, and FAKE_CUDA_CAPABILITY=N their compute capability, N.0.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

enum Code {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  invalid_ptx = 218,
  invalid_context = 201,
  not_found = 500,
  illegal_address = 700
};

struct Kernel {
  std::string name;
  std::vector<size_t> parameter_bytes;
};

struct Module {
  std::string text;
  std::map<std::string, Kernel> kernels;
};

struct Fake {
  std::mutex mutex;
  std::map<uint64_t, std::vector<unsigned char>> memory;  // indexed by first address on the device
  uint64_t next_address = uint64_t{1} << 40;
  size_t used = 0;
  int modules = 0;
};

Fake& fake() {
  static Fake object;
  return object;
}

thread_local std::vector<void*> contexts;

size_t setting(const char* name, size_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Returns what FAKE_CUDA_FAIL asks of the function; calls outside a device's context fail as a driver's do.
int status_of(const char* function, bool wants_context = true) {
  const char* text = std::getenv("FAKE_CUDA_FAIL");
  const size_t length = std::strlen(function);
  if (text != nullptr && std::strncmp(text, function, length) == 0 && text[length] == ':')
    return std::atoi(text + length + 1);
  return wants_context && contexts.empty() ? invalid_context : success;
}

/// Returns the address of the bytes; null if they are not in one piece of memory.
unsigned char* find(uint64_t address, size_t bytes) {
  const std::lock_guard lock(fake().mutex);
  auto at = fake().memory.upper_bound(address);
  if (at == fake().memory.begin()) return nullptr;
  --at;
  const uint64_t offset = address - at->first;
  if (offset > at->second.size() || bytes > at->second.size() - offset) return nullptr;
  return at->second.data() + offset;
}

size_t bytes_of_type(const std::string& type) { return std::strtoul(type.c_str() + 2, nullptr, 10) / 8; }

/// Finds the kernels of a PTX program: ".visible .entry NAME(", then ".param .TYPE NAME" for each parameter.
std::map<std::string, Kernel> parse_kernels(const std::string& text) {
  std::map<std::string, Kernel> kernels;
  const std::string entry = ".entry ", parameter = ".param ";
  for (size_t at = text.find(entry); at != std::string::npos; at = text.find(entry, at)) {
    at += entry.size();
    const size_t open = text.find('(', at), close = text.find(')', open);
    Kernel kernel{text.substr(at, open - at), {}};
    for (size_t i = text.find(parameter, open); i < close; i = text.find(parameter, i)) {
      i += parameter.size();
      while (text.compare(i, 6, ".align") == 0 || text.compare(i, 4, ".ptr") == 0) i = text.find(" .", i) + 1;
      kernel.parameter_bytes.push_back(bytes_of_type(text.substr(i, 4)));
    }
    while (!kernel.name.empty() && kernel.name.back() == ' ') kernel.name.pop_back();
    kernels[kernel.name] = kernel;
  }
  return kernels;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return status_of("cuInit", false); }

int cuDriverGetVersion(int* version) {
  *version = 12040;
  return success;
}

int cuGetErrorName(int code, const char** name) {
  *name = code == out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_THE_FAKE";
  return success;
}

int cuGetErrorString(int, const char** text) {
  *text = "as the fake driver was told";
  return success;
}

int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(setting("FAKE_CUDA_DEVICES", 2));
  return success;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return success;
}

int cuDeviceGetName(char* name, int bytes, int device) {
  std::snprintf(name, static_cast<size_t>(bytes), "Fake GPU %d", device);
  return success;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int major = 75;
  *value = attribute == major ? static_cast<int>(setting("FAKE_CUDA_CAPABILITY", 9)) : 0;
  return success;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = reinterpret_cast<void*>(static_cast<uintptr_t>(device) + 1);
  return success;
}

int cuCtxPushCurrent_v2(void* context) {
  contexts.push_back(context);
  return success;
}

int cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty()) return invalid_context;
  *context = contexts.back();
  contexts.pop_back();
  return success;
}

int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = setting("FAKE_CUDA_FREE", size_t{1} << 34);
  *free = *total - std::min(*total, fake().used);
  return success;
}

int cuMemAlloc_v2(uint64_t* memory, size_t bytes) {
  if (const int status = status_of("cuMemAlloc"); status != success) return status;
  const std::lock_guard lock(fake().mutex);
  if (fake().used + bytes > setting("FAKE_CUDA_FREE", size_t{1} << 34)) return out_of_memory;
  *memory = fake().next_address;
  fake().memory[*memory] = std::vector<unsigned char>(bytes, 0xa5);
  fake().next_address += (bytes + 511) / 256 * 256;
  fake().used += bytes;
  return success;
}

int cuMemFree_v2(uint64_t memory) {
  const std::lock_guard lock(fake().mutex);
  const auto at = fake().memory.find(memory);
  if (contexts.empty() || at == fake().memory.end()) std::abort();
  fake().used -= at->second.size();
  fake().memory.erase(at);
  return success;
}

int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  const int status = status_of("cuMemHostAlloc");
  if (status == success) *memory = std::malloc(bytes);
  return status;
}

int cuMemFreeHost(void* memory) {
  std::free(memory);
  return success;
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void*) {
  unsigned char* memory = find(to, bytes);
  if (memory == nullptr) return illegal_address;
  std::memset(memory, value, bytes);
  return status_of("cuMemsetD8Async");
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void*) {
  unsigned char* memory = find(to, bytes);
  if (memory == nullptr) return illegal_address;
  std::memcpy(memory, from, bytes);
  return status_of("cuMemcpyHtoDAsync");
}

int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void*) {
  const unsigned char* memory = find(from, bytes);
  if (memory == nullptr) return illegal_address;
  std::memcpy(to, memory, bytes);
  return status_of("cuMemcpyDtoHAsync");
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void*) {
  unsigned char* target = find(to, bytes);
  const unsigned char* source = find(from, bytes);
  if (target == nullptr || source == nullptr) return illegal_address;
  if (std::max(to, from) - std::min(to, from) < bytes) return invalid_value;  // the ranges overlap
  std::memcpy(target, source, bytes);
  return status_of("cuMemcpyDtoDAsync");
}

int cuMemcpyPeerAsync(uint64_t to, void* of_to, uint64_t from, void* of_from, size_t bytes, void* stream) {
  if (of_to == nullptr || of_from == nullptr) return invalid_context;
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

int cuStreamCreate(void** stream, unsigned) {
  const int status = status_of("cuStreamCreate");
  if (status == success) *stream = new char;
  return status;
}

int cuStreamDestroy_v2(void* stream) {
  delete static_cast<char*>(stream);
  return success;
}

int cuStreamSynchronize(void*) { return status_of("cuStreamSynchronize"); }

int cuEventCreate(void** event, unsigned) {
  const int status = status_of("cuEventCreate");
  if (status == success) *event = new char;
  return status;
}

int cuEventDestroy_v2(void* event) {
  delete static_cast<char*>(event);
  return success;
}

int cuEventRecord(void*, void*) { return status_of("cuEventRecord"); }

int cuEventSynchronize(void*) { return status_of("cuEventSynchronize"); }

int cuModuleLoadDataEx(void** module, const void* image, unsigned options, int* names, void** values) {
  if (const int status = status_of("cuModuleLoadDataEx"); status != success) {
    constexpr int log_buffer = 5;
    for (unsigned i = 0; i < options; ++i)
      if (names[i] == log_buffer) std::strcpy(static_cast<char*>(values[i]), "ptxas fatal: the fake's log");
    return status;
  }
  const std::string text = static_cast<const char*>(image);
  if (text.find(".target sm_80") == std::string::npos) return invalid_ptx;
  if (const char* folder = std::getenv("FAKE_CUDA_PTX"); folder != nullptr) {
    const std::lock_guard lock(fake().mutex);
    std::ofstream(std::string(folder) + "/" + std::to_string(fake().modules++) + ".ptx") << text;
  }
  *module = new Module{text, parse_kernels(text)};
  return success;
}

int cuModuleUnload(void* module) {
  delete static_cast<Module*>(module);
  return success;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  auto& kernels = static_cast<Module*>(module)->kernels;
  const auto at = kernels.find(name);
  if (at == kernels.end()) return not_found;
  *function = &at->second;
  return status_of("cuModuleGetFunction");
}

/// Checks a launch. Parameters of 8 bytes are addresses: our kernels have no others of this size.
int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned items_x, unsigned items_y,
                   unsigned items_z, unsigned shared_bytes, void*, void** arguments, void**) {
  if (const int status = status_of("cuLaunchKernel"); status != success) return status;
  if (x == 0 || y == 0 || z == 0 || y > 65535 || z > 65535) return invalid_value;
  if (items_x == 0 || items_x * items_y * items_z > 1024 || items_z > 64) return invalid_value;
  if (shared_bytes > 48 * 1024) return invalid_value;
  const auto& bytes = static_cast<const Kernel*>(function)->parameter_bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<unsigned char> value(bytes[i]);
    std::memcpy(value.data(), arguments[i], bytes[i]);
    uint64_t address = 0;
    if (bytes[i] == sizeof(address)) std::memcpy(&address, value.data(), sizeof(address));
    if (bytes[i] == sizeof(address) && find(address, 1) == nullptr) return illegal_address;
  }
  return success;
}
}
