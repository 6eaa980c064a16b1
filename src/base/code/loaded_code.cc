#include "base/code/loaded_code.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files/regular_file.h"
#include "base/files/temporary_file.h"

namespace intarsia {
namespace {

using Descriptor = std::shared_ptr<const int>;

Descriptor close_later(int descriptor) {
  return {new int(descriptor), [](const int* owned) {
            close(*owned);
            delete owned;
          }};
}

Status write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      return fail(kind_of_errno(errno), "cannot copy {} bytes of code: {}", bytes.size(),
                  std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

/// Opens a library; `file` lives as long as it is open.
Result<std::shared_ptr<void>> open_library(const std::string& path, std::shared_ptr<const RegularFile> file) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fail(ErrorKind::corrupt, "cannot load its code: {}", dlerror());
  return std::shared_ptr<void>(handle, [file = std::move(file)](void* library) { dlclose(library); });
}

/// Loads a library from a memory file. The dynamic loader reuses a library it already has if the path, or
/// device and inode, match. A memory file has its own inode, and its descriptor stays open until the library
/// is unloaded, so its number is unique. The path is spelled as no other code that loads this way spells it.
Result<std::shared_ptr<void>> load_from_memory(std::span<const std::byte> library, const std::string& name) {
  auto file = std::make_shared<const RegularFile>(
      TRY(with_context(RegularFile::of_bytes(library, name), "the system provides no memory for code")));
  return open_library(fmt::format("/proc/self/./fd/{}", file->descriptor()), file);
}

/// Loads a library from a temporary file, for sandboxes that refuse memory files or lack /proc. The file is
/// unlinked once the code is loaded.
Result<std::shared_ptr<void>> load_from_temporary_file(std::span<const std::byte> library) {
  const TemporaryFile file = TRY(TemporaryFile::make("intarsia-code"));
  const int opened = open(file.path().c_str(), O_WRONLY | O_CLOEXEC);
  if (opened < 0)
    return fail(kind_of_errno(errno), "cannot open '{}': {}", file.path(), std::strerror(errno));
  {
    const Descriptor writer = close_later(opened);
    TRY(with_context(write_all(*writer, library), "'{}'", file.path()));
  }
  return open_library(file.path(), nullptr);
}

}  // namespace

Result<LoadedCode> LoadedCode::load(std::span<const std::byte> library, const std::string& name) {
  Result<std::shared_ptr<void>> handle = load_from_memory(library, name);
  if (!handle) {
    const std::string why = handle.error().message;
    handle = with_context(load_from_temporary_file(library), "{}; nor from a temporary file", why);
  }
  return LoadedCode(TRY(std::move(handle)));
}

void* LoadedCode::symbol(const std::string& name) const { return dlsym(handle_.get(), name.c_str()); }

}  // namespace intarsia
