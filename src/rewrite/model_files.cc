#include "rewrite/model_files.h"

#include <algorithm>

namespace intarsia {
namespace {

namespace fs = std::filesystem;

/// Says what the system said about an output.
tl::unexpected<Error> cannot_write(const fs::path& path, const std::error_code& error) {
  return fail(ErrorKind::io, "cannot write '{}': {}", path.string(), error.message());
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

Result<StagedFolder> stage_output(const std::string& output, bool replaces) {
  std::error_code error;
  if (fs::exists(output, error)) {
    if (!replaces)
      return fail(ErrorKind::invalid_argument, "'{}' exists; name another folder, or replace it with --force",
                  output);
    if (!fs::exists(fs::path(output) / "saved_model.pb", error))
      return fail(ErrorKind::invalid_argument,
                  "'{}' is no SavedModel, and is not replaced; name another folder", output);
  }
  return StagedFolder::create(output);
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
