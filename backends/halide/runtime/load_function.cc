#include "backends/halide/runtime/load_function.h"

#include <algorithm>
#include <limits>

#include "backends/halide/abi/argument_buffers.h"
#include "backends/halide/abi/element_types.h"
#include "backends/halide/abi/function_plan_generated.h"
#include "backends/halide/runtime/kernel_runtime.h"
#include "backends/halide/runtime/plan_parts.h"
#include "base/flat_buffer.h"

namespace intarsia::halide {
namespace {

struct PlannedArgument {
  ArgumentKind kind = ArgumentKind::input_buffer;
  HalideType type = {};
  DType dtype = DType::undefined;
  size_t rank = 0, number = 0;  // number among the inputs, or among the outputs
  std::vector<int32_t> mins;
};

Status check_tensor(const PlannedArgument& argument, const TensorView& tensor) {
  const bool is_small = std::ranges::all_of(
      tensor.shape, [](int64_t size) { return size <= std::numeric_limits<int32_t>::max(); });
  if (tensor.dtype != argument.dtype || tensor.shape.size() != argument.rank)
    return fail("halide: argument {} is a {} of rank {}, its code takes a {} of rank {}", argument.number,
                dtype_name(tensor.dtype), tensor.shape.size(), dtype_name(argument.dtype), argument.rank);
  if (!is_small) return fail("halide: argument {} has a size of over 31 bits", argument.number);
  return {};
}

class FunctionExecutable : public Executable {
 public:
  FunctionExecutable(FunctionCode code, std::vector<PlannedArgument> arguments)
      : code_(code), arguments_(std::move(arguments)) {
    for (const PlannedArgument& argument : arguments_) (is_output(argument) ? outputs_ : inputs_) += 1;
  }

  Status run(const RunContext& context) const override {
    if (context.inputs.size() != inputs_ || context.outputs.size() != outputs_)
      return fail("halide: the function takes {} inputs and makes {} outputs, got {} and {}", inputs_,
                  outputs_, context.inputs.size(), context.outputs.size());
    if (std::ranges::all_of(context.outputs, is_empty)) return {};
    KernelRuntime runtime(context.threads, 0, {});
    ArgumentBuffers buffers(runtime.table());
    for (const PlannedArgument& argument : arguments_) {
      const TensorView tensor =
          is_output(argument) ? context.outputs[argument.number].tensor : input(context, argument);
      TRY(check_tensor(argument, tensor));
      if (argument.kind == ArgumentKind::scalar_input) {
        buffers.add_scalar(tensor.data);
      } else {
        buffers.add_buffer(argument.type, tensor.data, tensor.shape, argument.mins);
      }
    }
    const int status = code_(buffers.pointers());
    if (status == 0) return {};
    if (status == halide_out_of_memory) return fail(ErrorKind::out_of_memory, "halide: out of memory");
    return fail("halide: {} (status {})", runtime.message(), status);
  }

 private:
  static bool is_output(const PlannedArgument& argument) {
    return argument.kind == ArgumentKind::output_buffer;
  }
  static bool is_empty(const Output& output) { return output.tensor.bytes() == 0; }
  static TensorView input(const RunContext& context, const PlannedArgument& argument) {
    const ConstTensorView& view = context.inputs[argument.number].tensor;
    return {const_cast<void*>(view.data), view.dtype, view.shape};  // the code only reads it
  }

  FunctionCode code_;
  std::vector<PlannedArgument> arguments_;
  size_t inputs_ = 0, outputs_ = 0;
};

template <typename Function>
Result<Function> find_code(const LoadContext& context, const std::string& symbol) {
  void* const address = context.symbol ? context.symbol(symbol) : nullptr;
  if (address == nullptr) return fail("halide: the program's code lacks {}", symbol);
  return reinterpret_cast<Function>(address);
}

/// Reads an argument, of which the code's metadata tell the type.
Result<PlannedArgument> read_argument(const function::Argument& from, const FunctionArgument& about) {
  const std::optional<DType> dtype = dtype_of(about.type);
  const bool is_scalar = about.kind == ArgumentKind::scalar_input;
  if (!dtype || about.dimensions < 0 || (is_scalar && about.dimensions != 0)) return damaged_plan();
  PlannedArgument to{about.kind, about.type, *dtype, static_cast<size_t>(about.dimensions), 0, {}};
  if (from.mins() != nullptr) to.mins.assign(from.mins()->begin(), from.mins()->end());
  if (!to.mins.empty() && to.mins.size() != to.rank) return damaged_plan();
  return to;
}

}  // namespace

Result<std::unique_ptr<Executable>> load_function(const LoadContext& context) {
  const auto* plan = find_table<function::Plan>(context.blob);
  if (plan == nullptr || plan->symbol() == nullptr || plan->arguments() == nullptr) return damaged_plan();
  const std::string symbol = plan->symbol()->str();
  const FunctionMetadata& about = *TRY(find_code<MetadataFunction>(context, symbol + "_metadata"))();
  const auto code = TRY(find_code<FunctionCode>(context, symbol + "_argv"));
  const auto count = static_cast<int64_t>(plan->arguments()->size());
  if (about.version != function_metadata_version || about.argument_count != count + 1 ||
      about.argument_count > max_function_arguments || about.arguments[0].name != user_context_name)
    return damaged_plan();
  std::vector<PlannedArgument> arguments;
  size_t inputs = 0, outputs = 0, dimensions = 0;
  for (uint32_t i = 0; i < count; ++i) {
    arguments.push_back(TRY(read_argument(*plan->arguments()->Get(i), about.arguments[i + 1])));
    const bool is_output = arguments.back().kind == ArgumentKind::output_buffer;
    arguments.back().number = is_output ? outputs++ : inputs++;
    dimensions += arguments.back().rank;
  }
  if (dimensions > max_function_dimensions) return damaged_plan();
  return std::make_unique<FunctionExecutable>(code, std::move(arguments));
}

}  // namespace intarsia::halide
