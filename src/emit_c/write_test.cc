#include <fmt/format.h>

#include <algorithm>

#include "emit_c/c_text.h"
#include "emit_c/write_c.h"
#include "emit_c/write_constants.h"

namespace intarsia {
namespace {

/// Numbers of 4 bytes, which are aligned for all types by a union with 8 bytes.
std::string write_values(const std::string& name, const TensorView& tensor) {
  const std::span bytes(static_cast<const std::byte*>(tensor.data), tensor.bytes());
  return fmt::format(
      "static const union {{\n  uint32_t words[{}];\n  uint64_t aligned;\n}} {} = {{{{{}}}}};\n",
      std::max<size_t>((bytes.size() + 3) / 4, 1), name, bytes.empty() ? "0" : write_words(bytes));
}

const NamedValue* find_value(const std::vector<NamedValue>& values, const std::string& name) {
  const auto found = std::ranges::find(values, name, &NamedValue::name);
  return found == values.end() ? nullptr : &*found;
}

bool is_c_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f64; }

/// Returns the sizes that the open ones had in a recorded run.
std::string size_in(const CFunction& function, const CSymbol& symbol, const RecordedRun& run) {
  for (const CArgument& input : function.inputs) {
    const NamedValue* value = find_value(run.inputs, input.name);
    for (size_t i = 0; value != nullptr && i < input.sizes.size(); ++i)
      if (const std::string* name = input.sizes[i].symbol(); name != nullptr && *name == symbol.name)
        return fmt::format("{}", value->tensor.shape()[i]);
  }
  return fmt::format("{}", symbol.min);
}

std::string write_run(const CProgram& program, const CFunction& function, const RecordedRun& run,
                      const std::string& more) {
  const std::string upper = to_upper(program.prefix);
  std::string text, inputs, outputs, compares;
  for (const CSymbol& symbol : function.symbols)
    inputs += fmt::format("  inputs.{} = {};\n", symbol.identifier, size_in(function, symbol, run));
  for (const CArgument& input : function.inputs) {
    const NamedValue* value = find_value(run.inputs, input.name);
    if (value == nullptr) continue;
    const std::string name = fmt::format("{}_{}_in", function.prefix, input.identifier);
    text += write_values(name, value->tensor.view());
    inputs += fmt::format("  inputs.{} = (const {}*)(const void*)&{};\n", input.identifier,
                          c_type(input.dtype), name);
  }
  for (const CArgument& output : function.outputs) {
    const NamedValue* value = find_value(run.outputs, output.name);
    if (value == nullptr) continue;
    const std::string name = fmt::format("{}_{}_out", function.prefix, output.identifier);
    text += write_values(name, value->tensor.view());
    outputs += fmt::format("  outputs.{} = ({}*)allocate({});\n", output.identifier, c_type(output.dtype),
                           std::max<uint64_t>(output.most_bytes, 1));
    const size_t elements = value->tensor.bytes() / output.element_bytes();
    compares +=
        fmt::format("  failed |= differ_{}(\"{}\", outputs.{}, (const void*)&{}, {});\n",
                    is_c_float(output.dtype) ? c_type(output.dtype) : "bytes", output.identifier,
                    output.identifier, name, is_c_float(output.dtype) ? elements : value->tensor.bytes());
  }
  return text + fmt::format(
                    R"(
static int test_{0}(void) {{
  struct {0}_inputs inputs;
  struct {0}_outputs outputs;
  int failed = 0;
  memset(&inputs, 0, sizeof inputs);
  memset(&outputs, 0, sizeof outputs);
{1}{2}  const int status = {0}_run(&inputs, &outputs, allocate({3}_ARENA_BYTES){4});
  if (status != {3}_OK) {{
    printf("{0}: status %d\n", status);
    return 1;
  }}
{5}  return failed;
}}

)",
                    function.prefix, inputs, outputs, upper, more, compares);
}

constexpr const char* helpers = R"(
static void* blocks; /* all that is allocated: each begins with a pointer to the one before */

/* Returns aligned memory, which release() frees. */
static void* allocate(size_t bytes) {
  char* const block = (char*)malloc(bytes + 128);
  if (block == NULL) {
    printf("no memory for %lu bytes\n", (unsigned long)bytes);
    exit(1);
  }
  memcpy(block, &blocks, sizeof blocks);
  blocks = block;
  return block + 128 - (uintptr_t)block % 64;
}

