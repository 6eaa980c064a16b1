#include "device/opencl/programs.h"

#include <algorithm>

#include "base/digest.h"

namespace intarsia {

OpenclPrograms::OpenclPrograms(const OpenclDevice& device)
    : device_(device),
      options_(device.divides_correctly ? "-cl-fp32-correctly-rounded-divide-sqrt" : ""),
      binaries_(device, options_) {}

OpenclPrograms::~OpenclPrograms() {
  for (const auto& [digest, program] : programs_) device_.api->clReleaseProgram(program);
}

std::string OpenclPrograms::build_log(cl_program program) const {
  constexpr size_t most = 2000;
  size_t bytes = 0;
  const OpenclApi& api = *device_.api;
  api.clGetProgramBuildInfo(program, device_.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  api.clGetProgramBuildInfo(program, device_.id, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  log.resize(std::min({log.find('\0'), log.size(), most}));
  std::ranges::replace(log, '\n', ' ');
  return log;
}

Result<cl_program> OpenclPrograms::build_from_source(std::string_view text) const {
  const OpenclApi& api = *device_.api;
  const char* begin = text.data();
  const size_t bytes = text.size();
  cl_int code = CL_SUCCESS;
  cl_program program = api.clCreateProgramWithSource(device_.context, 1, &begin, &bytes, &code);
  TRY(device_.check(code, "clCreateProgramWithSource"));
  code = api.clBuildProgram(program, 1, &device_.id, options_.c_str(), nullptr, nullptr);
  if (code == CL_SUCCESS) return program;
  const std::string log = build_log(program);
  api.clReleaseProgram(program);
  return fail(ErrorKind::unsupported, "device '{}' ({}) does not build a kernel: {}; {}", device_.label,
              device_.name, opencl_error_text(code), log);
}

/// Loads a cached binary; returns null if there is none or the driver refuses it.
cl_program OpenclPrograms::load_binary(const std::string& digest) const {
  const std::optional<std::vector<std::byte>> binary = binaries_.find(digest);
  if (!binary) return nullptr;
  const OpenclApi& api = *device_.api;
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary->data());
  const size_t size = binary->size();
  cl_int of_device = CL_SUCCESS, code = CL_SUCCESS;
  cl_program program =
      api.clCreateProgramWithBinary(device_.context, 1, &device_.id, &size, &bytes, &of_device, &code);
  if (code != CL_SUCCESS || program == nullptr) return nullptr;
  if (api.clBuildProgram(program, 1, &device_.id, options_.c_str(), nullptr, nullptr) == CL_SUCCESS)
    return program;
  api.clReleaseProgram(program);
  return nullptr;
}

Result<cl_program> OpenclPrograms::build(std::string_view text) {
  const std::string digest = content_digest(text);
  const std::lock_guard lock(mutex_);
  if (const auto known = programs_.find(digest); known != programs_.end()) return known->second;
  cl_program program = load_binary(digest);
  if (program == nullptr) {
    program = TRY(build_from_source(text));
    binaries_.add(digest, program);
  }
  return programs_[digest] = program;
}

}  // namespace intarsia
