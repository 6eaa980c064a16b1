#include "rewrite/model_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/bytes.h"
#include "base/files/output_file.h"

namespace intarsia {
namespace {

namespace fs = std::filesystem;

/// Says what the system said about an output.
tl::unexpected<Error> cannot_write(const fs::path& path, const std::error_code& error) {
  return fail(ErrorKind::io, "cannot write '{}': {}", path.string(), error.message());
}

void remove_quietly(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

/// Returns the bytes of all files in a folder, or of a file.
uint64_t bytes_of_files(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return fs::file_size(path, error);
  uint64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path, error))
    if (entry.is_regular_file(error)) bytes += entry.file_size(error);
  return bytes;
}

}  // namespace

Result<StagedFolder> StagedFolder::create(const std::string& output, bool replaces) {
  std::error_code error;
  fs::path target = fs::absolute(output, error).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  if (fs::exists(target, error)) {
    if (!replaces)
      return fail(ErrorKind::invalid_argument, "'{}' exists; name another folder, or replace it with --force",
                  output);
    if (!fs::exists(target / "saved_model.pb", error))
      return fail(ErrorKind::invalid_argument,
                  "'{}' is no SavedModel, and is not replaced; name another folder", output);
    target = fs::canonical(target, error);
  }
  std::string name = (target.parent_path() / (target.filename().string() + ".new-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr)
    return cannot_write(target, std::error_code(errno, std::generic_category()));
  fs::permissions(name,
                  fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                      fs::perms::others_read | fs::perms::others_exec,
                  error);
  return StagedFolder(name, target);
}

StagedFolder::StagedFolder(StagedFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), output_(std::move(other.output_)) {}

StagedFolder::~StagedFolder() {
  if (!path_.empty()) remove_quietly(path_);
}

Status StagedFolder::commit() {
  std::error_code error;
  const bool is_exchanged = fs::exists(output_, error);
  const unsigned flags = is_exchanged ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, output_.c_str(), flags) != 0)
    return cannot_write(output_, std::error_code(errno, std::generic_category()));
  if (is_exchanged) remove_quietly(path_);
  path_.clear();
  return {};
}

Status copy_folder(const fs::path& from, const fs::path& to, const std::vector<std::string>& without) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(from, error)) {
    const fs::path name = entry.path().filename();
    if (std::ranges::find(without, name.string()) != without.end()) continue;
    fs::copy(entry.path(), to / name, fs::copy_options::recursive, error);
    if (error) return cannot_write(to / name, error);
  }
  return error ? Status(fail(ErrorKind::io, "cannot read '{}': {}", from.string(), error.message()))
               : Status();
}

Status write_file(const fs::path& path, std::string_view bytes) {
  OutputFile file = TRY(OutputFile::create(path.string()));
  TRY(file.write(as_bytes(bytes)));
  return file.commit();
}

ModelBytes bytes_of_model(const fs::path& folder, const std::set<std::string>& programs) {
  ModelBytes bytes;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const uint64_t size = bytes_of_files(entry.path());
    if (name == "saved_model.pb")
      bytes.graph = size;
    else if (name == "variables")
      bytes.variables = size;
    else if (name == "assets")
      bytes.assets = size;
    else
      bytes.other += size;
  }
  for (const std::string& program : programs) bytes.program += bytes_of_files(folder / "assets" / program);
  bytes.assets -= bytes.program;
  return bytes;
}

}  // namespace intarsia
