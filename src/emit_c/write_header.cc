#include <fmt/format.h>

#include "emit_c/c_text.h"
#include "emit_c/write_c.h"

namespace intarsia {
namespace {

std::string write_argument(const CArgument& argument, bool is_input) {
  return fmt::format("  {}{}* {}; /* '{}': {}, row-major{} */\n", is_input ? "const " : "",
                     c_type(argument.dtype), argument.identifier, c_comment(argument.name),
                     c_comment(describe_type(argument.dtype, argument.sizes)),
                     argument.dtype == DType::f16 || argument.dtype == DType::bf16
                         ? fmt::format("; bits of {}", dtype_name(argument.dtype))
                         : "");
}

std::string write_structs(const CFunction& function) {
  std::string text = fmt::format("/* Inputs of '{}', which are only read. */\nstruct {}_inputs {{\n",
                                 c_comment(function.name), function.prefix);
  for (const CSymbol& symbol : function.symbols)
    text += fmt::format("  int64_t {}; /* size '{}', from {} to {} */\n", symbol.identifier,
                        c_comment(symbol.name), symbol.min, symbol.max);
  for (const CArgument& input : function.inputs) text += write_argument(input, true);
  if (function.inputs.empty()) text += "  int unused;\n";
  text += fmt::format("}};\n\n/* Memory for its outputs. */\nstruct {}_outputs {{\n", function.prefix);
  for (const CArgument& output : function.outputs) text += write_argument(output, false);
  text += "};\n\n";
  const std::string upper = to_upper(function.prefix);
  for (const CArgument& input : function.inputs)
    text += fmt::format("#define {}_IN_{}_BYTES {}\n", upper, to_upper(input.identifier), input.most_bytes);
  for (const CArgument& output : function.outputs)
    text +=
        fmt::format("#define {}_OUT_{}_BYTES {}\n", upper, to_upper(output.identifier), output.most_bytes);
  return text + "\n";
}

std::string write_threads(const CProgram& program, uint32_t threads) {
  return fmt::format(
      R"(/* Threads of the caller. parallel_for calls task(data, index, worker) for each index from 0 to count - 1, once, and
   returns when all are done; `worker` is from 0 to {0}_WORKERS - 1, and no two tasks of one worker run at the same
   time. `pool` is the caller's. */
#define {0}_WORKERS {2}
struct {1}_threads {{
  void (*parallel_for)(void* pool, void (*task)(void* data, int index, int worker), void* data, int count);
  void* pool;
}};

)",
      to_upper(program.prefix), program.prefix, threads);
}

}  // namespace

std::string write_c_header(const EmittedProgram& emitted, const CProgram& program,
                           const EmitCOptions& options, const CSizes& sizes) {
  const std::string upper = to_upper(program.prefix);
  std::string text = fmt::format(
      R"(/* Program in plain C, written by {producer}. Kernels: {code} bytes of code and {data} of data; weights: {constants}
   bytes; working memory: {arena} bytes{stack}.
   Functions have no state: they may run at the same time, each with an arena of its own. */
#ifndef {upper}_H
#define {upper}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* Memory that a run works in, aligned; what it holds between runs does not matter. */
#define {upper}_ARENA_BYTES {arena}
#define {upper}_ARENA_ALIGNMENT 64

/* Results of functions. */
enum {prefix}_status {{
  {upper}_OK = 0,
  {upper}_NULL_POINTER = 1,    /* an argument, or a tensor, is a null pointer */
  {upper}_MISALIGNED = 2,      /* the arena, a tensor or the constants are not aligned */
  {upper}_ARENA_TOO_SMALL = 3, /* {prefix}_check_arena: the arena has too few bytes */
  {upper}_BAD_SIZE = 4,        /* an open size is out of its range, or the model does not work with it */
  {upper}_BAD_INDEX = 5,       /* an index among the inputs is out of range */
  {upper}_KERNEL_FAILED = 6,   /* a kernel failed */
  {upper}_WRONG_CONSTANTS = 7  /* the constants are damaged, or those of another program */
}};

)",
      fmt::arg("producer", emitted.program.producer.empty() ? "Intarsia" : emitted.program.producer),
      fmt::arg("code", sizes.code), fmt::arg("data", sizes.data), fmt::arg("constants", sizes.constants),
      fmt::arg("arena", std::max<uint64_t>(sizes.arena, 64)),
      fmt::arg("stack", sizes.stack == 0 ? "" : fmt::format("; stack of a kernel: {}", sizes.stack)),
      fmt::arg("upper", upper), fmt::arg("prefix", program.prefix));
  if (emitted.has_threads()) text += write_threads(program, emitted.program.threads);
  text += fmt::format(
      "/* Checks memory for an arena. */\nint {}_check_arena(const void* arena, size_t bytes);\n\n",
      program.prefix);
  if (options.constants == ConstantsAs::file)
    text += fmt::format(
        "/* Checks the contents of {0}.bin, aligned as an arena is: that they belong to this program, and "
        "all of "
        "their\n   bytes. Runs check the former only. */\nint {0}_check_constants(const void* file, size_t "
        "bytes);\n\n",
        program.prefix);
  for (const CFunction& function : program.functions)
    text += write_structs(function) + fmt::format("/* Runs '{}'. Returns a {}_status. */\nint {};\n\n",
                                                  c_comment(function.name), program.prefix,
                                                  declare_run(emitted, program, function, options));
  return text + "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

std::string write_c_build(const EmittedProgram& emitted, const CProgram& program,
                          const EmitCOptions& options) {
  const std::string constants = options.constants == ConstantsAs::array
                                    ? " ${CMAKE_CURRENT_LIST_DIR}/" + program.prefix + "_constants.c"
                                    : "";
  const std::string object = options.constants == ConstantsAs::object
                                 ? " ${CMAKE_CURRENT_LIST_DIR}/" + program.prefix + "_constants.o"
                                 : "";
  return fmt::format(
      R"(# Library {0}, a program in plain C. Use: include({0}.cmake), target_link_libraries(main PRIVATE {0}).
{3}add_library({0} STATIC ${{CMAKE_CURRENT_LIST_DIR}}/{0}.c{1})
target_include_directories({0} PUBLIC ${{CMAKE_CURRENT_LIST_DIR}})
target_compile_features({0} PRIVATE c_std_11)
target_link_libraries({0} PUBLIC ${{CMAKE_CURRENT_LIST_DIR}}/lib{0}_kernels.a{2} m)
)",
      program.prefix, constants, object,
      emitted.has_user_calls() ? fmt::format("# It calls your kernels, a source that defines "
                                             "intarsia_kernels(): target_sources({} PRIVATE my_kernels.c)\n",
                                             program.prefix)
                               : "");
}

}  // namespace intarsia
