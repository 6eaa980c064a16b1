#include "backends/halide/runtime/open_region.h"

#include <algorithm>

#include "base/arena_plan.h"

namespace intarsia::halide {
namespace {

/// Number of size combinations that are kept.
constexpr size_t max_bound = 64;

/// Room of a worker for values of open size within a kernel; larger ones come from the heap.
constexpr uint64_t open_scratch_bytes = 256 << 10;

/// Largest number that code for open sizes computes, and largest number of elements that it can index.
constexpr int64_t max_number = int64_t{1} << 30;

/// Values of expressions for the sizes of a run.
class Values {
 public:
  Values(const std::vector<PostfixSize>& sizes, std::span<const int64_t> symbols, int64_t limit)
      : sizes_(sizes), symbols_(symbols), limit_(limit) {}

  Result<int64_t> of(uint32_t number) const {
    const int64_t value = TRY(evaluate_postfix(sizes_[number].view(), symbols_, limit_));
    if (value < 0) return fail("a size of {}", value);
    return value;
  }

  Result<Shape> of(const std::vector<uint32_t>& numbers) const {
    Shape shape;
    for (uint32_t number : numbers) shape.push_back(TRY(of(number)));
    return shape;
  }

  /// Returns the value of an expression that may be negative.
  Result<int64_t> signed_of(uint32_t number) const {
    return evaluate_postfix(sizes_[number].view(), symbols_, limit_);
  }

 private:
  const std::vector<PostfixSize>& sizes_;
  std::span<const int64_t> symbols_;
  int64_t limit_;
};

class RegionBinder {
 public:
  RegionBinder(const OpenCode& code, std::span<const int64_t> symbols)
      : code_(code), symbols_(symbols), values_(code.sizes, symbols, max_size_value) {}

  Result<BoundRegion> bind() {
    BoundRegion bound{{symbols_.begin(), symbols_.end()}, {}, {}, 0, RegionExecutable({})};
    bound.inputs = TRY(bind_tensors(code_.inputs, region_.input_bytes));
    bound.outputs = TRY(bind_tensors(code_.outputs, region_.output_bytes));
    TRY(check_equal());
    TRY(place_buffers());
    for (size_t c = 0; c < code_.calls.size(); ++c)
      TRY(with_context(bind_call(code_.calls[c]), "kernel {} ({})", c, code_.calls[c].label));
    region_.scratch_offset = (arena_.bytes + 63) / 64 * 64;
    region_.scratch_bytes = (code_.scratch_bytes + open_scratch_bytes + 63) / 64 * 64;
    region_.workers = code_.workers;
    bound.workspace_bytes = region_.scratch_offset + region_.scratch_bytes * region_.workers;
    bound.executable = RegionExecutable(std::move(region_));
    return bound;
  }

 private:
  Result<std::vector<Shape>> bind_tensors(const std::vector<OpenTensor>& tensors,
                                          std::vector<uint64_t>& bytes) const {
    std::vector<Shape> shapes;
    for (const auto& [dtype, dims] : tensors) {
      shapes.push_back(TRY(values_.of(dims)));
      const int64_t elements = TRY(checked_elements(shapes.back()));
      bytes.push_back(dtype_bytes(dtype, static_cast<size_t>(elements)));
    }
    return shapes;
  }

  Status check_equal() const {
    for (const auto& [one, other] : code_.equal) {
      const int64_t from = TRY(values_.of(one)), to = TRY(values_.of(other));
      if (from != to) return fail("sizes {} and {} do not broadcast", from, to);
    }
    return {};
  }

  Status place_buffers() {
    constexpr size_t slack = 64;  // kernels may read up to a vector past the end
    for (const auto& [bytes, first, last] : code_.buffers) {
      const int64_t size = TRY(values_.of(bytes));
      if (size > max_number * 8) return fail("a value of {} bytes is too large", size);
      buffers_.push_back({static_cast<size_t>(size) + slack, first, last});
    }
    arena_ = plan_arena(buffers_);
    return {};
  }

