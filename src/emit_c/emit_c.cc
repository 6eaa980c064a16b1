#include "emit_c/emit_c.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <ranges>

#include "base/files/output_file.h"
#include "base/files/staged_folder.h"
#include "emit_c/archive.h"
#include "emit_c/elf_file.h"
#include "emit_c/plain_c_text.h"
#include "emit_c/write_constants.h"

namespace intarsia {
namespace {

namespace fs = std::filesystem;

/// Folder and name of an emission.
struct Place {
  fs::path folder;
  std::string name;
};

Place place_of(const std::string& path) {
  const fs::path whole(path);
  return {whole.has_parent_path() ? whole.parent_path() : fs::path("."), whole.filename().string()};
}

/// Files besides those that have the program's name, as far as its kernels need them.
constexpr const char* support_files[] = {"plain_c.h", "kernel_calls.h", "halide_abi.h", "user_kernels.h",
                                         "intarsia/kernel.h"};

Result<std::string> prefix_of(const std::string& path) {
  const std::string name = place_of(path).name, identifier = to_identifier(name);
  if (name.empty() || name == "." || name == "..")
    return fail("--emit c: -o {}: want a folder and a name, as in out/net", path);
  if (is_keyword(identifier))
    return fail("--emit c: -o {}: '{}' is a keyword of C or C++; want another name", path, identifier);
  if (std::ranges::find(support_files, identifier + ".h") != std::end(support_files))
    return fail("--emit c: -o {}: '{}.h' is a file that programs include; want another name", path,
                identifier);
  return identifier;
}

std::vector<std::string> own_files(const std::string& name, ConstantsAs constants) {
  return {name + ".h",      name + ".c",     "lib" + name + "_kernels.a",
          name + "_test.c", name + ".cmake", constants_file_name(constants, name)};
}

/// Returns the texts of the files that steps include, by name.
std::map<std::string, std::string_view> support_of(const EmittedProgram& emitted) {
  std::map<std::string, std::string_view> texts{{"plain_c.h", plain_c_text}};
  for (const auto& region : emitted.emitted_regions())
    texts.insert(region->sources.begin(), region->sources.end());
  return texts;
}

/// Adds up what the objects with code bring, and finds the largest kernel.
Status measure_objects(const EmittedProgram& emitted, CSizes& sizes) {
  std::map<std::string, std::string> labels;  // by symbol
  for (const auto& region : emitted.emitted_regions()) {
    sizes.stack = std::max(sizes.stack, region->stack_bytes);
    for (const KernelCall& call : region->calls) labels.emplace(call.symbol, call.label);
  }
  for (const std::string& object : emitted.objects) {
    const ObjectContents contents = TRY(read_object(object));
    sizes.code += contents.code_bytes;
    sizes.data += contents.data_bytes + contents.writable_bytes;
    for (const std::string& symbol : contents.symbols) {
      const auto label = labels.find(symbol);
      const uint64_t bytes = contents.code_bytes + contents.data_bytes;
      if (label == labels.end() || bytes <= sizes.largest_kernel_bytes) continue;
      sizes.largest_kernel = label->second;
      sizes.largest_kernel_bytes = bytes;
    }
  }
  return {};
}

std::vector<ArchiveMember> members_of(const EmittedProgram& emitted) {
  std::vector<ArchiveMember> members;
  for (const std::string& object : emitted.objects)
    members.push_back({fmt::format("{}.o", members.size()), object});
  return members;
}

/// Checks whether the emissions of a name consist of files like this one, or of folders with them.
bool is_of_emission(const std::string& file, const std::string& name) {
  std::vector<std::string> ours(std::begin(support_files), std::end(support_files));
  for (const ConstantsAs constants : {ConstantsAs::object, ConstantsAs::file, ConstantsAs::array})
    std::ranges::copy(own_files(name, constants), std::back_inserter(ours));
  return std::ranges::any_of(
      ours, [&](const std::string& one) { return one == file || one.starts_with(file + "/"); });
}

/// Checks that the folder's parent takes one.
Status check_new_folder_beside(const fs::path& folder) {
  TRY(StagedFolder::create(folder.string()));
  return {};
}

}  // namespace

Result<CEmission> plan_emission(const EmittedProgram& emitted, const std::string& path,
                                const EmitCOptions& options) {
  const std::string prefix = TRY(prefix_of(path));
  CEmission emission{own_files(prefix, options.constants), TRY(make_c_program(emitted, prefix, options)), {}};
  std::ranges::copy(support_of(emitted) | std::views::keys, std::back_inserter(emission.files));
  emission.sizes.constants = emitted.constants.bytes;
  for (const CFunction& function : emission.program.functions)
    emission.sizes.arena = std::max(emission.sizes.arena, function.steps.arena_bytes);
  TRY(measure_objects(emitted, emission.sizes));
  return emission;
}

Status check_emission_folder(const std::string& path) {
  const std::string prefix = TRY(prefix_of(path));
  const fs::path folder = place_of(path).folder;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return check_new_folder_beside(folder);
  if (!fs::is_directory(folder, error))
    return fail("--emit c: -o {}: '{}' is not a folder; name another", path, folder.string());
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, error))
    if (!is_of_emission(entry.path().lexically_relative(folder).string(), prefix))
      return fail(
          "--emit c: -o {}: the folder '{}' holds other files ('{}'); name one that is empty or not there",
          path, folder.string(), entry.path().lexically_relative(folder).string());
  return check_new_folder_beside(folder);
}

Status emit_c(const EmittedProgram& emitted, const CEmission& emission, const std::string& path, Arch arch,
              const EmitCOptions& options, const std::vector<RecordedRun>& runs) {
  const CProgram& program = emission.program;
  const std::string& prefix = program.prefix;
  StagedFolder staged = TRY(StagedFolder::create(place_of(path).folder.string()));
  const auto put = [&](const std::string& name, std::string_view bytes) {
    const fs::path file = staged.path() / name;
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    return write_whole(file.string(), bytes);
  };
  const CSource source = write_c_source(emitted, program, options);
  TRY(put(prefix + ".h", write_c_header(emitted, program, options, emission.sizes)));
  TRY(put(prefix + ".c", source.text));
  TRY(put("lib" + prefix + "_kernels.a", TRY(make_archive(members_of(emitted)))));
  TRY(write_constants(emitted.constants, options.constants, prefix, arch, source.digest,
                      staged.path().string()));
  TRY(put(prefix + "_test.c", write_c_test(program, options, runs, emitted.has_threads())));
  TRY(put(prefix + ".cmake", write_c_build(emitted, program, options)));
  for (const auto& [name, text] : support_of(emitted)) TRY(put(name, text));
  return staged.commit();
}

}  // namespace intarsia
