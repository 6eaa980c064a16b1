#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/digest.h"
#include "emit_c/c_text.h"
#include "emit_c/write_c.h"
#include "emit_c/write_constants.h"
#include "emit_c/write_steps.h"

namespace intarsia {
namespace {

/// Returns the lines that are not comments.
std::string without_comments(const std::string& text) {
  std::istringstream lines(text);
  std::string code, line;
  while (std::getline(lines, line))
    if (!line.substr(std::min(line.find_first_not_of(' '), line.size())).starts_with("/*"))
      code += line + "\n";
  return code;
}

/// Checks whether a text has a word that is an identifier.
bool mentions(const std::string& text, const std::string& word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

/// Writer of one function.
class FunctionWriter {
 public:
  FunctionWriter(const EmittedProgram& emitted, const CProgram& program, const CFunction& function,
                 const KernelTable& kernels, const EmitCOptions& options)
      : emitted_(emitted),
        program_(program),
        function_(function),
        options_(options),
        context_{emitted, kernels, to_upper(program.prefix), {}} {
    for (const CSymbol& symbol : function.symbols) context_.names[symbol.name] = "n_" + symbol.identifier;
  }

  std::string write() {
    std::vector<CAddress> inputs, outputs;
    for (const CArgument& input : function_.inputs) inputs.push_back({"in_" + input.identifier});
    for (const CArgument& output : function_.outputs) outputs.push_back({"out_" + output.identifier});
    const std::string steps = StepsWriter(context_, function_.steps, 0, inputs, outputs).write();
    return fmt::format("int {} {{\n", declare_run(emitted_, program_, function_, options_)) +
           check_arguments() + bind_sizes() + bind_addresses(steps) + steps +
           fmt::format("  return {}_OK;\n}}\n", upper());
  }

 private:
  const std::string& upper() const { return context_.status_prefix; }
  std::string fail_with(const char* status) const { return context_.fail_with(status); }

  std::string check_arguments() const {
    std::string text =
        "  if (inputs == NULL || outputs == NULL || arena == NULL) " + fail_with("NULL_POINTER");
    if (program_of_file())
      text += "  if (constants_file == NULL) " + fail_with("NULL_POINTER") +
              fmt::format("  if (memcmp(constants_file, {0}_id, sizeof {0}_id) != 0) ", program_.prefix) +
              fail_with("WRONG_CONSTANTS");
    if (emitted_.has_threads()) text += "  if (threads == NULL) " + fail_with("NULL_POINTER");
    for (const auto& [structure, arguments] :
         {std::pair("inputs", &function_.inputs), std::pair("outputs", &function_.outputs)})
      for (const CArgument& argument : *arguments) {
        if (argument.most_bytes == 0) continue;
        text +=
            fmt::format("  if ({}->{} == NULL) ", structure, argument.identifier) + fail_with("NULL_POINTER");
        if (argument.element_bytes() > 1)
          text += fmt::format("  if ((uintptr_t){}->{} % {} != 0) ", structure, argument.identifier,
                              argument.element_bytes()) +
                  fail_with("MISALIGNED");
      }
    text +=
        fmt::format("  if ((uintptr_t)arena % {}_ARENA_ALIGNMENT != 0) ", upper()) + fail_with("MISALIGNED");
    return text;
  }

  bool program_of_file() const { return options_.constants == ConstantsAs::file; }

  std::string bind_sizes() const {
    std::string text;
    for (const CSymbol& symbol : function_.symbols)
      text +=
          fmt::format("  const int64_t n_{} = inputs->{};\n  if (n_{} < {} || n_{} > {}) ", symbol.identifier,
                      symbol.identifier, symbol.identifier, symbol.min, symbol.identifier, symbol.max) +
          fail_with("BAD_SIZE");
    for (const auto& [bytes, room] : function_.steps.limits)
      text +=
          fmt::format("  if ({} > {}) ", c_expression(bytes, context_.names), room) + fail_with("BAD_SIZE");
    return text;
  }

  /// Declares the variables that the steps mention.
  std::string bind_addresses(const std::string& steps) const {
    std::string text;
    const std::string code = without_comments(steps);
    const auto declare = [&](const std::string& type, const std::string& name, const std::string& value) {
      if (mentions(code, name)) text += fmt::format("  {}{}{};\n", type, name, value);
    };
    for (const CArgument& input : function_.inputs)
      declare("const uint8_t* const ", "in_" + input.identifier,
              fmt::format(" = (const uint8_t*)inputs->{}", input.identifier));
    for (const CArgument& output : function_.outputs)
      declare("uint8_t* const ", "out_" + output.identifier,
              fmt::format(" = (uint8_t*)outputs->{}", output.identifier));
    declare("uint8_t* const ", "memory", " = (uint8_t*)arena");
    declare("const uint8_t* const ", "constants",
            program_of_file() ? fmt::format(" = (const uint8_t*)constants_file + {}", constants_file_header)
                              : fmt::format(" = {}_constants", program_.prefix));
    declare("struct intarsia_run ", "run", "");
    return text;
  }

  const EmittedProgram& emitted_;
  const CProgram& program_;
  const CFunction& function_;
  const EmitCOptions& options_;
  StepsContext context_;
};

/// Returns the check of a file of constants.
std::string write_constants_check(const EmittedProgram& emitted, const CProgram& program,
                                  const std::string& digest) {
  std::string id;
  for (size_t i = 0; i < digest.size(); i += 2)
    id += fmt::format("{}0x{}", i == 0 ? "" : ", ", digest.substr(i, 2));
  return fmt::format(
      R"(static const uint8_t {0}_id[16] = {{{3}}};

int {0}_check_constants(const void* file, size_t bytes) {{
  const uint8_t* const at = (const uint8_t*)file;
  if (at == NULL) return {1}_NULL_POINTER;
  if ((uintptr_t)at % {1}_ARENA_ALIGNMENT != 0) return {1}_MISALIGNED;
  if (bytes != {2} || memcmp(at, {0}_id, sizeof {0}_id) != 0) return {1}_WRONG_CONSTANTS;
  const uint32_t sum = at[24] | (uint32_t)at[25] << 8 | (uint32_t)at[26] << 16 | (uint32_t)at[27] << 24;
  return intarsia_crc32(at + {4}, bytes - {4}) == sum ? {1}_OK : {1}_WRONG_CONSTANTS;
}}

)",
      program.prefix, to_upper(program.prefix), constants_file_header + emitted.constants.bytes, id,
      constants_file_header);
}

std::string write_functions(const EmittedProgram& emitted, const CProgram& program,
                            const EmitCOptions& options, const KernelTable& kernels) {
  std::string text;
  for (const CFunction& function : program.functions)
    text += FunctionWriter(emitted, program, function, kernels, options).write() + "\n";
  return text;
}

}  // namespace

std::string declare_run(const EmittedProgram& emitted, const CProgram& program, const CFunction& function,
                        const EmitCOptions& options) {
  return fmt::format(
      "{0}_run(const struct {0}_inputs* inputs, struct {0}_outputs* outputs, void* arena{1}{2})",
      function.prefix, options.constants == ConstantsAs::file ? ", const void* constants_file" : "",
      emitted.has_threads() ? fmt::format(", const struct {}_threads* threads", program.prefix) : "");
}

CSource write_c_source(const EmittedProgram& emitted, const CProgram& program, const EmitCOptions& options) {
  const KernelTable kernels(emitted);
  const std::string upper = to_upper(program.prefix);
  std::string text = fmt::format(
      "/* Steps of {0}.h, written by Intarsia. */\n#include \"{0}.h\"\n\n#include <string.h>\n\n#include "
      "\"plain_c.h\"\n\n",
      program.prefix);
  text += fmt::format("#define intarsia_workers {}\n", std::max<uint32_t>(emitted.program.threads, 1));
  if (emitted.has_user_calls())
    text += "/* Link with your kernels, which define intarsia_kernels(). */\n#include \"user_kernels.h\"\n";
  text += kernels.declare(upper);
  if (options.constants != ConstantsAs::file)
    text += fmt::format("\nextern const unsigned char {}_constants[];\n", program.prefix);
  text += fmt::format(
      R"(
int {}_check_arena(const void* arena, size_t bytes) {{
  if (arena == NULL) return {}_NULL_POINTER;
  if ((uintptr_t)arena % {}_ARENA_ALIGNMENT != 0) return {}_MISALIGNED;
  return bytes < {}_ARENA_BYTES ? {}_ARENA_TOO_SMALL : {}_OK;
}}

)",
      program.prefix, upper, upper, upper, upper, upper, upper);
  text += kernels.describe_origin(emitted.program);
  const std::string functions = write_functions(emitted, program, options, kernels);
  const std::string digest = content_digest(text + functions);
  if (options.constants == ConstantsAs::file) text += write_constants_check(emitted, program, digest);
  return {text + functions, digest};
}

}  // namespace intarsia