  /// Returns the bytes of the tensor or buffer that an argument lies in.
  uint64_t container_bytes(const OpenPlace& place) const {
    switch (place.where) {
      case BufferPlan::Where::input:
        return region_.input_bytes[place.index];
      case BufferPlan::Where::output:
        return region_.output_bytes[place.index];
      case BufferPlan::Where::constant:
        return code_.constants[place.index].bytes();
      case BufferPlan::Where::workspace:
        break;
    }
    return buffers_[place.index].bytes;
  }

  Result<BufferPlan> bind_argument(const OpenArgument& argument, const OpenPlace& place,
                                   const Values& of_kernel) const {
    BufferPlan to;
    to.where = place.where;
    to.index = place.index;
    to.offset = static_cast<uint64_t>(TRY(values_.of(place.offset)));
    to.type = argument.type;
    __int128 reach = 1;
    bool is_empty = false;
    for (size_t i = 0; i < argument.extents.size(); ++i) {
      const int64_t extent = TRY(of_kernel.of(argument.extents[i])),
                    stride = TRY(of_kernel.of(argument.strides[i]));
      reach += static_cast<__int128>(extent - 1) * stride;
      is_empty |= extent == 0;
      to.dimensions.push_back({0, static_cast<int32_t>(extent), static_cast<int32_t>(stride), 0});
    }
    if (is_empty) reach = 0;
    if (reach > max_number)
      return fail("an argument of {} elements is too large", static_cast<int64_t>(reach));
    const uint64_t element = to.type.bits / 8, container = container_bytes(place);
    if (to.offset % element != 0) return fail("an argument at byte {}: between elements", to.offset);
    if (reach > 0 &&
        (to.offset > container || static_cast<uint64_t>(reach) * element > container - to.offset))
      return fail("an argument lies outside of its tensor of {} bytes", container);
    if (place.where == BufferPlan::Where::workspace) to.offset += arena_.offsets[place.index];
    if (place.where == BufferPlan::Where::constant)
      to.constant = {const_cast<void*>(code_.constants[place.index].data), 0};
    return to;
  }

  Status bind_call(const OpenCall& call) {
    const OpenKernel& kernel = code_.kernels[call.kernel];
    std::vector<int64_t> symbols;
    CallPlan to{kernel.function, {}, call.label, 1, {}, {}, {}};
    for (uint32_t symbol : call.symbols) {
      symbols.push_back(symbols_[symbol]);
      to.sizes.push_back(static_cast<int32_t>(std::min(symbols_[symbol], max_number)));
    }
    const Values of_kernel(kernel.sizes, symbols, max_number);
    std::vector<BufferPlan> arguments;
    for (size_t i = 0; i < kernel.arguments.size(); ++i)
      arguments.push_back(
          TRY(with_context(bind_argument(kernel.arguments[i], call.places[i], of_kernel), "argument {}", i)));
    if (!has_elements(arguments.back())) return {};
    if (call.needs_elements && !std::ranges::all_of(arguments, has_elements))
      return fail("an axis whose largest or least element it looks for is empty");
    for (const OpenIndexCheck& check : call.checks) TRY(bind_check(check, arguments, to));
    for (BufferPlan& argument : arguments) {
      to.buffers.push_back(static_cast<uint32_t>(region_.buffers.size()));
      region_.buffers.push_back(std::move(argument));
    }
    region_.calls.push_back(std::move(to));
    return {};
  }

  static bool has_elements(const BufferPlan& argument) {
    return std::ranges::all_of(argument.dimensions,
                               [](const HalideDimension& axis) { return axis.extent > 0; });
  }

  Status bind_check(const OpenIndexCheck& check, const std::vector<BufferPlan>& arguments,
                    CallPlan& to) const {
    std::vector<IndexRange> ranges;
    for (size_t i = 0; i < check.low.size(); ++i)
      ranges.push_back({TRY(values_.signed_of(check.low[i])), TRY(values_.signed_of(check.high[i]))});
    const auto checks = plan_index_checks(check.argument, arguments[check.argument].dimensions, ranges);
    if (!checks)
      return fail("argument {} does not hold indices with {} ranges", check.argument, ranges.size());
    to.checks.insert(to.checks.end(), checks->begin(), checks->end());
    return {};
  }

