#include "emit_c/emit_c.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "base/files/output_file.h"
#include "base/files/staged_folder.h"
#include "emit_c/archive.h"
#include "emit_c/elf_file.h"
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

Result<std::string> prefix_of(const std::string& path) {
  const std::string name = place_of(path).name, identifier = to_identifier(name);
  if (name.empty() || name == "." || name == "..")
    return fail("--emit c: -o {}: want a folder and a name, as in out/net", path);
  if (is_keyword(identifier))
    return fail("--emit c: -o {}: '{}' is a keyword of C or C++; want another name", path, identifier);
  return identifier;
}

/// Files that all emissions have.
constexpr const char* support_files[] = {"kernel_calls.h", "halide_abi.h"};

std::vector<std::string> files_of(const std::string& name, ConstantsAs constants) {
  std::vector<std::string> files{name + ".h",      name + ".c",     "lib" + name + "_kernels.a",
                                 name + "_test.c", name + ".cmake", constants_file_name(constants, name)};
  files.insert(files.end(), std::begin(support_files), std::end(support_files));
  return files;
}

/// Adds up what the objects with code bring, and finds the largest kernel.
Status measure_objects(const EmittedProgram& emitted, CSizes& sizes) {
  std::map<std::string, std::string> labels;  // by symbol
  for (const auto& region : emitted.regions) {
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

/// Writes the files that calls of kernels need.
Status write_support(const EmittedProgram& emitted, const fs::path& folder) {
  for (const auto& region : emitted.regions)
    for (const auto& [name, text] : region->sources) TRY(write_whole((folder / name).string(), text));
  return {};
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
  CEmission emission{files_of(prefix, options.constants), TRY(make_c_program(emitted, prefix, options)), {}};
  emission.sizes.constants = emitted.constants.bytes;
  for (const CFunction& function : emission.program.functions)
    emission.sizes.arena = std::max(emission.sizes.arena, function.arena_bytes);
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
  std::vector<std::string> ours;
  for (const ConstantsAs constants : {ConstantsAs::object, ConstantsAs::file, ConstantsAs::array})
    std::ranges::copy(files_of(prefix, constants), std::back_inserter(ours));
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (std::ranges::find(ours, entry.path().filename().string()) == ours.end())
      return fail(
          "--emit c: -o {}: the folder '{}' holds other files ('{}'); name one that is empty or not there",
          path, folder.string(), entry.path().filename().string());
  return check_new_folder_beside(folder);
}

Status emit_c(const EmittedProgram& emitted, const CEmission& emission, const std::string& path, Arch arch,
              const EmitCOptions& options, const std::vector<RecordedRun>& runs) {
  const CProgram& program = emission.program;
  const std::string& prefix = program.prefix;
  StagedFolder staged = TRY(StagedFolder::create(place_of(path).folder.string()));
  const auto put = [&](const std::string& name, std::string_view bytes) {
    return write_whole((staged.path() / name).string(), bytes);
  };
  const CSource source = write_c_source(emitted, program, options);
  TRY(put(prefix + ".h", write_c_header(emitted, program, options, emission.sizes)));
  TRY(put(prefix + ".c", source.text));
  TRY(put("lib" + prefix + "_kernels.a", TRY(make_archive(members_of(emitted)))));
  TRY(write_constants(emitted.constants, options.constants, prefix, arch, source.digest,
                      staged.path().string()));
  TRY(put(prefix + "_test.c", write_c_test(program, options, runs, emitted.has_threads())));
  TRY(put(prefix + ".cmake", write_c_build(program, options)));
  TRY(write_support(emitted, staged.path()));
  return staged.commit();
}

}  // namespace intarsia
