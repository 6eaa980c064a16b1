#include "backends/halide/build/compile_kernel.h"

#include <cstdio>

#include "backends/halide/build/amx_products.h"
#include "backends/halide/build/build_kernel.h"
#include "backends/halide/build/dot_tiles.h"
#include "backends/halide/build/half_floats_as_bits.h"
#include "backends/halide/build/level_features.h"
#include "backends/halide/build/load_from_output.h"
#include "backends/halide/build/memory_file.h"
#include "backends/halide/build/name_tasks.h"
#include "backends/halide/build/plain_comparisons.h"
#include "backends/halide/build/scratch_bytes.h"
#include "backends/halide/build/stack_bytes.h"
#include "backends/halide/build/thumb_code.h"
#include "backends/halide/build/writes_once.h"
#include "backends/halide/schedule/kernel_name.h"

namespace intarsia::halide {
namespace {

using Halide::Target;

Target target_of(const Kernel& kernel, bool checks) {
  const Isa& isa = kernel.isa;
  std::vector<Target::Feature> features{Target::UserContext};
  if (const DotProducts kind = dot_products_of(kernel); multiplies_bf16(kind))
    features.push_back(kind == DotProducts::zen4 ? Target::AVX512_Zen4 : Target::AVX512_SapphireRapids);
  if (isa.device == KernelDevice::cuda)
    features.insert(features.end(), {Target::CUDA, Target::CUDACapability80});
  else if (isa.is_offloaded())
    features.push_back(Target::OpenCL);
  if (isa.is_opencl() && computes_in_f64(kernel.body)) features.push_back(Target::CLDoubles);
  if (!checks) features.insert(features.end(), {Target::NoRuntime, Target::NoAsserts, Target::NoBoundsQuery});
  return make_target(isa.level, features);
}

Result<std::string> compile_to(Halide::OutputFileType type, Halide::Module& module) {
  const MemoryFile file = TRY(MemoryFile::make());
  module.compile({{type, file.path()}});
  return file.read_all();
}

Result<std::string> make_object(Halide::Module& module, const std::string& level) {
  if (!is_of_microcontrollers(arch_of_level(level)))
    return compile_to(Halide::OutputFileType::object, module);
  return compile_to_thumb(TRY(compile_to(Halide::OutputFileType::llvm_assembly, module)), level);
}

/// Checks for targets on which floats of 16 bits would be converted by functions that programs do not have.
bool holds_half_floats_as_bits(const Isa& isa) {
  const Arch arch = arch_of_level(isa.level);
  return isa.is_offloaded() || arch == Arch::riscv64 || is_of_microcontrollers(arch);
}

/// Returns the module for code that fails where it gets no memory, which nobody can promise it. What else
/// Halide asserts was left out when the functions were lowered.
Halide::Module check_allocations(const Halide::Module& module) {
  Halide::Module checked(module.name(), module.target().without_feature(Target::NoAsserts));
  checked.set_any_strict_float(module.any_strict_float());
  for (const Halide::Buffer<>& buffer : module.buffers()) checked.append(buffer);
  for (const Halide::Internal::LoweredFunc& function : module.functions()) checked.append(function);
  return checked;
}

std::set<std::string> names_of_symbols(const Kernel& kernel) {
  std::set<std::string> names;
  for (size_t i = 0; i < kernel.symbols.size(); ++i) names.insert(symbol_name(i));
  return names;
}

/// Compiles the code of `scheduled` under the name and with the arguments of `wanted`.
Result<EmittedKernel> compile_scheduled(const Kernel& wanted, const Kernel& scheduled, bool checks,
                                        OuterLoops outer_loops = OuterLoops::fused) {
  try {
    BuiltKernel built = build_kernel(scheduled, outer_loops);
    Kernel kernel = wanted;
    // Code that writes elements twice was built without regard to `in_place`, so it is the out-of-place
    // kernel's.
    if (kernel.in_place && !writes_once(built)) kernel.in_place.reset();
    if (kernel.isa.is_opencl()) make_comparisons_plain(built.output);
    Halide::Pipeline pipeline(built.output);
    if (kernel.in_place) load_from_output(pipeline, built.arguments[*kernel.in_place].name, built.output);
    if (!kernel.isa.is_offloaded()) load_from_output(pipeline, built.output.name(), built.output);
    if (holds_half_floats_as_bits(kernel.isa)) hold_half_floats_as_bits(pipeline);
    for (const std::string& sums : built.amx_sums) multiply_on_amx(pipeline, sums);
    if (!built.dot_tile_sums.empty())
      call_dot_tiles(pipeline, built.dot_tile_sums, scheduled.isa.vector_bytes);
    const std::string symbol = name_of(kernel, checks) + symbol_ending(kernel, built.output_argument);
    const std::string function = symbol.substr(0, symbol.size() - std::string_view("_argv").size());
    Halide::Module module = pipeline.compile_to_module(built.arguments, function, target_of(kernel, checks),
                                                       Halide::LinkageType::ExternalPlusArgv);
    name_tasks(module, function);
    if (built.even_tiles) call_for_even_tiles(module, function, *built.even_tiles);
    const ScratchBytes scratch =
        scratch_bytes(module, names_of_symbols(kernel), built.even_tiles ? &*built.even_tiles : nullptr,
                      built.routine_blocks);
    if (!scratch.all.is_known() && !kernel.isa.is_offloaded()) module = check_allocations(module);
    Result<std::string> made = fail("");
    const std::string remarks = capture_errors([&] { made = make_object(module, kernel.isa.level); });
    std::fputs(other_lines(remarks).c_str(), stderr);
    std::string object = TRY(std::move(made));
    if (kernel.isa.is_offloaded() && object.contains("halide_device_malloc"))
      return fail(ErrorKind::unsupported, "a work item keeps values of open size");
    return EmittedKernel{symbol,        std::move(object),           built.output_argument,
                         scratch.fixed, kernel.in_place.has_value(), stack_bytes(remarks, function),
                         scratch.all};
  } catch (const Halide::Error& error) {  // Halide::Error is not a std::exception
    return fail("{}; the kernel:\n{}", error.what(), wanted.text());
  }
}

}  // namespace

Result<EmittedKernel> compile_kernel(const Kernel& wanted, bool checks) {
  Result<EmittedKernel> made = compile_scheduled(wanted, wanted, checks);
  if (made || !wanted.isa.is_offloaded()) return made;
  // OpenCL C has vectors of few sizes, and Halide may make others out of them.
  Kernel plain = wanted;
  plain.isa.vector_bytes = 1;
  Result<EmittedKernel> other = fail("");
  if (!wanted.symbols.empty()) other = compile_scheduled(wanted, wanted, checks, OuterLoops::apart);
  if (!other) other = compile_scheduled(wanted, plain, checks);
  if (!other && !wanted.symbols.empty()) other = compile_scheduled(wanted, plain, checks, OuterLoops::apart);
  return other ? std::move(other) : std::move(made);
}

}  // namespace intarsia::halide
