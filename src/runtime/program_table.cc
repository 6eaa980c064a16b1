#include "runtime/program_table.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <ranges>

namespace intarsia {
namespace {

using SharedProgram = std::shared_ptr<const LoadedProgram>;

/// Programs that this process has loaded. One load runs at a time, so that no two of one program do. A child
/// of fork() starts with an empty table: its parent may have been within a load.
struct Table {
  std::mutex mutex;
  std::vector<std::weak_ptr<const LoadedProgram>> programs;

  static Table& get() { return *current(); }

 private:
  /// Tables are never destroyed, as static objects may have programs.
  static Table*& current() {
    static Table* table = new Table;
    [[maybe_unused]] static const int registered =
        pthread_atfork(nullptr, nullptr, [] { current() = new Table; });
    return table;
  }
};

bool has_backends(const LoadedProgram& program, std::span<const RunBackend> backends) {
  return std::ranges::equal(program.backends(), backends, {}, &RunBackend::name, &RunBackend::name);
}

/// Checks whether the program works the same wherever its file is.
bool works_anywhere(const LoadedProgram& program) {
  const auto searches_folder = [&](size_t region) {
    const Result<const RunBackend*> backend = program.backend(region);
    return backend && (*backend)->searches_folder;
  };
  return std::ranges::none_of(std::views::iota(size_t{0}, program.description().regions.size()),
                              searches_folder);
}

bool are_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

/// Returns a program of the table that these bytes of a file in `folder` would give, or null. `is_same` tells
/// whether a file is known to have the bytes. A program whose file was changed in place is none.
template <typename IsSame>
SharedProgram find(Table& table, std::span<const std::byte> bytes, const std::string& folder,
                   std::span<const RunBackend> backends, const IsSame& is_same) {
  const std::optional<uint64_t> digest = told_digest(bytes);
  std::erase_if(table.programs, [](const auto& program) { return program.expired(); });
  for (const auto& entry : table.programs) {
    SharedProgram program = entry.lock();
    if (program == nullptr || program->file().digest != digest || !has_backends(*program, backends)) continue;
    const ProgramFile& file = *program->file().file;
    if (file.folder() != folder && !works_anywhere(*program)) continue;
    if (file.check_unchanged() && (is_same(file) || are_equal(file.bytes(), bytes))) return program;
  }
  return nullptr;
}

Result<SharedProgram> load(Table& table, const std::shared_ptr<const ProgramFile>& file,
                           std::span<const RunBackend> backends) {
  SharedProgram program = TRY(load_program(file, backends));
  table.programs.emplace_back(program);
  return program;
}

}  // namespace

Result<SharedProgram> share_program(const std::string& path, std::span<const RunBackend> backends) {
  const auto file = TRY(ProgramFile::open(path));
  Table& table = Table::get();
  const std::lock_guard lock(table.mutex);
  SharedProgram found = find(table, file->bytes(), file->folder(), backends,
                             [&](const ProgramFile& other) { return other.is_same_file(*file); });
  return found != nullptr ? found : load(table, file, backends);
}

Result<SharedProgram> share_program(std::span<const std::byte> bytes, std::span<const RunBackend> backends) {
  Table& table = Table::get();
  const std::lock_guard lock(table.mutex);
  SharedProgram found = find(table, bytes, "", backends, [](const ProgramFile&) { return false; });
  return found != nullptr ? found : load(table, TRY(ProgramFile::of_bytes(bytes)), backends);
}

}  // namespace intarsia