  const OpenCode& code_;
  std::span<const int64_t> symbols_;
  Values values_;
  std::vector<Lifetime> buffers_;
  ArenaPlan arena_;
  RegionCode region_;
};

}  // namespace

Result<BoundRegion> bind_region(const OpenCode& code, std::vector<int64_t> symbols) {
  return with_context(RegionBinder(code, symbols).bind(), "halide");
}

namespace {

Result<int64_t> read_symbol(const OpenSymbol& symbol, const RunContext& context) {
  const auto& [names, sizes] = context.open_sizes;
  const auto known = std::ranges::find(names, symbol.name);
  if (known != names.end()) return sizes[static_cast<size_t>(known - names.begin())];
  if (!symbol.input) return fail("halide: nothing tells the open size '{}'", symbol.name);
  const Shape& shape = context.inputs[*symbol.input].tensor.shape;
  const int64_t multiple = symbol.axis < shape.size() ? shape[symbol.axis] - symbol.rest : -1;
  if (multiple < 0 || multiple % symbol.factor != 0)
    return fail("halide: input {} has shape {}, want {} times '{}' plus {} on axis {}", *symbol.input,
                print_shape(shape), symbol.factor, symbol.name, symbol.rest, symbol.axis);
  return multiple / symbol.factor;
}

}  // namespace

Result<std::vector<int64_t>> OpenRegion::read_symbols(const RunContext& context) const {
  if (context.inputs.size() != code_.inputs.size())
    return fail("halide: the region takes {} inputs, got {}", code_.inputs.size(), context.inputs.size());
  std::vector<int64_t> symbols;
  for (const OpenSymbol& symbol : code_.symbols) symbols.push_back(TRY(read_symbol(symbol, context)));
  return symbols;
}

Result<std::shared_ptr<const BoundRegion>> OpenRegion::bound_to(std::vector<int64_t> symbols) const {
  {
    const std::lock_guard lock(mutex_);
    for (auto at = bound_.begin(); at != bound_.end(); ++at) {
      if ((*at)->symbols != symbols) continue;
      bound_.splice(bound_.begin(), bound_, at);
      return bound_.front();
    }
  }
  auto made = std::make_shared<const BoundRegion>(TRY(bind_region(code_, std::move(symbols))));
  const std::lock_guard lock(mutex_);
  bound_.push_front(made);
  if (bound_.size() > max_bound) bound_.pop_back();
  return made;
}

Tensor OpenRegion::take_workspace(size_t bytes) const {
  const std::lock_guard lock(mutex_);
  if (!workspaces_.empty()) {
    Tensor workspace = std::move(workspaces_.back());
    workspaces_.pop_back();
    if (workspace.bytes() >= bytes) return workspace;
  }
  return Tensor(DType::u8, {static_cast<int64_t>(bytes)});
}

void OpenRegion::give_back(Tensor workspace) const {
  const std::lock_guard lock(mutex_);
  workspaces_.push_back(std::move(workspace));
}

Status OpenRegion::run(const RunContext& context) const {
  const std::shared_ptr<const BoundRegion> bound = TRY(bound_to(TRY(read_symbols(context))));
  for (size_t i = 0; i < context.inputs.size(); ++i)
    if (context.inputs[i].tensor.shape != bound->inputs[i])
      return fail("halide: input {} has shape {}, want {}", i, print_shape(context.inputs[i].tensor.shape),
                  print_shape(bound->inputs[i]));
  if (context.outputs.size() != bound->outputs.size())
    return fail("halide: the region has {} outputs, got {}", bound->outputs.size(), context.outputs.size());
  std::vector<Output> outputs(context.outputs.begin(), context.outputs.end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].dynamic && outputs[i].tensor.shape != bound->outputs[i])
      return fail("halide: output {} has shape {}, want {}", i, print_shape(outputs[i].tensor.shape),
                  print_shape(bound->outputs[i]));
    if (!outputs[i].dynamic) continue;
    const Tensor made(code_.outputs[i].dtype, bound->outputs[i]);
    context.outputs[i].tensor = outputs[i].tensor = made.view();
    context.outputs[i].owner = made.owner();
    outputs[i].dynamic = false;
  }
  Tensor workspace = take_workspace(bound->workspace_bytes);
  RunContext here = context;
  here.outputs = outputs;
  here.workspace = static_cast<std::byte*>(workspace.data());
  const Status status = bound->executable.run(here);
  give_back(std::move(workspace));
  return status;
}

}  // namespace intarsia::halide
