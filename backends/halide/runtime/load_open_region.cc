#include "backends/halide/runtime/load_open_region.h"

#include <algorithm>

#include "backends/halide/abi/element_types.h"
#include "backends/halide/abi/kernel_symbol.h"
#include "backends/halide/abi/open_plan_generated.h"
#include "backends/halide/runtime/open_region.h"
#include "backends/halide/runtime/plan_parts.h"
#include "base/flat_buffer.h"

namespace intarsia::halide {
namespace {

constexpr uint32_t max_symbols = 64;
constexpr uint64_t max_scratch_bytes = uint64_t{1} << 30;

class Loader {
 public:
  Loader(const LoadContext& context, const open::OpenPlan& plan)
      : context_(context), plan_(plan), unread_(context.blob.size()) {}

  Result<OpenCode> load() {
    code_.constants.assign(context_.constants.begin(), context_.constants.end());
    TRY(load_device());
    TRY(load_sizes(plan_.sizes(), count(plan_.symbols()), code_.sizes));
    TRY(load_tensors(plan_.inputs(), code_.inputs));
    TRY(load_tensors(plan_.outputs(), code_.outputs));
    TRY(load_symbols());
    TRY(load_buffers());
    TRY(load_requirements());
    TRY(load_counted());
    code_.scratch_bytes = plan_.scratch_bytes();
    code_.workers = plan_.workers();
    if (code_.scratch_bytes > max_scratch_bytes || code_.workers == 0 || code_.workers > max_workers)
      return fail("halide: {} bytes of scratch for {} workers", code_.scratch_bytes, code_.workers);
    if (!take(plan_.kernels()) || !take(plan_.calls())) return damaged_plan();
    for (uint32_t i = 0; i < count(plan_.kernels()); ++i) TRY(load_kernel(*plan_.kernels()->Get(i)));
    for (uint32_t i = 0; i < count(plan_.calls()); ++i)
      TRY(with_context(load_call(*plan_.calls()->Get(i)), "halide: call {} of the region's plan", i));
    return std::move(code_);
  }

 private:
  template <typename Vector>
  static uint32_t count(const Vector* parts) {
    return parts == nullptr ? 0 : parts->size();
  }

  template <typename T>
  static std::vector<T> copy(const flatbuffers::Vector<T>* parts) {
    return parts == nullptr ? std::vector<T>() : std::vector<T>(parts->begin(), parts->end());
  }

  /// Takes a vector from the blob; an absent one is empty. Returns false if it is damaged: parts that
  /// together exceed the blob refer to one another's bytes, which our writer does not do; the FlatBuffers
  /// verifier does not check whether large elements are aligned.
  template <typename T>
  bool take(const flatbuffers::Vector<T>* parts) {
    using Element = std::remove_pointer_t<typename flatbuffers::IndirectHelper<T>::return_type>;
    // An element is a struct in place, a number, or the offset of a table.
    constexpr bool is_struct = std::is_pointer_v<T>, is_number = std::is_arithmetic_v<T>;
    constexpr size_t size = is_struct   ? sizeof(Element)
                            : is_number ? sizeof(T)
                                        : sizeof(flatbuffers::uoffset_t);
    constexpr size_t alignment = is_struct ? alignof(Element) : size;
    if (parts == nullptr) return true;
    if (parts->size() > unread_ / size) return false;
    if (parts->size() > 0 && !is_aligned(parts->Data(), alignment)) return false;
    unread_ -= parts->size() * size;
    return true;
  }

  Status load_device() {
    if (plan_.device() >= kernel_device_count) return damaged_plan();
    code_.device = static_cast<KernelDevice>(plan_.device());
    if (code_.device == KernelDevice::cpu) return {};
    if (context_.constant_places.size() != context_.constants.size())
      return fail("halide: the region's kernels are for a device");
    code_.constant_places.assign(context_.constant_places.begin(), context_.constant_places.end());
    return {};
  }

