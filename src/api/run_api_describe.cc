// Part of the C API that describes programs and devices.
#include "api/all_devices.h"
#include "api/handles.h"
#include "api/struct_sizes.h"
#include "program/open_sizes.h"
#include "program/print_program.h"

namespace intarsia::api {
namespace {

Result<const fbs::FunctionT*> find_function(const intarsia_program* program, size_t number) {
  if (program == nullptr) return fail("the program is a null pointer");
  const auto& functions = program->loaded->description().functions;
  if (number >= functions.size()) return fail("no function {}; the program has {}", number, functions.size());
  return functions[number].get();
}

intarsia_argument describe_value(const fbs::ValueT& value) {
  return {.struct_size = sizeof(intarsia_argument),
          .name = value.name.c_str(),
          .kind = value.dtype == 0 ? INTARSIA_OPAQUE : INTARSIA_TENSOR,
          .dtype = value.dtype,
          .rank = value.rank_unknown || value.dtype == 0 ? -1 : static_cast<int64_t>(value.dims.size()),
          .shape = value.dims.data(),
          .index_limit = static_cast<int64_t>(value.index_limit),
          .tuned_shape = value.tuned_dims.empty() ? value.dims.data() : value.tuned_dims.data()};
}

Result<const fbs::ValueT*> find_argument(const fbs::FunctionT& function, bool input, size_t index) {
  const std::vector<uint32_t>& side = input ? function.inputs : function.outputs;
  if (index >= side.size())
    return fail("no {} {}; the function has {}", input ? "input" : "output", index, side.size());
  return function.values[side[index]].get();
}

Status describe_argument(const intarsia_program* program, size_t number, bool input, size_t index,
                         intarsia_argument* info) {
  const fbs::FunctionT* function = TRY(find_function(program, number));
  return fill_struct(info, describe_value(*TRY(find_argument(*function, input, index))));
}

Status describe_size(const intarsia_program* program, size_t number, bool input, size_t index, size_t axis,
                     const char** expression) {
  if (expression == nullptr) return fail("the place for the expression is a null pointer");
  const fbs::FunctionT* function = TRY(find_function(program, number));
  const fbs::ValueT* value = TRY(find_argument(*function, input, index));
  if (axis >= value->dims.size())
    return fail("no axis {}; '{}' has {}", axis, value->name, value->dims.size());
  const std::string& text = text_of_size(*function, *value, axis);
  *expression = text.empty() ? nullptr : text.c_str();
  return {};
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_program_describe(const intarsia_program* program, intarsia_program_info* info) {
  return guarded([&]() -> Status {
    if (program == nullptr) return fail("the program is a null pointer");
    const fbs::ProgramT& description = program->loaded->description();
    return fill_struct(info,
                       {.struct_size = sizeof(*info),
                        .producer = description.producer.c_str(),
                        .arch = description.arch.c_str(),
                        .cpu = description.cpu.c_str(),
                        .threads = description.threads,
                        .model_path = description.model_path.c_str(),
                        .model_digest = description.model_digest,
                        .function_count = description.functions.size(),
                        .slot_count = description.slots.size(),
                        .identity = program->loaded.get(),
                        .precision = description.precision.empty() ? "f32" : description.precision.c_str()});
  });
}

intarsia_error* intarsia_program_function(const intarsia_program* program, size_t number,
                                          intarsia_function* info) {
  return guarded([&]() -> Status {
    const fbs::FunctionT* function = TRY(find_function(program, number));
    return fill_struct(info, {.struct_size = sizeof(*info),
                              .name = function->name.c_str(),
                              .input_count = function->inputs.size(),
                              .output_count = function->outputs.size(),
                              .symbol_count = function->symbols.size()});
  });
}

intarsia_error* intarsia_program_symbol(const intarsia_program* program, size_t number, size_t symbol,
                                        intarsia_symbol* info) {
  return guarded([&]() -> Status {
    const fbs::FunctionT* function = TRY(find_function(program, number));
    if (symbol >= function->symbols.size())
      return fail("no symbol {}; the function has {}", symbol, function->symbols.size());
    const fbs::SymbolT& about = *function->symbols[symbol];
    return fill_struct(info, {.struct_size = sizeof(*info),
                              .name = about.name.c_str(),
                              .min = static_cast<int64_t>(about.min),
                              .max = static_cast<int64_t>(about.max)});
  });
}

intarsia_error* intarsia_program_input_size(const intarsia_program* program, size_t function, size_t input,
                                            size_t axis, const char** expression) {
  return guarded([&] { return describe_size(program, function, true, input, axis, expression); });
}

intarsia_error* intarsia_program_output_size(const intarsia_program* program, size_t function, size_t output,
                                             size_t axis, const char** expression) {
  return guarded([&] { return describe_size(program, function, false, output, axis, expression); });
}

intarsia_error* intarsia_program_input(const intarsia_program* program, size_t function, size_t input,
                                       intarsia_argument* info) {
  return guarded([&] { return describe_argument(program, function, true, input, info); });
}

intarsia_error* intarsia_program_output(const intarsia_program* program, size_t function, size_t output,
                                        intarsia_argument* info) {
  return guarded([&] { return describe_argument(program, function, false, output, info); });
}

intarsia_error* intarsia_program_slot(const intarsia_program* program, size_t number, intarsia_slot* info) {
  return guarded([&]() -> Status {
    if (program == nullptr) return fail("the program is a null pointer");
    const auto& slots = program->loaded->description().slots;
    if (number >= slots.size()) return fail("no slot {}; the program has {}", number, slots.size());
    const fbs::SlotT& slot = *slots[number];
    return fill_struct(info, {.struct_size = sizeof(*info),
                              .name = slot.name.c_str(),
                              .kind = slot.kind.c_str(),
                              .device = slot.device.c_str()});
  });
}

const char* intarsia_program_text(intarsia_program* program) {
  if (program == nullptr) return "";
  const Status made = caught([&]() -> Status {
    const std::lock_guard lock(program->text_mutex);
    if (program->text.empty()) {
      for (const ProgramVariant& variant : program->loaded->file().variants)
        program->text += "variant for " + print_variant(variant) + "\n";
      program->text += print_program(program->loaded->description());
    }
    return {};
  });
  return made ? program->text.c_str() : "";
}

size_t intarsia_device_count(void) {
  size_t count = 0;
  const Status counted = caught([&]() -> Status {
    count = all_devices().size();
    return {};
  });
  return counted ? count : 0;
}

intarsia_error* intarsia_device_info(size_t index, intarsia_device* info) {
  return guarded([&]() -> Status {
    const std::vector<const DeviceInfo*> devices = all_devices();
    if (index >= devices.size()) return fail("no device {}; there are {}", index, devices.size());
    const DeviceInfo& device = *devices[index];
    return fill_struct(info, {.struct_size = sizeof(*info),
                              .name = device.name.c_str(),
                              .description = device.description.c_str()});
  });
}
