#include "backends/halide/emit/encode_open_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/halide/abi/open_plan_generated.h"
#include "backends/halide/emit/list_calls.h"
#include "backends/halide/schedule/kernel_name.h"
#include "base/flat_buffer.h"

namespace intarsia::halide {
namespace {

/// Table of expressions over numbered symbols, in which equal ones are once.
class Sizes {
 public:
  Sizes(std::map<std::string, int64_t> symbols, std::vector<std::unique_ptr<open::SizeT>>& to)
      : symbols_(std::move(symbols)), to_(to) {}

  uint32_t add(const Dim& size) {
    PostfixSize postfix = to_postfix(size, [&](const std::string& symbol) { return symbols_.at(symbol); });
    const auto [at, is_new] = numbers_.try_emplace({postfix.ops, postfix.operands}, to_.size());
    if (is_new) {
      open::SizeT made;
      made.ops = std::move(postfix.ops);
      made.operands = std::move(postfix.operands);
      to_.push_back(std::make_unique<open::SizeT>(std::move(made)));
    }
    return static_cast<uint32_t>(at->second);
  }

  std::vector<uint32_t> add(const SymbolicShape& sizes) {
    std::vector<uint32_t> numbers;
    for (const Dim& size : sizes) numbers.push_back(add(size));
    return numbers;
  }

 private:
  std::map<std::string, int64_t> symbols_;
  std::vector<std::unique_ptr<open::SizeT>>& to_;
  std::map<std::pair<std::vector<uint8_t>, std::vector<int64_t>>, size_t> numbers_;
};

std::set<std::string> symbols_of(const Graph& graph) {
  std::set<std::string> symbols;
  const auto add = [&](const Dim& size) {
    symbols.merge(size.symbols());
    return size;
  };
  for (const Value& value : graph.values) std::ranges::for_each(*value.type.shape, add);
  for (Node node : graph.nodes) replace_sizes(node, add);
  return symbols;
}

/// Finds an axis of an input that tells a symbol; the one with the smallest factor.
std::unique_ptr<open::SymbolT> find_symbol(const Graph& graph, const std::string& name) {
  auto symbol = std::make_unique<open::SymbolT>();
  symbol->name = name;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const SymbolicShape& sizes = sizes_of(graph, graph.inputs[i]);
    for (uint32_t axis = 0; axis < sizes.size(); ++axis) {
      const std::optional<LinearSize> linear = sizes[axis].linear();
      if (!linear || linear->symbol != name || linear->factor < 1) continue;
      if (symbol->input >= 0 && symbol->factor <= linear->factor) continue;
      symbol->input = static_cast<int>(i);
      symbol->axis = axis;
      symbol->factor = linear->factor, symbol->rest = linear->rest;
    }
  }
  return symbol;
}

class OpenPlanEncoder {
 public:
  OpenPlanEncoder(const Graph& graph, std::map<std::string, int64_t> symbols)
      : graph_(graph), symbols_(std::move(symbols)), sizes_(symbols_, plan_.sizes) {}

  std::string encode(const std::vector<SizeRequirement>& requirements, const std::vector<Call>& calls,
                     const std::vector<EmittedKernel>& kernels, const CompileOptions& options,
                     const MemoryPlan& memory) {
    plan_.symbols.resize(symbols_.size());
    for (const auto& [name, number] : symbols_)
      plan_.symbols[static_cast<size_t>(number)] = find_symbol(graph_, name);
    for (ValueId input : graph_.inputs) plan_.inputs.push_back(tensor(input));
    for (ValueId output : graph_.outputs) plan_.outputs.push_back(tensor(output));
    for (const auto& [bytes, first, last] : memory.buffers)
      plan_.buffers.emplace_back(sizes_.add(bytes), static_cast<uint32_t>(first),
                                 static_cast<uint32_t>(last));
    for (size_t c = 0; c < calls.size(); ++c)
      plan_.calls.push_back(call(calls[c], kernels[c], memory.places[c], options));
    for (const auto& [nonnegative, why] : requirements)
      plan_.requirements.push_back(requirement(sizes_.add(nonnegative), why));
    for (size_t i = 0; i < graph_.outputs.size(); ++i)
      if (const auto output = counted_output(graph_.node(graph_.value(graph_.outputs[i]).producer)))
        plan_.counted.push_back(counted(i, *output));
    // Runtimes that read version 4 would run each call once, those that read version 5 check no requirements,
    // those that read version 6 take all kernels for the host's, those that read version 7 count nothing, and
    // those that read version 8 write no header for kernels to read.
    const bool repeats = std::ranges::any_of(calls, [](const Call& call) { return call.times != 1; });
    const KernelDevice device = calls.empty() ? KernelDevice::cpu : calls[0].kernel.isa.device;
    plan_.device = static_cast<uint8_t>(device);
    plan_.version = !plan_.counted.empty()        ? 9
                    : device != KernelDevice::cpu ? 7
                    : !requirements.empty()       ? 6
                    : repeats                     ? 5
                                                  : 4;
    for (const EmittedKernel& kernel : kernels)
      plan_.scratch_bytes = std::max<uint64_t>(plan_.scratch_bytes, kernel.scratch_bytes);
    plan_.workers = static_cast<uint32_t>(options.threads);
    return pack_table<open::OpenPlan>(plan_);
  }