  bool is_size(uint32_t number) const { return number < code_.sizes.size(); }
  static bool all_below(const std::vector<uint32_t>& numbers, size_t limit) {
    return std::ranges::all_of(numbers, [&](uint32_t number) { return number < limit; });
  }

  Status load_sizes(const flatbuffers::Vector<flatbuffers::Offset<open::Size>>* from, size_t symbols,
                    std::vector<PostfixSize>& to) {
    if (!take(from)) return damaged_plan();
    for (uint32_t i = 0; i < count(from); ++i) {
      const open::Size& size = *from->Get(i);
      if (!take(size.ops()) || !take(size.operands())) return damaged_plan();
      to.push_back({copy(size.ops()), copy(size.operands())});
      TRY(with_context(verify_postfix(to.back().view(), symbols), "halide: size {}", to.size() - 1));
    }
    return {};
  }

  Status load_tensors(const flatbuffers::Vector<flatbuffers::Offset<open::Tensor>>* from,
                      std::vector<OpenTensor>& to) {
    if (!take(from)) return damaged_plan();
    for (uint32_t i = 0; i < count(from); ++i) {
      const open::Tensor& tensor = *from->Get(i);
      const auto dtype = static_cast<DType>(tensor.dtype());
      if (tensor.dtype() >= dtype_count || !halide_type(dtype) || !take(tensor.dims()) ||
          count(tensor.dims()) > max_dimensions)
        return damaged_plan();
      to.push_back({dtype, copy(tensor.dims())});
      if (!all_below(to.back().dims, code_.sizes.size())) return damaged_plan();
    }
    return {};
  }

  Status load_symbols() {
    if (!take(plan_.symbols()) || count(plan_.symbols()) > max_symbols) return damaged_plan();
    for (uint32_t i = 0; i < count(plan_.symbols()); ++i) {
      const open::Symbol& symbol = *plan_.symbols()->Get(i);
      OpenSymbol to{
          symbol.name() ? symbol.name()->str() : "", {}, symbol.axis(), symbol.factor(), symbol.rest()};
      if (symbol.input() >= 0) to.input = static_cast<uint32_t>(symbol.input());
      constexpr int64_t most = int64_t{1} << 32;
      if (to.input && *to.input >= code_.inputs.size()) return damaged_plan();
      if (to.factor < 1 || to.factor > most || to.rest > most || to.rest < -most) return damaged_plan();
      code_.symbols.push_back(std::move(to));
    }
    return {};
  }

  Status load_buffers() {
    if (!take(plan_.buffers())) return damaged_plan();
    for (uint32_t i = 0; i < count(plan_.buffers()); ++i) {
      const open::Buffer* buffer = plan_.buffers()->Get(i);
      const size_t calls = count(plan_.calls());
      if (!is_size(buffer->bytes()) || buffer->last() >= calls || buffer->first() > buffer->last())
        return damaged_plan();
      code_.buffers.push_back(
          {buffer->bytes(), static_cast<int>(buffer->first()), static_cast<int>(buffer->last())});
    }
    return {};
  }

  Status load_requirements() {
    if (!take(plan_.requirements())) return damaged_plan();
    for (uint32_t i = 0; i < count(plan_.requirements()); ++i) {
      const open::Requirement& from = *plan_.requirements()->Get(i);
      if (!is_size(from.size()) || from.why() == nullptr) return damaged_plan();
      code_.requirements.push_back({from.size(), from.why()->string_view()});
    }
    return {};
  }

