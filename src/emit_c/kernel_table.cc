#include "emit_c/kernel_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "emit_c/c_text.h"

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

bool is_fixed(const SymbolicShape& sizes) { return std::ranges::all_of(sizes, &Dim::is_number); }

}  // namespace

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

bool has_fixed_form(const KernelCall& call) {
  return call.sizes.empty() && std::ranges::all_of(call.tensors, [](const CallTensor& tensor) {
           return is_fixed(tensor.extents) && is_fixed(tensor.strides);
         });
}

KernelTable::KernelTable(const EmittedProgram& emitted) {
  for (const auto& region : emitted.emitted_regions())
    for (const KernelCall& call : region->calls) add(call);
}

std::string KernelTable::declare(const std::string& status_prefix) const {
  if (calls_.empty()) return "";
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
      text +=
          fmt::format("static const int32_t tensors_{}[] = {{{}}};\n", i, fmt::join(form_of(call, {}), ", "));
  }
  return text + fmt::format(
                    R"(
/* Runs a kernel on tensors at these addresses. */
#ifdef INTARSIA_PROFILE
#define CALL(key, kernel, ...) intarsia_call_timed(key, &run, kernel, __VA_ARGS__)
#else
#define CALL(key, kernel, ...) intarsia_call(&run, kernel, __VA_ARGS__)
#endif
#define RUN(kernel, tensors, ...)                                                                     \
  do {{                                                                                              \
    if (CALL(kernel##_key, kernel, tensors, (const void* const[]){{__VA_ARGS__}}) != 0) return {}_KERNEL_FAILED; \
  }} while (0)
)",
                    status_prefix);
}

std::string KernelTable::describe_origin(const fbs::ProgramT& program) const {
  if (calls_.empty()) return "";
  const CostKey& key = calls_[0]->key;
  return fmt::format(
      "#ifdef INTARSIA_PROFILE\nconst char* const intarsia_origin[] = {{\"{}\", \"{}\", \"{}\", \"{}\", "
      "\"{}\"}};\n#endif\n\n",
      program.cpu, program.arch, key.backend, key.version, key.code);
}

void KernelTable::add(const KernelCall& call) {
  if (!numbers_.emplace(call.symbol, calls_.size()).second) return;
  calls_.push_back(&call);
  size_t dimensions = 0;
  for (const CallTensor& tensor : call.tensors) dimensions += tensor.extents.size();
  most_arguments_ = std::max(most_arguments_, call.tensors.size());
  most_dimensions_ = std::max(most_dimensions_, dimensions);
  most_sizes_ = std::max(most_sizes_, call.sizes.size());
}

}  // namespace intarsia
