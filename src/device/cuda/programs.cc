#include "device/cuda/programs.h"

#include <algorithm>
#include <array>

#include "base/digest.h"

namespace intarsia {
namespace {

// CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
constexpr int log_buffer = 5, log_bytes = 6;

}  // namespace

CudaPrograms::~CudaPrograms() {
  const auto scope = CudaScope::enter(device_);
  if (!scope) return;
  for (const auto& [digest, module] : modules_) device_.api->cuModuleUnload(module);
}

Result<CudaModule> CudaPrograms::load(std::string_view text) {
  const std::string digest = content_digest(text);
  if (const auto known = modules_.find(digest); known != modules_.end()) return known->second;
  std::array<char, 2000> log{};
  std::array<int, 2> options{log_buffer, log_bytes};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
  CudaModule module = nullptr;
  const std::string image(text);  // ends with a zero byte
  const CudaCode code = device_.api->cuModuleLoadDataEx(
      &module, image.c_str(), static_cast<unsigned>(options.size()), options.data(), values.data());
  if (code != CudaCode::success) {
    std::ranges::replace(log, '\n', ' ');
    const Error error = device_.check(code, "cuModuleLoadDataEx").error();
    return fail(error.kind, "{}; {}", error.message, log.data());
  }
  return modules_[digest] = module;
}

Result<CudaFunction> CudaPrograms::find(std::string_view text, const char* entry) {
  const CudaScope scope = TRY(CudaScope::enter(device_));
  const std::lock_guard lock(mutex_);
  CudaModule module = TRY(load(text));
  CudaFunction function = nullptr;
  TRY(device_.check(device_.api->cuModuleGetFunction(&function, module, entry), "cuModuleGetFunction"));
  return function;
}

}  // namespace intarsia