  Status load_counted() {
    if (!take(plan_.counted())) return damaged_plan();
    if (count(plan_.counted()) > 0 && code_.device != KernelDevice::cpu) return damaged_plan();
    for (uint32_t i = 0; i < count(plan_.counted()); ++i) {
      const open::Counted& from = *plan_.counted()->Get(i);
      if (!take(from.dims()) || count(from.dims()) > max_dimensions || from.axis() >= count(from.dims()))
        return damaged_plan();
      OpenCounted to{from.output(), from.axis(), copy(from.dims())};
      const auto is_same = [&](const OpenCounted& other) { return other.output == to.output; };
      if (to.output >= code_.outputs.size() || !all_below(to.dims, code_.sizes.size()) ||
          std::ranges::any_of(code_.counted, is_same))
        return damaged_plan();
      code_.counted.push_back(std::move(to));
    }
    return {};
  }

  Status load_kernel(const open::Kernel& from) {
    if (!from.symbol() || from.symbol()->size() > max_symbol_bytes || from.symbols() > max_sizes ||
        !take(from.arguments()) || count(from.arguments()) == 0 || count(from.arguments()) > max_arguments)
      return damaged_plan();
    OpenKernel& to = code_.kernels.emplace_back();
    to.symbols = from.symbols();
    TRY(load_sizes(from.sizes(), to.symbols, to.sizes));
    std::vector<OpenArgumentForm> forms;
    for (const open::Argument* argument : *from.arguments()) TRY(load_argument(*argument, to, forms));
    const std::string symbol = from.symbol()->str();
    const std::string ending =
        to.symbols > 0 ? symbol_ending(to.symbols, forms, code_.device) : fixed_ending(forms);
    if (!symbol.ends_with(ending))
      return fail("halide: the kernel '{}' was generated for other arguments than the region's plan passes",
                  symbol);
    void* address = context_.symbol ? context_.symbol(symbol) : nullptr;
    if (!address) return fail("halide: the program has no kernel '{}'", symbol);
    to.function = as_function<KernelFunction>(address);
    return {};
  }

  /// Returns the end of the symbol of a kernel all of whose sizes are numbers, which must be positive.
  std::string fixed_ending(const std::vector<OpenArgumentForm>& arguments) const {
    std::vector<ArgumentForm> forms;
    const auto to_numbers = [](const std::vector<PostfixSize>& sizes) {
      std::vector<int32_t> numbers;
      for (const PostfixSize& size : sizes)
        numbers.push_back(static_cast<int32_t>(
            evaluate_postfix(size.view(), {}, std::numeric_limits<int32_t>::max()).value_or(-1)));
      return numbers;
    };
    for (const OpenArgumentForm& argument : arguments)
      forms.push_back({argument.dtype, to_numbers(argument.extents), to_numbers(argument.strides)});
    return symbol_ending(forms, code_.device);
  }

  Status load_argument(const open::Argument& from, OpenKernel& kernel, std::vector<OpenArgumentForm>& forms) {
    const auto dtype = static_cast<DType>(from.dtype());
    const std::optional<HalideType> type = from.dtype() < dtype_count ? halide_type(dtype) : std::nullopt;
    if (!type || !take(from.extents()) || !take(from.strides()) ||
        count(from.extents()) != count(from.strides()) || count(from.extents()) > max_dimensions)
      return damaged_plan();
    OpenArgument& to = kernel.arguments.emplace_back();
    to.type = *type;
    to.extents = copy(from.extents());
    to.strides = copy(from.strides());
    if (!all_below(to.extents, kernel.sizes.size()) || !all_below(to.strides, kernel.sizes.size()))
      return damaged_plan();
    OpenArgumentForm& form = forms.emplace_back();
    form.dtype = dtype;
    for (uint32_t number : to.extents) form.extents.push_back(kernel.sizes[number]);
    for (uint32_t number : to.strides) form.strides.push_back(kernel.sizes[number]);
    return {};
  }