static void release(void) {
  while (blocks != NULL) {
    void* const block = blocks;
    memcpy(&blocks, block, sizeof blocks);
    free(block);
  }
}

#define DIFFER(type)                                                                           \
  static int differ_##type(const char* name, const void* got, const void* want, size_t count) { \
    const type *const a = (const type*)got, *const b = (const type*)want;                        \
    double largest = 0, difference = 0;                                                          \
    for (size_t i = 0; i < count; ++i) {                                                         \
      const double x = (double)a[i], y = (double)b[i];                                           \
      const double size = y < 0 ? -y : y, apart = x > y ? x - y : y - x;                         \
      if (size > largest && size <= 1e300) largest = size;                                       \
      if (x == y || (x != x && y != y)) continue;                                                \
      if (!(apart <= difference)) difference = apart <= 1e300 ? apart : 1e300;                   \
    }                                                                                            \
    const int differs = difference > 1e-5 + 1e-4 * largest;                                      \
    printf("%s: %s\n", name, differs ? "differs" : "ok");                                        \
    return differs;                                                                              \
  }
)";

constexpr const char* differ_bytes = R"(
static int differ_bytes(const char* name, const void* got, const void* want, size_t bytes) {
  const int differs = memcmp(got, want, bytes) != 0;
  printf("%s: %s\n", name, differs ? "differs" : "ok");
  return differs;
}
)";

constexpr const char* one_thread = R"(
/* Runs the tasks in the calling thread. */
static void run_tasks(void* pool, void (*task)(void* data, int index, int worker), void* data, int count) {
  (void)pool;
  for (int i = 0; i < count; ++i) task(data, i, 0);
}
)";

}  // namespace

std::string write_c_test(const CProgram& program, const EmitCOptions& options,
                         const std::vector<RecordedRun>& runs, bool has_threads) {
  const bool is_file = options.constants == ConstantsAs::file;
  std::string text = fmt::format(
      "/* Runs {0} on recorded inputs, and compares with the outputs that an ordinary program had. Exit "
      "status 0: equal. */\n#include \"{0}.h\"\n\n#include <stdio.h>\n#include <stdlib.h>\n#include "
      "<string.h>\n",
      program.prefix);
  text += helpers;
  const auto any_output = [&](auto is_wanted) {
    return std::ranges::any_of(program.functions, [&](const CFunction& function) {
      return std::ranges::any_of(function.outputs, is_wanted);
    });
  };
  for (const char* type : {"float", "double"})
    if (any_output([&](const CArgument& output) { return std::string(c_type(output.dtype)) == type; }))
      text += fmt::format("DIFFER({})\n", type);
  if (any_output([](const CArgument& output) { return !is_c_float(output.dtype); })) text += differ_bytes;
  if (is_file) text += "\nstatic const void* constants_file;\n";
  if (has_threads)
    text += one_thread +
            fmt::format("static const struct {}_threads threads = {{run_tasks, NULL}};\n", program.prefix);
  const std::string more = std::string(is_file ? ", constants_file" : "") + (has_threads ? ", &threads" : "");
  std::string calls;
  for (const CFunction& function : program.functions) {
    const auto run = std::ranges::find(runs, function.name, &RecordedRun::function);
    if (run == runs.end()) continue;
    text += "\n" + write_run(program, function, *run, more);
    calls += fmt::format("  failed |= test_{}();\n", function.prefix);
  }
  if (is_file)
    text += fmt::format(
        R"(static const void* read_constants(const char* path) {{
  FILE* const file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return NULL;
  const long bytes = ftell(file);
  void* const memory = allocate((size_t)bytes);
  if (fseek(file, 0, SEEK_SET) != 0 || fread(memory, 1, (size_t)bytes, file) != (size_t)bytes) return NULL;
  fclose(file);
  return {}_check_constants(memory, (size_t)bytes) == {}_OK ? memory : NULL;
}}

)",
        program.prefix, to_upper(program.prefix));
  text += is_file ? "int main(int argc, char** argv) {\n" : "int main(void) {\n";
  if (is_file)
    text += fmt::format(
        "  constants_file = read_constants(argc > 1 ? argv[1] : \"{0}.bin\");\n  if (constants_file == NULL) "
        "{{\n"
        "    printf(\"{0}.bin is not here, or is not that of this program\\n\");\n    return 1;\n  }}\n",
        program.prefix);
  return text + "  int failed = 0;\n" + calls + "  release();\n  return failed;\n}\n";
}

}  // namespace intarsia
