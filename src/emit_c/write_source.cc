#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "base/digest.h"
#include "emit_c/c_text.h"
#include "emit_c/write_c.h"
#include "emit_c/write_constants.h"

namespace intarsia {
namespace {

/// Type code of Halide's buffers.
int type_code(DType dtype) {
  switch (dtype) {
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return 0;
    case DType::f16:
    case DType::f32:
    case DType::f64:
      return 2;
    case DType::bf16:
      return 4;
    default:
      return 1;
  }
}

/// Numbers of a kernel's form (kernel_calls.h).
std::vector<std::string> form_of(const KernelCall& call, const std::map<std::string, std::string>& names) {
  const auto cast = [&](const Dim& size) {
    return size.is_number() ? fmt::format("{}", size.number())
                            : fmt::format("(int32_t){}", c_expression(size, names));
  };
  std::vector<std::string> form{fmt::format("{}", call.tensors.size()), fmt::format("{}", call.sizes.size())};
  for (const Dim& size : call.sizes) form.push_back(cast(size));
  for (const CallTensor& tensor : call.tensors) {
    form.push_back(fmt::format("{}", type_code(tensor.dtype)));
    form.push_back(fmt::format("{}", 8 * dtype_bytes(tensor.dtype, 1)));
    form.push_back(fmt::format("{}", tensor.extents.size()));
    for (size_t i = 0; i < tensor.extents.size(); ++i) {
      form.push_back(cast(tensor.extents[i]));
      form.push_back(cast(tensor.strides[i]));
    }
  }
  return form;
}

bool is_fixed(const SymbolicShape& sizes) { return std::ranges::all_of(sizes, &Dim::is_number); }

bool has_fixed_form(const KernelCall& call) {
  return call.sizes.empty() && std::ranges::all_of(call.tensors, [](const CallTensor& tensor) {
           return is_fixed(tensor.extents) && is_fixed(tensor.strides);
         });
}

/// Returns the lines that are not comments.
std::string without_comments(const std::string& text) {
  std::istringstream lines(text);
  std::string code, line;
  while (std::getline(lines, line))
    if (!line.starts_with("  /*")) code += line + "\n";
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

/// Kernels of all functions, each once.
class KernelTable {
 public:
  explicit KernelTable(const EmittedProgram& emitted) {
    for (const auto& region : emitted.regions)
      for (const KernelCall& call : region->calls) add(call);
  }

  size_t number_of(const KernelCall& call) const { return numbers_.at(call.symbol); }

  /// Declares the kernels and the tensors of those of fixed size.
  std::string declare() const {
    std::string text = fmt::format(
        "#define intarsia_most_arguments {}\n#define intarsia_most_sizes {}\n#define "
        "intarsia_most_dimensions {}\n"
        "#include \"kernel_calls.h\"\n\n",
        most_arguments_, most_sizes_, most_dimensions_);
    for (size_t i = 0; i < calls_.size(); ++i) {
      const KernelCall& call = *calls_[i];
      text += fmt::format(
          "/* {} */\nint {}(void** arguments);\n#define kernel_{} {}\n#define kernel_{}_key \"{} {} {}\"\n",
          c_comment(call.label), call.symbol, i, call.symbol, i, call.key.digest, call.key.threads,
          call.key.precision);
      if (has_fixed_form(call))
        text += fmt::format("static const int32_t tensors_{}[] = {{{}}};\n", i,
                            fmt::join(form_of(call, {}), ", "));
    }
    return text;
  }

  /// Writes what files of times say of all kernels.
  std::string describe_origin(const fbs::ProgramT& program) const {
    if (calls_.empty()) return "";
    const CostKey& key = calls_[0]->key;
    return fmt::format(
        "#ifdef INTARSIA_PROFILE\nconst char* const intarsia_origin[] = {{\"{}\", \"{}\", \"{}\", \"{}\", "
        "\"{}\"}};\n#endif\n\n",
        program.cpu, program.arch, key.backend, key.version, key.code);
  }

 private:
  void add(const KernelCall& call) {
    if (!numbers_.emplace(call.symbol, calls_.size()).second) return;
    calls_.push_back(&call);
    size_t dimensions = 0;
    for (const CallTensor& tensor : call.tensors) dimensions += tensor.extents.size();
    most_arguments_ = std::max(most_arguments_, call.tensors.size());
    most_dimensions_ = std::max(most_dimensions_, dimensions);
    most_sizes_ = std::max(most_sizes_, call.sizes.size());
  }

  std::vector<const KernelCall*> calls_;
  std::map<std::string, size_t> numbers_;  // by symbol
  size_t most_arguments_ = 1, most_dimensions_ = 1, most_sizes_ = 1;
};

/// Writer of one function.
class FunctionWriter {
 public:
  FunctionWriter(const EmittedProgram& emitted, const CProgram& program, const CFunction& function,
                 const KernelTable& kernels, const EmitCOptions& options)
      : emitted_(emitted), program_(program), function_(function), kernels_(kernels), options_(options) {
    for (const CSymbol& symbol : function.symbols) names_[symbol.name] = "n_" + symbol.identifier;
    for (const CArgument& input : function.inputs) bases_[input.value] = "in_" + input.identifier;
    for (const CArgument& output : function.outputs)
      if (function.function->values[output.value]->storage == fbs::Storage::output)
        bases_[output.value] = "out_" + output.identifier;
  }

  std::string write() {
    std::string steps;
    for (size_t s = 0; s < function_.function->steps.size(); ++s)
      steps += write_step(*function_.function->steps[s], function_.workspaces[s]);
    steps += copy_outputs();
    return fmt::format("int {} {{\n", declare_run(emitted_, program_, function_, options_)) +
           check_arguments() + bind_sizes() + bind_addresses(steps) + steps +
           fmt::format("  return {}_OK;\n}}\n", upper());
  }

 private:
  std::string upper() const { return to_upper(program_.prefix); }
  std::string fail_with(const char* status) const { return fmt::format("return {}_{};\n", upper(), status); }

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
    for (const auto& [bytes, room] : function_.limits)
      text += fmt::format("  if ({} > {}) ", c_expression(bytes, names_), room) + fail_with("BAD_SIZE");
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

  /// Place in memory: a variable, a number of bytes beyond it, and expressions of bytes.
  struct Address {
    std::string base;
    int64_t bytes = 0;
    std::string more = {};

    std::string text() const { return base + (bytes == 0 ? "" : fmt::format(" + {}", bytes)) + more; }
    bool operator==(const Address&) const = default;
  };

  Address address_of_value(uint32_t number) const {
    const fbs::ValueT& value = *function_.function->values[number];
    if (const auto base = bases_.find(number); base != bases_.end()) return {base->second};
    if (value.storage == fbs::Storage::constant) return {"constants", constant_offset(value.constant)};
    return {"memory", static_cast<int64_t>(function_.places.at(number))};
  }

  int64_t constant_offset(uint32_t constant) const {
    return static_cast<int64_t>(emitted_.program.constants[constant]->offset);
  }

  static Address in_workspace(const CWorkspace& workspace, size_t part) {
    return {"memory",
            static_cast<int64_t>(workspace.begin + (workspace.parts.empty() ? 0 : workspace.parts[part]))};
  }

  Address address_of(const fbs::StepT& step, const CWorkspace& workspace, const CallTensor& tensor) const {
    Address address;
    switch (tensor.where) {
      case CallTensor::Where::input:
        address = address_of_value(step.inputs[tensor.index]);
        break;
      case CallTensor::Where::output:
        address = address_of_value(step.outputs[tensor.index]);
        break;
      case CallTensor::Where::constant:
        address = {"constants",
                   constant_offset(emitted_.program.regions[step.region]->constants[tensor.index])};
        break;
      case CallTensor::Where::workspace:
        address = in_workspace(workspace, tensor.index);
        break;
    }
    if (tensor.offset.is_number())
      address.bytes += tensor.offset.number();
    else
      address.more += " + " + c_expression(tensor.offset, names_);
    return address;
  }

  /// Adds what an item of a batch is away from the first.
  void move_to_item(const CallItems& items, const CallTensor& tensor, Address& address) const {
    const bool moves = tensor.where == CallTensor::Where::output ||
                       (tensor.where == CallTensor::Where::input && items.input_moves[tensor.index]);
    if (!moves) return;
    const uint64_t bytes = tensor.where == CallTensor::Where::output ? items.output_bytes[tensor.index]
                                                                     : items.input_bytes[tensor.index];
    address.more += fmt::format(" + item * {}", bytes);
  }

  std::string write_step(const fbs::StepT& step, const CWorkspace& workspace) {
    if (step.kind == fbs::StepKind::copy) return write_copy(step);
    const RegionCalls& region = *emitted_.regions[step.region];
    std::string text;
    for (const auto& [size, why] : region.requirements)
      text += fmt::format("  /* {} */\n  if ({} < 0) ", c_comment(why), c_expression(size, names_)) +
              fail_with("BAD_SIZE");
    text += fmt::format("  intarsia_begin(&run, {});\n",
                        emitted_.has_threads() ? "threads->parallel_for, threads->pool" : "NULL, NULL");
    if (region.items)
      text +=
          fmt::format("  for (int64_t item = 0; item < {}; ++item) {{\n", count_items(step, *region.items));
    for (const KernelCall& call : region.calls) text += write_call(step, region, workspace, call);
    return text + (region.items ? "  }\n" : "");
  }

  std::string count_items(const fbs::StepT& step, const CallItems& items) const {
    const size_t first =
        static_cast<size_t>(std::ranges::find(items.input_moves, true) - items.input_moves.begin());
    const fbs::ValueT& value = *function_.function->values[step.inputs[first]];
    Dim bytes = static_cast<int64_t>(dtype_bytes(static_cast<DType>(value.dtype), 1));
    for (const Dim& size : sizes_of_value(*function_.function, value)) bytes = bytes * size;
    return c_expression(floor_div(bytes, static_cast<int64_t>(items.input_bytes[first])), names_);
  }

  std::string write_copy(const fbs::StepT& step) const {
    const fbs::ValueT& value = *function_.function->values[step.inputs[0]];
    Dim bytes = static_cast<int64_t>(dtype_bytes(static_cast<DType>(value.dtype), 1));
    for (const Dim& size : sizes_of_value(*function_.function, value)) bytes = bytes * size;
    return fmt::format("  /* {} */\n  memcpy({}, {}, (size_t){});\n", c_comment(value.name),
                       address_of_value(step.outputs[0]).text(), address_of_value(step.inputs[0]).text(),
                       c_expression(bytes, names_));
  }

  std::string write_call(const fbs::StepT& step, const RegionCalls& region, const CWorkspace& workspace,
                         const KernelCall& call) {
    std::vector<Address> addresses;
    for (const CallTensor& tensor : call.tensors) {
      addresses.push_back(address_of(step, workspace, tensor));
      if (region.items) move_to_item(*region.items, tensor, addresses.back());
      if (call.times != 1 && tensor.step != 0)
        addresses.back().more += fmt::format(" + t * {}", c_expression(tensor.step, names_));
    }
    std::string text = fmt::format("  /* {} */\n", c_comment(call.label));
    if (copies_to_itself(call, addresses)) return text;
    const bool is_open = !has_fixed_form(call), repeats = call.times != 1;
    const size_t number = kernels_.number_of(call);
    std::string list;
    for (const Address& address : addresses)
      list += fmt::format("{}{}", list.empty() ? "" : ", ", address.text());
    if (repeats)
      text += fmt::format("  for (int64_t t = 0; t < {}; ++t) {{\n", c_expression(call.times, names_));
    if (is_open && !repeats) text += "  {\n";
    if (is_open)
      text += fmt::format("  const int32_t tensors[] = {{{}}};\n", fmt::join(form_of(call, names_), ", "));
    text += write_checks(call, addresses);
    text += give_scratch(workspace, call.scratch);
    text += fmt::format("  RUN(kernel_{}, {}, {});\n", number,
                        is_open ? "tensors" : fmt::format("tensors_{}", number), list);
    return text + (repeats || is_open ? "  }\n" : "");
  }

  /// Says where the kernel that runs next allocates.
  std::string give_scratch(const CWorkspace& workspace, const CallScratch& scratch) const {
    if (scratch.bytes == 0) return "";
    Address address = in_workspace(workspace, scratch.part);
    address.bytes += static_cast<int64_t>(scratch.offset);
    const uint64_t bytes = workspace.rooms.empty() ? static_cast<uint64_t>(scratch.bytes.number())
                                                   : workspace.rooms[scratch.part] /
                                                         std::max<uint32_t>(emitted_.program.threads, 1);
    return fmt::format("  intarsia_give_scratch(&run, {}, {});\n", address.text(), bytes);
  }

  static bool copies_to_itself(const KernelCall& call, const std::vector<Address>& addresses) {
    if (!call.is_copy || call.tensors.size() != 2 || addresses[0] != addresses[1]) return false;
    const CallTensor &from = call.tensors[0], &to = call.tensors[1];
    return from.dtype == to.dtype && from.extents == to.extents && from.strides == to.strides;
  }

  std::string write_checks(const KernelCall& call, const std::vector<Address>& addresses) const {
    std::string text;
    for (const CallCheck& check : call.checks) {
      const CallTensor& tensor = call.tensors[check.tensor];
      const bool is_one = check.ranges.size() == 1;
      const size_t axes = tensor.extents.size() - (is_one ? 0 : 1);
      std::string form = fmt::format("{}", axes);
      for (size_t i = 0; i < axes; ++i)
        form += fmt::format(", (int32_t){}, (int32_t){}", c_expression(tensor.extents[i], names_),
                            c_expression(tensor.strides[i], names_));
      for (size_t k = 0; k < check.ranges.size(); ++k) {
        Address address = addresses[check.tensor];
        if (k > 0)
          address.more += fmt::format(
              " + {}",
              c_expression(tensor.strides.back() * static_cast<int64_t>(k * dtype_bytes(tensor.dtype, 1)),
                           names_));
        text += fmt::format("  if (!intarsia_are_in_range({}, {}, (const int32_t[]){{{}}}, {}, {})) ",
                            address.text(), 8 * dtype_bytes(tensor.dtype, 1), form,
                            c_expression(check.ranges[k].first, names_),
                            c_expression(check.ranges[k].second, names_)) +
                fail_with("BAD_INDEX");
      }
    }
    return text;
  }

  /// Copies outputs whose sizes are open, which steps put into the arena.
  std::string copy_outputs() const {
    std::string text;
    for (const CArgument& output : function_.outputs) {
      if (bases_.contains(output.value)) continue;
      Dim bytes = static_cast<int64_t>(output.element_bytes());
      for (const Dim& size : output.sizes) bytes = bytes * size;
      text += fmt::format("  memcpy(out_{}, {}, (size_t){});\n", output.identifier,
                          address_of_value(output.value).text(), c_expression(bytes, names_));
    }
    return text;
  }

  const EmittedProgram& emitted_;
  const CProgram& program_;
  const CFunction& function_;
  const KernelTable& kernels_;
  const EmitCOptions& options_;
  std::map<std::string, std::string> names_;  // variables, by open size
  std::map<uint32_t, std::string> bases_;     // variables of callers' memory, by value
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
  std::string text =
      fmt::format("/* Steps of {0}.h, written by Intarsia. */\n#include \"{0}.h\"\n\n#include <string.h>\n\n",
                  program.prefix);
  text += fmt::format("#define intarsia_workers {}\n", std::max<uint32_t>(emitted.program.threads, 1));
  text += kernels.declare();
  if (options.constants != ConstantsAs::file)
    text += fmt::format("\nextern const unsigned char {}_constants[];\n", program.prefix);
  text += fmt::format(
      R"(
/* Runs a kernel on tensors at these addresses. */
#ifdef INTARSIA_PROFILE
#define CALL(key, kernel, ...) intarsia_call_timed(key, &run, kernel, __VA_ARGS__)
#else
#define CALL(key, kernel, ...) intarsia_call(&run, kernel, __VA_ARGS__)
#endif
#define RUN(kernel, tensors, ...)                                                                     \
  do {{                                                                                                \
    if (CALL(kernel##_key, kernel, tensors, (const void* const[]){{__VA_ARGS__}}) != 0) return {}_KERNEL_FAILED; \
  }} while (0)

int {}_check_arena(const void* arena, size_t bytes) {{
  if (arena == NULL) return {}_NULL_POINTER;
  if ((uintptr_t)arena % {}_ARENA_ALIGNMENT != 0) return {}_MISALIGNED;
  return bytes < {}_ARENA_BYTES ? {}_ARENA_TOO_SMALL : {}_OK;
}}

)",
      upper, program.prefix, upper, upper, upper, upper, upper, upper);
  text += kernels.describe_origin(emitted.program);
  const std::string functions = write_functions(emitted, program, options, kernels);
  const std::string digest = content_digest(text + functions);
  if (options.constants == ConstantsAs::file) text += write_constants_check(emitted, program, digest);
  return {text + functions, digest};
}

}  // namespace intarsia
