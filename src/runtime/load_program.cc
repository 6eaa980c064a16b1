#include "runtime/load_program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "program/verify_machine.h"
#include "runtime/region_text.h"

namespace intarsia {

void* LoadedProgram::symbol(const std::string& name) const { return code_ ? code_->symbol(name) : nullptr; }

Status LoadedProgram::find_backends(std::span<const RunBackend> known) {
  backends_.assign(known.begin(), known.end());
  const auto find = [&](const std::string& name) {
    return static_cast<size_t>(std::ranges::find(backends_, name, &RunBackend::name) - backends_.begin());
  };
  std::vector<std::string> wanted = description().requirements;
  for (const auto& region : description().regions) {
    backend_of_region_.push_back(find(region->backend));
    wanted.push_back(region->backend);
  }
  for (const std::string& name : wanted) {
    if (find(name) < backends_.size()) continue;
    std::vector<std::string> names;
    for (const RunBackend& backend : backends_) names.push_back(backend.name);
    const std::string ops = backend_ops(description(), name);
    return fail(ErrorKind::not_found,
                "it needs the backend '{}'{}, which this Intarsia was built without (it has: {}); install an "
                "Intarsia with '{}', or compile the model with other --backends",
                name, ops.empty() ? "" : " to run " + ops, fmt::join(names, ", "), name);
  }
  return {};
}

Status LoadedProgram::load_code() {
  code_ = TRY(LoadedCode::load(file_.elf, std::filesystem::path(file_.path).filename().string()));
  file_.elf = {};
  file_.elf_owner = nullptr;
  return {};
}

Result<std::shared_ptr<const LoadedProgram>> load_program(const std::string& path,
                                                          std::span<const RunBackend> backends) {
  std::shared_ptr<LoadedProgram> program(new LoadedProgram);
  program->file_ = TRY(read_program(path));
  const auto load = [&]() -> Status {
    TRY(verify_machine(program->description()));
    TRY(program->find_backends(backends));
    return program->load_code();
  };
  TRY(with_context(load(), "program '{}'", path));
  return program;
}

}  // namespace intarsia
