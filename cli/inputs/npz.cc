#include "cli/inputs/npz.h"

#include <fmt/format.h>
#include <minizip/unzip.h>

#include <algorithm>
#include <filesystem>
#include <intarsia/intarsia.hpp>
#include <memory>

#include "cli/system/files.h"

namespace {

using Archive = std::unique_ptr<void, int (*)(unzFile)>;

constexpr const char* suffix_of_arrays = ".npy";

[[noreturn]] void refuse_archive(const std::string& path, const std::string& why) {
  throw intarsia::Error(fmt::format("{}: {}; the file is damaged or is not a .npz file", path, why));
}

Archive open_archive(const std::string& path) {
  Archive archive(unzOpen64(path.c_str()), unzClose);
  if (archive == nullptr) refuse_archive(path, "has no directory of a ZIP archive");
  return archive;
}

/// Returns name and metadata of the current file of an archive.
std::pair<std::string, unz_file_info64> current_file(const Archive& archive, const std::string& path) {
  unz_file_info64 facts{};
  std::string name(UINT16_MAX, '\0');
  const int status =
      unzGetCurrentFileInfo64(archive.get(), &facts, name.data(), name.size(), nullptr, 0, nullptr, 0);
  if (status != UNZ_OK || facts.size_filename > name.size())
    refuse_archive(path, "its directory cannot be read");
  name.resize(facts.size_filename);
  return {std::move(name), facts};
}

}  // namespace

bool is_npz(const std::string& path) {
  const std::vector<char> begin = read_file(path, 2);
  const std::string suffix = std::filesystem::path(path).extension().string();
  return suffix == ".npz" || (suffix != ".raw" && suffix != ".bin" && begin == std::vector<char>{'P', 'K'});
}

std::vector<std::string> list_npz(const std::string& path) {
  const Archive archive = open_archive(path);
  std::vector<std::string> names;
  int status = unzGoToFirstFile(archive.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(archive.get())) {
    const std::string name = current_file(archive, path).first;
    const size_t stem = name.size() - std::min(name.size(), std::string(suffix_of_arrays).size());
    if (stem > 0 && name.substr(stem) == suffix_of_arrays) names.push_back(name.substr(0, stem));
  }
  if (status != UNZ_END_OF_LIST_OF_FILE) refuse_archive(path, "its directory cannot be read");
  if (names.empty()) throw intarsia::Error(path + ": holds no arrays: want files that end in .npy in it");
  return names;
}

std::vector<char> read_npz_member(const std::string& path, const std::string& name) {
  const Archive archive = open_archive(path);
  constexpr int exact_case = 1;
  if (unzLocateFile(archive.get(), (name + suffix_of_arrays).c_str(), exact_case) != UNZ_OK)
    refuse_archive(path, fmt::format("array '{}' is not in it", name));
  const uint64_t size = current_file(archive, path).second.uncompressed_size;
  constexpr uint64_t most_from_a_byte = 1032;  // limit of deflate, so that a false size allocates little
  if (size / most_from_a_byte > std::filesystem::file_size(path))
    refuse_archive(path, fmt::format("array '{}' claims to have {} bytes", name, size));
  if (unzOpenCurrentFile(archive.get()) != UNZ_OK)
    refuse_archive(path, fmt::format("array '{}' cannot be opened (encrypted, or not deflated)", name));
  std::vector<char> bytes(size);
  for (size_t done = 0; done < size;) {
    constexpr size_t most_at_once = size_t{1} << 30;
    const int count = unzReadCurrentFile(archive.get(), bytes.data() + done,
                                         static_cast<unsigned>(std::min<size_t>(size - done, most_at_once)));
    if (count <= 0)
      refuse_archive(path, fmt::format("array '{}' ends after {} of {} bytes", name, done, size));
    done += static_cast<size_t>(count);
  }
  if (unzCloseCurrentFile(archive.get()) != UNZ_OK)
    refuse_archive(path, fmt::format("array '{}' does not match its checksum", name));
  return bytes;
}