 private:
  static std::unique_ptr<open::RequirementT> requirement(uint32_t size, const std::string& why) {
    open::RequirementT to;
    to.size = size;
    to.why = why;
    return std::make_unique<open::RequirementT>(std::move(to));
  }

  std::unique_ptr<open::CountedT> counted(size_t output, const CountedAttributes& attributes) {
    open::CountedT to;
    to.output = static_cast<uint32_t>(output);
    to.axis = static_cast<uint32_t>(attributes.counted);
    to.dims = sizes_.add(attributes.sizes);
    return std::make_unique<open::CountedT>(std::move(to));
  }

  std::unique_ptr<open::TensorT> tensor(ValueId value) {
    open::TensorT to;
    to.dtype = static_cast<uint8_t>(graph_.value(value).type.dtype);
    to.dims = sizes_.add(sizes_of(graph_, value));
    return std::make_unique<open::TensorT>(std::move(to));
  }

  std::unique_ptr<open::CallT> call(const Call& call, const EmittedKernel& code,
                                    const std::vector<Place>& places, const CompileOptions& options) {
    open::CallT to;
    to.kernel = add_kernel(call.kernel, code);
    for (const std::string& symbol : call.symbols)
      to.symbols.push_back(static_cast<uint32_t>(symbols_.at(symbol)));
    for (const Place& place : places)
      to.places.emplace_back(static_cast<open::Where>(place.where), static_cast<uint32_t>(place.index),
                             sizes_.add(place.offset));
    if (call.times != 1) {
      to.times = sizes_.add(call.times);
      for (size_t i = 0; i < places.size(); ++i) to.steps.push_back(sizes_.add(step_bytes(call, i)));
    }
    to.label = label_of(call, options.keep_names);
    to.is_copy = is_plain_copy(call);
    to.needs_elements = needs_elements(call);
    for (const IndexCheck& check : call.checks) {
      open::IndexCheckT made;
      made.argument = static_cast<uint32_t>(check.input);
      for (const auto& [low, high] : check.limits) {
        made.low.push_back(sizes_.add(low));
        made.high.push_back(sizes_.add(high));
      }
      to.checks.push_back(std::make_unique<open::IndexCheckT>(std::move(made)));
    }
    return std::make_unique<open::CallT>(std::move(to));
  }

  static Dim step_bytes(const Call& call, size_t i) {
    const Kernel& kernel = call.kernel;
    const DType dtype = i < kernel.inputs.size() ? kernel.inputs[i].dtype : kernel.output.dtype;
    return call.walk(i).step * static_cast<int64_t>(dtype_bytes(dtype, 1));
  }

  uint32_t add_kernel(const Kernel& kernel, const EmittedKernel& code) {
    const auto [at, is_new] = kernels_.try_emplace(code.symbol, static_cast<uint32_t>(plan_.kernels.size()));
    if (!is_new) return at->second;
    open::KernelT to;
    to.symbol = code.symbol;
    to.symbols = static_cast<uint32_t>(kernel.symbols.size());
    std::map<std::string, int64_t> symbols;
    for (size_t i = 0; i < kernel.symbols.size(); ++i) symbols[symbol_name(i)] = static_cast<int64_t>(i);
    Sizes sizes(std::move(symbols), to.sizes);
    const auto add = [&](const Argument& argument) {
      open::ArgumentT made;
      made.dtype = static_cast<uint8_t>(argument.dtype);
      made.extents = sizes.add(argument.shape);
      made.strides = sizes.add(argument.strides);
      to.arguments.push_back(std::make_unique<open::ArgumentT>(std::move(made)));
    };
    for (const Argument& input : kernel.inputs) add(input);
    add(code.output);
    plan_.kernels.push_back(std::make_unique<open::KernelT>(std::move(to)));
    return at->second;
  }

  const Graph& graph_;
  const std::map<std::string, int64_t> symbols_;
  open::OpenPlanT plan_;
  Sizes sizes_;
  std::map<std::string, uint32_t> kernels_;  // indexed by symbol
};

}  // namespace

std::string encode_open_plan(const Graph& graph, const std::vector<SizeRequirement>& requirements,
                             const std::vector<Call>& calls, const std::vector<EmittedKernel>& kernels,
                             const CompileOptions& options, const MemoryPlan& memory) {
  std::map<std::string, int64_t> numbers;
  for (const std::string& symbol : symbols_of(graph)) numbers[symbol] = std::ssize(numbers);
  return OpenPlanEncoder(graph, std::move(numbers)).encode(requirements, calls, kernels, options, memory);
}

}  // namespace intarsia::halide
