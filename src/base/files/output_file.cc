#include "base/files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/files/regular_file.h"

namespace intarsia {
namespace {

namespace fs = std::filesystem;

/// Returns the path at which opening `path` would create or open a file.
Result<std::string> follow_links(const std::string& path) {
  constexpr int most = 40;  // limit of Linux
  fs::path at = path;
  for (int links = 0; links < most; ++links) {
    std::error_code error;
    const fs::path to = fs::read_symlink(at, error);
    if (error) return at.string();
    at = at.parent_path() / to;
  }
  return fail(ErrorKind::invalid_argument, "cannot write '{}': {}", path, std::strerror(ELOOP));
}

/// Returns the mode of a file to replace; nullopt if it does not exist yet. Error: not a regular file.
Result<std::optional<mode_t>> mode_of(const std::string& target, const std::string& path) {
  struct stat facts = {};
  if (stat(target.c_str(), &facts) != 0) return std::nullopt;
  if (S_ISREG(facts.st_mode)) return facts.st_mode & 0777;
  return fail(ErrorKind::invalid_argument,
              "cannot write '{}': it is {}, not a regular file; name another file", path,
              kind_of_file(facts.st_mode));
}

bool is_below(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  const fs::path whole = fs::canonical(folder, error), part = fs::canonical(file, error);
  return !error && std::ranges::mismatch(whole, part).in1 == whole.end();
}

/// Opens a new file that no other process writes.
int create_beside(const std::string& target, mode_t mode, std::string& name) {
  static std::atomic<int> count{0};
  const fs::path path(target);
  constexpr size_t most = 200;  // leaves room for a suffix within 255, the limit of common file systems
  const std::string begin = path.filename().string().substr(0, most);
  int descriptor = -1;
  do {
    name = (path.parent_path() / fmt::format("{}.{}-{}", begin, getpid(), count++)).string();
    descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EEXIST);
  return descriptor;
}

}  // namespace

Status check_output(const std::string& path, std::span<const std::string> inputs) {
  const std::string target = TRY(follow_links(path));
  const bool exists = TRY(mode_of(target, path)).has_value();
  for (const std::string& input : inputs) {
    if (!exists) break;
    std::error_code error;
    if (fs::equivalent(target, input, error) || (fs::is_directory(input, error) && is_below(input, target)))
      return fail(ErrorKind::invalid_argument, "cannot write '{}': it is the input '{}'; name another file",
                  path, input);
  }
  TRY(OutputFile::create(path));  // removed at once
  return {};
}

Result<OutputFile> OutputFile::create(const std::string& path, mode_t mode) {
  OutputFile file(path);
  file.target_ = TRY(follow_links(path));
  const std::optional<mode_t> old = TRY(mode_of(file.target_, path));
  file.descriptor_ = create_beside(file.target_, mode, file.name_);
  if (file.descriptor_ < 0) {
    file.name_.clear();
    return file.failed("cannot create a file next to it");
  }
  if (old && fchmod(file.descriptor_, *old) != 0) return file.failed("cannot set its mode");
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      name_(std::exchange(other.name_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!name_.empty()) unlink(name_.c_str());
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed("it wrote no more");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Status OutputFile::commit() {
  if (fsync(descriptor_) != 0) return failed("cannot flush it to disk");
  if (rename(name_.c_str(), target_.c_str()) != 0) return failed("cannot rename the new file");
  name_.clear();
  return {};
}

tl::unexpected<Error> OutputFile::failed(std::string_view what) const {
  return fail(kind_of_errno(errno), "cannot write '{}': {}: {}", path_, what, std::strerror(errno));
}

Status write_whole(const std::string& path, std::string_view bytes, mode_t mode) {
  OutputFile file = TRY(OutputFile::create(path, mode));
  TRY(file.write(std::as_bytes(std::span(bytes))));
  return file.commit();
}

}  // namespace intarsia
