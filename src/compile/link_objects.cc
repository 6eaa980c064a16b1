#include "compile/link_objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/architecture.h"
#include "base/code/run_program.h"
#include "base/elf_machine.h"
#include "base/files/temporary_folder.h"

namespace intarsia {
namespace {

namespace fs = std::filesystem;

struct Format {
  Arch arch;
  const char* emulation;   // name for ld.lld; decides the output when there are no objects
  const char* page_bytes;  // largest page size that a kernel for it may use
};
constexpr Format formats[] = {{Arch::x86_64, "elf_x86_64", "4096"},
                              {Arch::aarch64, "aarch64linux", "65536"},
                              {Arch::armv7, "armelf_linux_eabi", "65536"},
                              {Arch::riscv64, "elf64lriscv", "4096"}};

/// Checks that an object is for the architecture; the linker says what else is wrong with it.
Status check_machine(const std::string& object, const Format& wanted) {
  constexpr size_t at = offsetof(Elf64_Ehdr, e_machine);  // as in files for 32 bits
  uint16_t machine = 0;
  if (!object.starts_with(ELFMAG) || object.size() < at + sizeof machine) return {};
  std::memcpy(&machine, object.data() + at, sizeof machine);
  const auto number = [](const Format& format) { return elf_machine(format.arch).number; };
  if (machine == number(wanted)) return {};
  const Format* got = std::ranges::find(formats, machine, number);
  const std::string name =
      got == std::end(formats) ? fmt::format("machine {} of ELF", machine) : arch_name(got->arch);
  return fail(
      ErrorKind::unsupported,
      "an object to link is for {}, but the program is for {}: compile both for one architecture (--arch)",
      name, arch_name(wanted.arch));
}

/// Says in a library without objects which calls it follows.
void mark_calls(std::string& library, const Format& format) {
  const size_t at =
      pointer_bytes(format.arch) == 4 ? offsetof(Elf32_Ehdr, e_flags) : offsetof(Elf64_Ehdr, e_flags);
  const uint32_t calls = elf_machine(format.arch).calls;
  std::memcpy(library.data() + at, &calls, sizeof calls);
}

Status write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return fail(ErrorKind::io, "cannot write '{}' to link: {}", path.string(), std::strerror(errno));
  return {};
}

/// Reads a file that the linker wrote.
Result<std::string> read_file(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error)
    return fail(ErrorKind::io, "cannot read '{}', which ld.lld should have written: {}", path.string(),
                error.message());
  std::string bytes(size, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size)))
    return fail(ErrorKind::io, "cannot read '{}', which ld.lld wrote: {}", path.string(),
                std::strerror(errno));
  return bytes;
}

/// Finds the first line with an error, since a crashed linker also asks for bug reports and prints its stack.
std::string find_error_line(const std::string& log) {
  std::istringstream lines(log);
  std::string first, line;
  while (std::getline(lines, line)) {
    if (first.empty()) first = line;
    if (line.find("error") != std::string::npos || line.find("ERROR") != std::string::npos) return line;
  }
  return first.empty() ? "nothing" : first;
}

/// Returns the path of the C library's mathematics in this process.
Result<std::string> mathematics_library() {
  double (*const function)(double) = std::cos;
  Dl_info about = {};
  if (dladdr(reinterpret_cast<void*>(function), &about) == 0 || about.dli_fname == nullptr)
    return fail(ErrorKind::not_found, "cannot find the C library's mathematics (libm)");
  return std::string(about.dli_fname);
}

}  // namespace

Result<std::string> link_objects(std::span<const std::string> objects, const std::string& arch,
                                 Libraries libraries) {
  const Result<Arch> known = read_arch(arch);
  if (!known)
    return fail(ErrorKind::unsupported, "cannot link for '{}'; want x86_64, aarch64, armv7 or riscv64", arch);
  if (is_of_microcontrollers(*known))
    return fail(ErrorKind::unsupported,
                "programs (.so) are loaded by a system, and processors of {} have none: compile to C with "
                "--emit c, and link that with your application",
                arch);
  const Format& format = *std::ranges::find(formats, *known, &Format::arch);
  for (const std::string& object : objects) TRY(check_machine(object, format));
  const TemporaryFolder folder = TRY(TemporaryFolder::make("intarsia-link"));
  TRY(write_file(folder / "exports", "{ global: intarsia_*; local: *; };\n"));
  const std::string output = folder / "program";
  std::vector<std::string> arguments = {"ld.lld",
                                        "-m",
                                        format.emulation,
                                        "-shared",
                                        "-nostdlib",
                                        "-Bsymbolic",
                                        "--gc-sections",
                                        "--build-id=none",
                                        "--hash-style=gnu",
                                        "-z",
                                        "now",
                                        "-z",
                                        "noexecstack",
                                        "-z",
                                        std::string("max-page-size=") + format.page_bytes,
                                        "--version-script=" + folder / "exports",
                                        "-o",
                                        output};
  for (size_t i = 0; i < objects.size(); ++i) {
    arguments.push_back(folder / fmt::format("{}.o", i));
    TRY(write_file(arguments.back(), objects[i]));
  }
  if (libraries == Libraries::mathematics)
    arguments.insert(arguments.end(), {"--as-needed", TRY(mathematics_library())});
  if (objects.empty()) {
    // The linker needs an input: a file of raw bytes works for every architecture, and nothing refers to it.
    TRY(write_file(folder / "empty", std::string_view("\0", 1)));
    // Symbols of this file carry the folder's name, so they must go.
    arguments.insert(arguments.end(), {"--strip-all", "--format=binary", folder / "empty"});
  }
  const int status = TRY(run_program(arguments, folder / "log"));
  if (status == not_on_path)
    return fail(ErrorKind::not_found,
                "ld.lld is not on PATH; it links the program: install the package lld (apt install lld)");
  if (status != 0) {
    return fail(ErrorKind::io, "ld.lld failed with status {} in '{}'; is there room on its disk? It said: {}",
                status, folder.path().string(),
                find_error_line(read_file(folder / "log").value_or("nothing")));
  }
  std::string made = TRY(read_file(output));
  if (objects.empty()) mark_calls(made, format);
  return made;
}

}  // namespace intarsia
