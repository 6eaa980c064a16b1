#include "backends/onnxruntime/ort_library.h"

#include <dlfcn.h>
#include <glob.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <mutex>

namespace intarsia::ort {
namespace {

constexpr uint32_t api_version = 16;
constexpr int log_level_error = 3;
constexpr const char* install =
    "install ONNX Runtime (pip install onnxruntime) or set INTARSIA_ONNXRUNTIME to its libonnxruntime.so";

/// The only exported entry point returns this.
struct ApiBase {
  void* const* (*api)(uint32_t version);
  const char* (*version)();
};
using GetApiBase = const ApiBase* (*)();

struct Opened {
  GetApiBase entry = nullptr;
  std::string path;
};

std::vector<std::string> expand(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

/// The entry point of an opened handle, with the file it lies in.
Opened entry_of(void* handle) {
  void* entry = dlsym(handle, "OrtGetApiBase");
  Dl_info info{};
  if (entry == nullptr || dladdr(entry, &info) == 0) return {};
  return {reinterpret_cast<GetApiBase>(entry), info.dli_fname};
}

/// Opens one name; on failure the reason joins `tried`.
Opened try_open(const std::string& name, int flags, std::vector<std::string>& tried) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
  if (handle == nullptr) {
    if ((flags & RTLD_NOLOAD) == 0) tried.push_back(dlerror());
    return {};
  }
  Opened opened = entry_of(handle);
  if (opened.entry == nullptr) tried.push_back(fmt::format("{}: not ONNX Runtime (no OrtGetApiBase)", name));
  return opened;
}

Result<Opened> open_given(const std::string& given) {
  std::vector<std::string> tried;
  std::vector<std::string> files{given};
  if (std::filesystem::is_directory(given)) files = expand(given + "/libonnxruntime.so*");
  for (const std::string& file : files) {
    if (Opened opened = try_open(file, 0, tried); opened.entry) return opened;
  }
  return fail(
      "INTARSIA_ONNXRUNTIME is '{}', where no ONNX Runtime can be opened: {}", given,
      tried.empty() ? "no libonnxruntime.so* in this folder" : fmt::format("{}", fmt::join(tried, "; ")));
}

Result<Opened> open_first(const LibrarySearch& search) {
  if (!search.given.empty()) return open_given(search.given);
  std::vector<std::string> tried;
  if (!search.loaded_name.empty()) {
    if (Opened opened = entry_of(RTLD_DEFAULT); opened.entry) return opened;
    if (Opened opened = try_open(search.loaded_name, RTLD_NOLOAD, tried); opened.entry) return opened;
    if (Opened opened = try_open(search.loaded_name, 0, tried); opened.entry) return opened;
  }
  for (const std::string& pattern : search.patterns) {
    const std::vector<std::string> files = expand(pattern);
    if (files.empty()) tried.push_back(fmt::format("{}: no such file", pattern));
    for (const std::string& file : files) {
      if (Opened opened = try_open(file, 0, tried); opened.entry) return opened;
    }
  }
  return fail("ONNX Runtime is not to be found; sought: {}; {}", fmt::join(tried, "; "), install);
}

/// "1.31.1" is in the range when its major version is 1 and its minor at least the oldest.
bool is_version_in_range(std::string_view version) {
  int minor = 0;
  if (!version.starts_with("1.")) return false;
  version.remove_prefix(2);
  std::from_chars(version.data(), version.data() + version.size(), minor);
  return minor >= oldest_minor_version;
}

}  // namespace

LibrarySearch default_search() {
  LibrarySearch search{.given = {}, .loaded_name = "libonnxruntime.so.1", .patterns = {}};
  if (const char* given = std::getenv("INTARSIA_ONNXRUNTIME")) search.given = given;
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&default_search), &info) == 0) return search;
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::absolute(info.dli_fname, ignored).parent_path();
  const std::string in_packages = "onnxruntime/capi/libonnxruntime.so.*";
  for (const char* venv : {"../venv", "../../venv"}) {
    search.patterns.push_back(
        (folder / venv / "lib/python3*/site-packages" / in_packages).lexically_normal());
  }
  // A wheel of ours lies in site-packages/intarsia, its libraries there or one or two folders below.
  for (int level = 0; level < 3 && folder.has_relative_path(); ++level) {
    folder = folder.parent_path();
    if (folder.filename() == "site-packages") search.patterns.push_back(folder / in_packages);
  }
  return search;
}

Status Library::check(OrtStatus* status) const {
  if (status == nullptr) return {};
  Error error{api_.status_message(status)};
  api_.release_status(status);
  return tl::unexpected(std::move(error));
}

Status Library::start() {
  TRY(check(api_.create_env(log_level_error, "intarsia", &env_)));
  TRY(check(api_.default_allocator(&allocator_)));
  constexpr int arena_allocator = 1, default_memory = 0;
  return check(api_.create_cpu_memory_info(arena_allocator, default_memory, &cpu_memory_));
}

Result<std::unique_ptr<Library>> Library::open(const LibrarySearch& search) {
  const Opened opened = TRY(open_first(search));
  const ApiBase* base = opened.entry();
  const std::string version = base->version();
  void* const* table = is_version_in_range(version) ? base->api(api_version) : nullptr;
  if (table == nullptr) {
    return fail("{} is ONNX Runtime {}, want 1.{} or newer of major version 1; {}", opened.path, version,
                oldest_minor_version, install);
  }
  std::unique_ptr<Library> library(new Library(table, version, opened.path));
  TRY(with_context(library->start(), "{}", opened.path));
  return library;
}

Result<const Library*> Library::get() {
  static std::mutex mutex;
  static const Library* library = nullptr;  // never freed: values of ours may outlive every static object
  std::lock_guard lock(mutex);
  if (library == nullptr) library = TRY(open(default_search())).release();
  return library;
}

}  // namespace intarsia::ort