  Status load_call(const open::Call& from) {
    if (from.kernel() >= code_.kernels.size())
      return fail("no kernel {}; the plan has {}", from.kernel(), code_.kernels.size());
    const OpenKernel& kernel = code_.kernels[from.kernel()];
    OpenCall to;
    to.kernel = from.kernel();
    to.label = from.label() ? from.label()->string_view() : "";
    to.needs_elements = from.needs_elements();
    to.is_copy = from.is_copy();
    if (!take(from.symbols()) || !take(from.places())) return damaged_plan();
    to.symbols = copy(from.symbols());
    if (to.symbols.size() != kernel.symbols || !all_below(to.symbols, code_.symbols.size()))
      return fail("{} open sizes for a kernel of {}", to.symbols.size(), kernel.symbols);
    if (count(from.places()) != kernel.arguments.size())
      return fail("{} places for a kernel of {} arguments", count(from.places()), kernel.arguments.size());
    for (const open::Place* place : *from.places()) TRY(load_place(*place, to));
    const BufferPlan::Where written = to.places.back().where;
    if (written != BufferPlan::Where::output && written != BufferPlan::Where::workspace)
      return fail("its output lies in an input or a constant");
    TRY(load_repeats(from, kernel, to));
    if (!take(from.checks())) return damaged_plan();
    for (uint32_t i = 0; i < count(from.checks()); ++i) TRY(load_check(*from.checks()->Get(i), kernel, to));
    code_.calls.push_back(std::move(to));
    return {};
  }

  Status load_repeats(const open::Call& from, const OpenKernel& kernel, OpenCall& call) {
    if (!take(from.steps())) return damaged_plan();
    call.times = from.times();
    call.steps = copy(from.steps());
    if (call.steps.empty()) return {};
    if (call.steps.size() != kernel.arguments.size())
      return fail("{} steps for a kernel of {} arguments", call.steps.size(), kernel.arguments.size());
    if (!is_size(call.times) || !all_below(call.steps, code_.sizes.size())) return damaged_plan();
    return {};
  }

  Status load_place(const open::Place& from, OpenCall& call) const {
    const OpenPlace to{static_cast<BufferPlan::Where>(from.where()), from.index(), from.offset()};
    if (from.where() > open::Where::MAX || !is_size(to.offset)) return damaged_plan();
    const size_t counts[] = {code_.inputs.size(), code_.outputs.size(), code_.constants.size(),
                             code_.buffers.size()};
    if (to.index >= counts[static_cast<size_t>(to.where)])
      return fail("there is no tensor {} of kind {}", to.index, static_cast<int>(to.where));
    const auto number = static_cast<int>(code_.calls.size());
    if (to.where == BufferPlan::Where::workspace &&
        (number < code_.buffers[to.index].first || number > code_.buffers[to.index].last))
      return fail("it uses buffer {} outside of its lifetime", to.index);
    call.places.push_back(to);
    return {};
  }

  Status load_check(const open::IndexCheck& from, const OpenKernel& kernel, OpenCall& call) {
    if (!take(from.low()) || !take(from.high()) || count(from.low()) == 0 ||
        count(from.low()) != count(from.high()))
      return damaged_plan();
    if (from.argument() >= kernel.arguments.size())
      return fail("it checks argument {} of {}", from.argument(), kernel.arguments.size());
    const HalideType& type = kernel.arguments[from.argument()].type;
    if (type.code != halide_signed || type.bits < 32)
      return fail("argument {} does not hold indices", from.argument());
    OpenIndexCheck to{from.argument(), copy(from.low()), copy(from.high())};
    if (!all_below(to.low, code_.sizes.size()) || !all_below(to.high, code_.sizes.size()))
      return damaged_plan();
    call.checks.push_back(std::move(to));
    return {};
  }

  const LoadContext& context_;
  const open::OpenPlan& plan_;
  size_t unread_;  // bytes of the blob that are not read yet
  OpenCode code_;
};

}  // namespace

Result<std::unique_ptr<Executable>> load_open_region(const LoadContext& context) {
  const auto* plan = find_table<open::OpenPlan>(context.blob);
  if (plan == nullptr) return damaged_plan();
  return std::make_unique<OpenRegion>(TRY(Loader(context, *plan).load()));
}

}  // namespace intarsia::halide
