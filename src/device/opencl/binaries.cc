#include "device/opencl/binaries.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/digest.h"
#include "base/files/cache_folder.h"
#include "base/files/mapped_file.h"
#include "base/files/output_file.h"

namespace intarsia {
namespace {

/// Returns the driver's binary for the device; empty if it provides none.
std::vector<std::byte> read_binary(const OpenclDevice& device, cl_program program) {
  const OpenclApi& api = *device.api;
  cl_uint count = 0;
  if (api.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(count), &count, nullptr) != CL_SUCCESS)
    return {};
  std::vector<cl_device_id> devices(count);
  std::vector<size_t> sizes(count);
  api.clGetProgramInfo(program, CL_PROGRAM_DEVICES, count * sizeof(cl_device_id), devices.data(), nullptr);
  api.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(size_t), sizes.data(), nullptr);
  std::vector<std::vector<std::byte>> binaries;
  std::vector<std::byte*> places;
  for (size_t size : sizes) places.push_back(binaries.emplace_back(size).data());
  if (api.clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof(std::byte*), places.data(),
                           nullptr) != CL_SUCCESS)
    return {};
  const auto at = std::ranges::find(devices, device.id);
  return at == devices.end() ? std::vector<std::byte>()
                             : std::move(binaries[static_cast<size_t>(at - devices.begin())]);
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  const uint64_t digest = digest_bytes(bytes);
  OutputFile file = TRY(OutputFile::create(path));
  TRY(file.write(std::as_bytes(std::span(&digest, 1))));
  TRY(file.write(bytes));
  return file.commit();
}

}  // namespace

OpenclBinaries::OpenclBinaries(const OpenclDevice& device, std::string options)
    : device_(device), options_(std::move(options)) {
  const std::string folder = user_cache_folder();
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder + "/opencl", error);
  if (!error) folder_ = folder + "/opencl";
}

std::string OpenclBinaries::path(const std::string& digest) const {
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}\n{}", device_.platform, device_.name, device_.version, options_, digest);
  return folder_.empty() ? std::string() : fmt::format("{}/{}", folder_, content_digest(key));
}

std::optional<std::vector<std::byte>> OpenclBinaries::find(const std::string& digest) const {
  uint64_t written = 0;
  if (folder_.empty()) return std::nullopt;
  const Result<MappedFile> file = map_file(path(digest));
  if (!file || file->bytes.size() <= sizeof(written)) return std::nullopt;
  std::memcpy(&written, file->bytes.data(), sizeof(written));
  const std::span<const std::byte> binary = file->bytes.subspan(sizeof(written));
  if (digest_bytes(binary) != written) return std::nullopt;
  return std::vector<std::byte>(binary.begin(), binary.end());
}

/// Adds a binary; one that cannot be stored is built again next time.
void OpenclBinaries::add(const std::string& digest, cl_program program) const {
  if (folder_.empty()) return;
  const std::vector<std::byte> binary = read_binary(device_, program);
  if (binary.empty()) return;
  const Status ignored = write_file(path(digest), binary);
  static_cast<void>(ignored);
}

}  // namespace intarsia
