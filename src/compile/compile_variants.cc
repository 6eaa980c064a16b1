#include "compile/compile_variants.h"

#include <algorithm>

#include "base/cpu_level.h"
#include "program/read_program.h"
#include "program/verify_machine.h"

namespace intarsia {
namespace {

/// Checks whether the program of a variant runs on this machine; if there is none, whether its CPU's code
/// does.
Result<bool> has_what_it_demands(const CompileRequest& request, const CompileResult& result) {
  if (!result.size) return runs_here(request.cpu);
  return verify_machine(TRY(read_program(request.program_path)).description).has_value();
}

/// Joins the programs, and measures what is written.
Status write_joined(std::span<const TemporaryFile> files, const std::string& path, CompileResult& result) {
  std::vector<std::string> paths;
  for (const TemporaryFile& file : files) paths.push_back(file.path());
  TRY(join_programs(paths, path));
  const MappedProgram joined = TRY(read_program(path));
  result.size = measure_size(joined.description, joined.elf.size(), joined.bytes, joined.variant_bytes);
  return {};
}

}  // namespace

Result<CompileResult> compile_variants(const CompileRequest& request, const CompileServices& services,
                                       const Compile& compile) {
  std::vector<TemporaryFile> files;
  std::vector<CompiledVariant> variants;
  CompileResult taken;
  services.observer.progress.expect(static_cast<double>(request.cpus.size() - 1));
  for (const std::string& cpu : request.cpus) {
    files.push_back(TRY(TemporaryFile::make("intarsia-variant")));
    CompileRequest one = request;
    one.cpu = cpu;
    one.cpus.clear();
    if (!request.program_path.empty()) one.program_path = files.back().path();
    CompileResult result = TRY(with_context(compile(one), "--cpu {}", cpu));
    variants.push_back({cpu, TRY(has_what_it_demands(one, result)), false, result.precision});
    const bool is_last = variants.size() == request.cpus.size();
    const bool is_found = std::ranges::any_of(variants, &CompiledVariant::is_taken);
    if (is_found || (!variants.back().runs_here && !is_last)) continue;
    variants.back().is_taken = variants.back().runs_here;
    taken = std::move(result);
  }
  if (taken.size) TRY(write_joined(files, request.program_path, taken));
  taken.variants = std::move(variants);
  return taken;
}

}  // namespace intarsia
