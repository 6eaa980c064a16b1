#include "backends/halide/emit_objects.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "backends/halide/build_kernel.h"
#include "backends/halide/load_from_output.h"
#include "backends/halide/name_tasks.h"
#include "backends/halide/scratch_bytes.h"
#include "base/temporary_file.h"

namespace intarsia::halide {
namespace {

using Halide::Target;

Target make_target(const Isa& isa, const EmitOptions& options) {
  std::vector<Target::Feature> features{Target::SSE41, Target::UserContext};
  if (isa.level != "x86-64-v2")
    features.insert(features.end(), {Target::AVX, Target::AVX2, Target::FMA, Target::F16C});
  if (isa.level == "x86-64-v4") features.insert(features.end(), {Target::AVX512, Target::AVX512_Skylake});
  if (!options.checks)
    features.insert(features.end(), {Target::NoRuntime, Target::NoAsserts, Target::NoBoundsQuery});
  return Target(Target::Linux, Target::X86, 64, features);
}

std::string read_file(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(bytes).str();
}

Result<EmittedKernel> compile_kernel(const Kernel& kernel, const std::string& name, const Isa& isa,
                                     const EmitOptions& options) {
  try {
    BuiltKernel built = build_kernel(kernel, isa);
    Halide::Pipeline pipeline(built.output);
    if (kernel.in_place) load_from_output(pipeline, built.arguments[*kernel.in_place].name, built.output);
    Halide::Module module = pipeline.compile_to_module(built.arguments, name, make_target(isa, options),
                                                       Halide::LinkageType::ExternalPlusArgv);
    name_tasks(module, name);
    const TemporaryFile file = TRY(TemporaryFile::make("intarsia-kernel"));
    module.compile({{Halide::OutputFileType::object, file.path()}});
    return EmittedKernel{name + "_argv", read_file(file.path()), built.output_argument, scratch_bytes(module)};
  } catch (const Halide::Error& error) {  // no std::exception
    return fail("halide: a kernel does not compile: {}; the kernel:\n{}", error.what(), kernel.text());
  }
}

std::string name_of(const Kernel& kernel, const Isa& isa, const EmitOptions& options) {
  std::string text = fmt::format("{}{}\n{}", isa.level, options.checks ? " checks" : "", kernel.text());
  XXH128_hash_t digest = XXH3_128bits(text.data(), text.size());
  return fmt::format("intarsia_{:016x}{:016x}", digest.high64, digest.low64);
}

/// Code that this process made before: a second compile of a kernel would differ in the names of local
/// symbols.
struct Cache {
  std::mutex mutex;
  std::map<std::string, EmittedKernel> kernels;
};

Cache& cache() {
  static Cache cache;
  return cache;
}

Result<EmittedKernel> emit_kernel(const Kernel& kernel, const std::string& name, const Isa& isa,
                                  const EmitOptions& options) {
  {
    std::lock_guard lock(cache().mutex);
    if (auto at = cache().kernels.find(name); at != cache().kernels.end()) return at->second;
  }
  EmittedKernel made = TRY(compile_kernel(kernel, name, isa, options));
  std::lock_guard lock(cache().mutex);
  return cache().kernels.emplace(name, std::move(made)).first->second;
}

}  // namespace

Result<std::vector<EmittedKernel>> emit_objects(const std::vector<const Kernel*>& kernels, const Isa& isa,
                                                const EmitOptions& options) {
  std::map<std::string, const Kernel*> distinct;
  std::vector<std::string> names;
  for (const Kernel* kernel : kernels) {
    names.push_back(name_of(*kernel, isa, options));
    distinct.emplace(names.back(), kernel);
  }
  std::vector<std::pair<std::string, const Kernel*>> work(distinct.begin(), distinct.end());
  std::vector<Result<EmittedKernel>> results(work.size(), EmittedKernel{});
  std::atomic<size_t> next{0};
  auto run = [&] {
    for (size_t i = next++; i < work.size(); i = next++)
      results[i] = emit_kernel(*work[i].second, work[i].first, isa, options);
  };
  std::vector<std::thread> threads;
  size_t count = std::min<size_t>(std::max(std::thread::hardware_concurrency(), 1u), work.size());
  for (size_t i = 1; i < count; ++i) threads.emplace_back(run);
  run();
  for (std::thread& thread : threads) thread.join();

  std::map<std::string, EmittedKernel> made;
  for (size_t i = 0; i < work.size(); ++i) made[work[i].first] = TRY(std::move(results[i]));
  std::vector<EmittedKernel> emitted;
  for (const std::string& name : names) emitted.push_back(made[name]);
  return emitted;
}

}  // namespace intarsia::halide
