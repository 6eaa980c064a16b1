#include "backends/halide/emit/glue_object.h"

#include <algorithm>
#include <iterator>

#include "backends/halide/emit/embedded_objects.h"
#include "base/code/find_clang.h"

namespace intarsia::halide {
namespace {

const EmbeddedObject* find_object(const std::string& name) {
  const EmbeddedObject* found = std::ranges::find(embedded_objects, name, &EmbeddedObject::name);
  return found == std::end(embedded_objects) ? nullptr : found;
}

std::string object_named(const std::string& name) {
  const EmbeddedObject* found = find_object(name);
  INTARSIA_CHECK(found != nullptr);
  return std::string(found->bytes);
}

/// Returns the Debian package of the compiler for an architecture.
const char* compiler_package(Arch arch) {
  switch (arch) {
    case Arch::x86_64:
      return "g++-x86-64-linux-gnu";
    case Arch::aarch64:
      return "g++-aarch64-linux-gnu";
    case Arch::armv7:
      return "g++-arm-linux-gnueabihf";
    case Arch::riscv64:
      return "g++-riscv64-linux-gnu";
    case Arch::armv7e_m:
    case Arch::armv8_1_m:
      return "clang-19";
  }
  return "";
}

}  // namespace

Status check_glue(Arch arch) {
  if (is_of_microcontrollers(arch)) TRY(find_clang(fmt::format("code for {}", arch_name(arch))));
  if (find_object(fmt::format("glue_{}", arch_name(arch))) != nullptr) return {};
  return fail(
      ErrorKind::unsupported,
      "--arch {}: this Intarsia was built where no compiler for {} was installed: install the package "
      "{} and build Intarsia again",
      arch_name(arch), arch_name(arch), compiler_package(arch));
}

std::string glue_object(Arch arch) { return object_named(fmt::format("glue_{}", arch_name(arch))); }

std::string error_glue_object(Arch arch) {
  return object_named(fmt::format("error_glue_{}", arch_name(arch)));
}

std::string dot_tiles_object(DotProducts kind) {
  if (kind == DotProducts::neon) return object_named("dot_tiles_16");
  return object_named(kind == DotProducts::avx_vnni ? "dot_tiles_32" : "dot_tiles_64");
}

std::string routines_object(const std::string& level) { return object_named("routines_" + level); }

std::vector<std::pair<std::string_view, std::string_view>> call_sources() {
  std::vector<std::pair<std::string_view, std::string_view>> sources;
  for (const char* source : {"kernel_calls.h", "halide_abi.h"})
    sources.emplace_back(source, find_object(source)->bytes);
  return sources;
}

Result<KernelTimer> kernel_timer(Arch arch) {
  if (is_of_microcontrollers(arch))
    return fail(ErrorKind::unsupported,
                "--arch {}: no system starts a program there that times kernels; they are chosen by formula",
                arch_name(arch));
  TRY(check_glue(arch));
  KernelTimer timer{object_named(fmt::format("timer_{}", arch_name(arch))), object_named("run.sh")};
  for (const char* source : {"timer.c", "halide_abi.h"})
    timer.sources.emplace_back(source, object_named(source));
  return timer;
}

}  // namespace intarsia::halide
