#include "runtime/load_program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "plugin/loaded_plugins.h"
#include "runtime/region_text.h"

namespace intarsia {
namespace {

/// Returns the option of the build that a backend depends on; empty: none.
std::string_view option_of(const std::string& backend) {
  if (backend == "reference" || backend == "kernels") return "INTARSIA_WITH_REFERENCE";
  if (backend == "onnxruntime" || backend == "openvino" || backend == "tensorflow")
    return "INTARSIA_WITH_FRAMEWORKS";
  return {};
}

}  // namespace

void* LoadedProgram::symbol(const std::string& name) const { return code_ ? code_->symbol(name) : nullptr; }

Result<const RunBackend*> LoadedProgram::backend(size_t region) const {
  return find_backend(description().regions[region]->backend);
}

Result<const RunBackend*> LoadedProgram::find_backend(const std::string& name) const {
  const auto found = std::ranges::find(backends_, name, &RunBackend::name);
  if (found != backends_.end()) return &*found;
  for (const auto& plugin : description().plugins) {
    if (plugin->name != name) continue;
    TRY(with_context(check_plugin_support(), "it needs the plug-in '{}'", name));
    const Status others = check_plugins_of_environment();
    return fail(
        ErrorKind::not_found,
        "it needs the plug-in '{}' (compiled with version {}), which is not loaded{}: name its library "
        "with --plugin, in INTARSIA_PLUGINS or by intarsia_load_plugin, or compile the model with "
        "--also for a plan without it",
        name, plugin->version, others ? "" : fmt::format(" ({})", others.error().message));
  }
  std::vector<std::string> names;
  for (const RunBackend& backend : backends_) names.push_back(backend.name);
  const std::string ops = backend_ops(description(), name);
  const std::string_view option = option_of(name);
  return fail(ErrorKind::not_found,
              "it needs the backend '{}'{}, which this Intarsia was built without (it has: {}); install an "
              "Intarsia with '{}'{}, or compile the model with other --backends",
              name, ops.empty() ? "" : " to run " + ops, fmt::join(names, ", "), name,
              option.empty() ? "" : fmt::format(" (built with {}=ON)", option));
}

namespace {

Status find_backends(const LoadedProgram& program, const fbs::FunctionT& function) {
  for (const auto& step : function.steps) {
    if (step->kind == fbs::StepKind::run) TRY(program.backend(step->region));
    for (const auto& body : step->bodies) TRY(find_backends(program, *body));
  }
  return {};
}

/// Checks that there is a way to run the function, as far as can be known without devices.
Status find_any_backends(const LoadedProgram& program, const fbs::FunctionT& function) {
  const Status found = find_backends(program, function);
  const bool has_other = std::ranges::any_of(function.alternatives, [&](const auto& alternative) {
    return find_backends(program, *alternative).has_value();
  });
  return has_other ? Status() : found;
}

}  // namespace

Status LoadedProgram::load_code() {
  code_ = TRY(LoadedCode::load(file_.elf, std::filesystem::path(file_.path).filename().string()));
  file_.elf = {};
  file_.elf_owner = nullptr;
  return {};
}

Result<std::shared_ptr<const LoadedProgram>> load_program(const std::string& path,
                                                          std::span<const RunBackend> backends) {
  return load_program(TRY(ProgramFile::open(path)), backends);
}

Result<std::shared_ptr<const LoadedProgram>> load_program(const std::shared_ptr<const ProgramFile>& file,
                                                          std::span<const RunBackend> backends) {
  std::shared_ptr<LoadedProgram> program(new LoadedProgram);
  program->file_ = TRY(read_program(file));
  const auto load = [&]() -> Status {
    TRY(verify_machine(program->description(), program->file().variants));
    program->backends_.assign(backends.begin(), backends.end());
    for (const std::string& name : program->description().requirements) TRY(program->find_backend(name));
    for (const auto& function : program->description().functions) TRY(find_any_backends(*program, *function));
    return program->load_code();
  };
  TRY(with_context(load(), "program '{}'", file->name()));
  return program;
}

}  // namespace intarsia
