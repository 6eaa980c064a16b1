#include "backends/halide/build/thumb_code.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <regex>
#include <sstream>
#include <utility>
#include <vector>

#include "backends/halide/build/memory_file.h"
#include "base/code/find_clang.h"
#include "base/code/run_program.h"
#include "base/cpu_level.h"

namespace intarsia::halide {
namespace {

struct Processor {
  const char* level;
  std::vector<std::string> options;  // Clang's
};

/// Processors whose pipeline code is arranged for, with the registers that all of a level have.
const Processor processors[] = {
    {"armv7e-m+fp", {"--target=thumbv7em-none-eabihf", "-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16"}},
    {"armv7e-m+fpv5", {"--target=thumbv7em-none-eabihf", "-mcpu=cortex-m7", "-mfpu=fpv5-sp-d16"}},
    {"armv8.1-m.main+mve.fp", {"--target=thumbv8.1m.main-none-eabihf", "-mcpu=cortex-m55+nofp.dp"}}};

/// Adds the products of eight integers of 16 bits, in four words, and of eight others.
constexpr const char* add_products = R"(
define internal i32 @intarsia_add_products(i32 %sum, i32 %x0, i32 %x1, i32 %x2, i32 %x3, i16 %w0, i16 %w1,
    i16 %w2, i16 %w3, i16 %w4, i16 %w5, i16 %w6, i16 %w7) alwaysinline nounwind {
  %a0 = insertelement <4 x i32> poison, i32 %x0, i32 0
  %a1 = insertelement <4 x i32> %a0, i32 %x1, i32 1
  %a2 = insertelement <4 x i32> %a1, i32 %x2, i32 2
  %a3 = insertelement <4 x i32> %a2, i32 %x3, i32 3
  %x = bitcast <4 x i32> %a3 to <8 x i16>
  %b0 = insertelement <8 x i16> poison, i16 %w0, i32 0
  %b1 = insertelement <8 x i16> %b0, i16 %w1, i32 1
  %b2 = insertelement <8 x i16> %b1, i16 %w2, i32 2
  %b3 = insertelement <8 x i16> %b2, i16 %w3, i32 3
  %b4 = insertelement <8 x i16> %b3, i16 %w4, i32 4
  %b5 = insertelement <8 x i16> %b4, i16 %w5, i32 5
  %b6 = insertelement <8 x i16> %b5, i16 %w6, i32 6
  %b7 = insertelement <8 x i16> %b6, i16 %w7, i32 7
  %all = call i32 @llvm.arm.mve.vmldava.v8i16(i32 0, i32 0, i32 0, i32 %sum, <8 x i16> %x, <8 x i16> %b7)
  ret i32 %all
}
declare i32 @llvm.arm.mve.vmldava.v8i16(i32, i32, i32, i32, <8 x i16>, <8 x i16>)
)";

/// Returns its argument.
constexpr const char* hold = R"(
define internal i32 @intarsia_hold(i32 %x) alwaysinline nounwind {
  ret i32 %x
}
)";

/// Returns a line of a module; in place of the declaration of one of these functions, which become part of
/// the code that calls them, its definition.
std::string with_definition(const std::string& line) {
  if (!line.starts_with("declare")) return line;
  for (const auto& [name, text] :
       {std::pair{"@intarsia_add_products(", add_products}, {"@intarsia_hold(", hold}})
    if (line.find(name) != std::string::npos) return text;
  return line;
}

/// Returns a module that Clang 19 reads as one of its own target. The target of the text is that of Halide's
/// code: its triple, processor and features; the layout of data is the same. Attributes only tell the
/// optimizer more, and Clang 19 does not know all of them. Addresses need no table, as nothing is loaded
/// elsewhere.
std::string for_clang(const std::string& module) {
  static const std::regex unknown(R"( (captures\([^()]*\)|initializes\(\([^)]*\)\)|samesign)(?=[ ,)]))");
  std::istringstream lines(module);
  std::string text, line;
  while (std::getline(lines, line)) {
    if (line.starts_with("target triple")) continue;
    if (line.starts_with("attributes #")) line = line.substr(0, line.find('{')) + "{ nounwind }";
    if (line.find("\"PIC Level\"") != std::string::npos)
      line = std::regex_replace(line, std::regex("i32 2}"), "i32 0}");
    text += std::regex_replace(with_definition(line), unknown, "") + "\n";
  }
  return text;
}

/// Returns the first error with the line of the module that it is in.
std::string first_error(const std::string& log) {
  const size_t at = std::min(log.find("error:"), log.size());
  const size_t end = log.find('\n', log.find('\n', at) + 1);
  return at == log.size() ? log.substr(0, log.find('\n')) : log.substr(at, end - at);
}

}  // namespace

Result<std::string> compile_to_thumb(const std::string& module, const std::string& level) {
  const Processor* const processor = std::ranges::find(processors, level, &Processor::level);
  INTARSIA_CHECK(processor != std::end(processors));
  const std::string clang = TRY(find_clang("code for " + level));
  const MemoryFile text = TRY(MemoryFile::make()), object = TRY(MemoryFile::make()),
                   log = TRY(MemoryFile::make());
  TRY(text.write(for_clang(module)));
  std::vector<std::string> command{clang};
  command.insert(command.end(), processor->options.begin(), processor->options.end());
  command.insert(command.end(), {"-mfloat-abi=hard", "-O2", "-ffreestanding", "-fno-unroll-loops",
                                 "-fno-temp-file", "-x", "ir", "-Wno-override-module",
                                 "-Rpass-analysis=prologepilog", "-c", text.path(), "-o", object.path()});
  const int status = TRY(run_program(command, log.path()));
  const std::string said = log.read_all().value_or("it printed nothing");
  if (status != 0)
    return fail("{} failed with status {} on code for {}: {}", clang, status, level, first_error(said));
  std::fputs(said.c_str(), stderr);
  return object.read_all();
}

}  // namespace intarsia::halide
