#include "base/code/foreign_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>

#include "base/files/own_file.h"
#include "base/files/regular_file.h"

namespace intarsia {
namespace {

std::vector<std::string> expand(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

/// Returns the entry point of an opened handle and the file that contains it.
OpenedLibrary entry_of(const ForeignLibrary& library, void* handle) {
  void* entry = dlsym(handle, library.entry);
  Dl_info info{};
  if (entry == nullptr || dladdr(entry, &info) == 0) return {};
  return {handle, entry, info.dli_fname};
}

/// Opens one library by name; on failure adds the reason to `tried`.
OpenedLibrary try_open(const ForeignLibrary& library, const std::string& name, int flags,
                       std::vector<std::string>& tried) {
  // Bare names go to the loader, which opens no pipes.
  if (const Status regular = name.find('/') == std::string::npos ? Status() : check_regular_file(name);
      !regular) {
    tried.push_back(regular.error().message);
    return {};
  }
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
  if (handle == nullptr) {
    if ((flags & RTLD_NOLOAD) == 0) tried.push_back(dlerror());
    return {};
  }
  OpenedLibrary opened = entry_of(library, handle);
  if (opened.entry == nullptr)
    tried.push_back(fmt::format("{}: not {} (no {})", name, library.name, library.entry));
  return opened;
}

std::vector<std::string> list_given(const ForeignLibrary& library, const std::string& given) {
  if (std::filesystem::is_directory(given)) return expand(fmt::format("{}/{}*", given, library.file));
  return {given};
}

Result<OpenedLibrary> open_given(const ForeignLibrary& library, const std::string& given) {
  std::vector<std::string> tried;
  for (const std::string& file : list_given(library, given)) {
    if (OpenedLibrary opened = try_open(library, file, 0, tried); opened.entry) return opened;
  }
  return fail(ErrorKind::not_found, "{} is '{}', where no {} can be opened: {}", library.variable, given,
              library.name,
              tried.empty() ? fmt::format("no {}* in this folder", library.file)
                            : fmt::format("{}", fmt::join(tried, "; ")));
}

/// Finds the `python3` that a shell would start.
std::optional<std::filesystem::path> find_python() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  std::error_code ignored;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path python = std::filesystem::path(folder) / "python3";
    if (python.is_absolute() && access(python.c_str(), X_OK) == 0 &&
        !std::filesystem::is_directory(python, ignored))
      return python;
  }
  return std::nullopt;
}

/// Returns the folders of the user's Python environments: the active one, and that of `python3` or of its
/// link target.
std::vector<std::string> python_environments() {
  std::vector<std::string> folders;
  if (const char* active = std::getenv("VIRTUAL_ENV"); active != nullptr && *active != 0)
    folders.emplace_back(active);
  const std::optional<std::filesystem::path> python = find_python();
  if (!python) return folders;
  std::error_code ignored;
  const std::filesystem::path around = python->parent_path().parent_path();
  const bool is_virtual = std::filesystem::exists(around / "pyvenv.cfg", ignored);
  const std::filesystem::path real = std::filesystem::canonical(*python, ignored);
  folders.push_back(is_virtual || real.empty() ? around.string() : real.parent_path().parent_path().string());
  return folders;
}

}  // namespace

std::string ForeignLibrary::remedy() const {
  return fmt::format("install {} (pip install {}) or set {} to its {}", name, package, variable, file);
}

LibrarySearch search_for(const ForeignLibrary& library, const std::string& loaded_name,
                         const std::string& in_packages) {
  LibrarySearch search{.given = {}, .loaded_name = loaded_name, .patterns = {}};
  if (const char* given = std::getenv(library.variable)) search.given = given;
  const std::filesystem::path own = own_file();
  if (own.empty()) return search;
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::absolute(own, ignored).parent_path();
  for (const char* venv : {"../venv", "../../venv"}) {
    search.patterns.push_back(
        (folder / venv / "lib/python3*/site-packages" / in_packages).lexically_normal());
  }
  // Our wheel is installed in site-packages/intarsia, with its libraries there or one or two folders below.
  for (int level = 0; level < 3 && folder.has_relative_path(); ++level) {
    folder = folder.parent_path();
    if (folder.filename() == "site-packages") search.patterns.push_back(folder / in_packages);
  }
  for (const std::string& environment : python_environments())
    search.patterns.push_back(environment + "/lib/python3*/site-packages/" + in_packages);
  return search;
}

std::vector<std::string> list_files(const ForeignLibrary& library, const LibrarySearch& search) {
  if (!search.given.empty()) return list_given(library, search.given);
  std::vector<std::string> all;
  for (const std::string& pattern : search.patterns)
    std::ranges::move(expand(pattern), std::back_inserter(all));
  return all;
}

Result<OpenedLibrary> open_foreign_library(const ForeignLibrary& library, const LibrarySearch& search) {
  if (!search.given.empty()) return open_given(library, search.given);
  std::vector<std::string> tried;
  if (!search.loaded_name.empty()) {
    if (OpenedLibrary opened = entry_of(library, RTLD_DEFAULT); opened.entry) return opened;
    for (const int flags : {RTLD_NOLOAD, 0}) {
      OpenedLibrary opened = try_open(library, search.loaded_name, flags, tried);
      if (opened.entry != nullptr) return opened;
    }
  }
  for (const std::string& pattern : search.patterns) {
    const std::vector<std::string> files = expand(pattern);
    if (files.empty()) tried.push_back(fmt::format("{}: no such file", pattern));
    for (const std::string& file : files) {
      if (OpenedLibrary opened = try_open(library, file, 0, tried); opened.entry) return opened;
    }
  }
  return fail(ErrorKind::not_found, "{} not found; searched: {}; {}", library.name, fmt::join(tried, "; "),
              library.remedy());
}

}  // namespace intarsia
