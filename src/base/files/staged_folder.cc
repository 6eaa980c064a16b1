#include "base/files/staged_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace intarsia {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> cannot_write_folder(const fs::path& path) {
  const std::error_code error(errno, std::generic_category());
  return fail(ErrorKind::io, "cannot write '{}': {}", path.string(), error.message());
}

void remove_quietly(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

Result<StagedFolder> StagedFolder::create(const std::string& output) {
  std::error_code error;
  fs::path target = fs::absolute(output, error).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  if (fs::exists(target, error)) target = fs::canonical(target, error);
  std::string name = (target.parent_path() / (target.filename().string() + ".new-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) return cannot_write_folder(target);
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
    return cannot_write_folder(output_);
  if (is_exchanged) remove_quietly(path_);
  path_.clear();
  return {};
}

}  // namespace intarsia
