#include "backends/halide/runtime/open_region.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <new>

#include "backends/halide/abi/counted.h"
#include "backends/halide/abi/kernel_symbol.h"
#include "backends/halide/runtime/calls_beside.h"
#include "backends/halide/runtime/plan_parts.h"
#include "base/arena_plan.h"
#include "base/int128.h"

namespace intarsia::halide {
namespace {

/// Number of size combinations that are kept.
constexpr size_t max_bound = 64;

/// Largest number that code for open sizes computes, and largest number of elements that it can index.
constexpr int64_t max_number = int64_t{1} << 30;

/// Returns the values of all expressions for the sizes of a run.
Result<std::vector<int64_t>> evaluate_all(const std::vector<PostfixSize>& sizes,
                                          std::span<const int64_t> symbols, int64_t limit) {
  std::vector<int64_t> values;
  values.reserve(sizes.size());
  for (const PostfixSize& size : sizes) values.push_back(TRY(evaluate_postfix(size.view(), symbols, limit)));
  return values;
}

/// Returns a value that is a size or an offset.
Result<int64_t> size_at(const std::vector<int64_t>& values, uint32_t number) {
  const int64_t value = values[number];
  if (value < 0) return fail("a size of {}", value);
  return value;
}

class RegionBinder {
 public:
  RegionBinder(const OpenCode& code, std::span<const int64_t> symbols)
      : code_(code), symbols_(symbols), of_kernels_(code.kernels.size()) {}

  Result<BoundRegion> bind() {
    values_ = TRY(evaluate_all(code_.sizes, symbols_, max_size_value));
    for (const auto& [size, why] : code_.requirements)
      if (values_[size] < 0) return fail("{}", why);
    BoundRegion bound{{symbols_.begin(), symbols_.end()}, {}, {}, {}, 0, RegionExecutable({})};
    bound.inputs = TRY(bind_tensors(code_.inputs, region_.input_bytes));
    bound.outputs = TRY(bind_tensors(code_.outputs, region_.output_bytes));
    for (const OpenCounted& counted : code_.counted) {
      bound.counted.push_back(TRY(shape_of(counted.dims)));
      if (region_.output_bytes[counted.output] < counted_header)
        return fail("output {} has no room for a count", counted.output);
    }
    TRY(place_buffers());
    region_.calls.reserve(code_.calls.size());
    for (size_t c = 0; c < code_.calls.size(); ++c)
      TRY(with_context(bind_call(code_.calls[c]), "kernel {} ({})", c, code_.calls[c].label));
    region_.device = code_.device;
    region_.scratch_offset = (arena_.bytes + 63) / 64 * 64;
    bound.workspace_bytes = std::max<size_t>(region_.scratch_offset, empty_bytes_);
    if (code_.device == KernelDevice::cpu) {
      region_.scratch_bytes = (code_.scratch_bytes + open_scratch_bytes + 63) / 64 * 64;
      region_.workers = code_.workers;
      bound.workspace_bytes = region_.scratch_offset + region_.scratch_bytes * region_.workers;
    }
    region_.beside = find_calls_beside(region_);
    bound.executable = RegionExecutable(std::move(region_));
    return bound;
  }

 private:
  Result<Shape> shape_of(const std::vector<uint32_t>& dims) const {
    Shape shape;
    for (uint32_t number : dims) shape.push_back(TRY(size_at(values_, number)));
    return shape;
  }

  Result<std::vector<Shape>> bind_tensors(const std::vector<OpenTensor>& tensors,
                                          std::vector<uint64_t>& bytes) const {
    std::vector<Shape> shapes;
    for (const auto& [dtype, dims] : tensors) {
      shapes.push_back(TRY(shape_of(dims)));
      const int64_t elements = TRY(checked_elements(shapes.back()));
      bytes.push_back(dtype_bytes(dtype, static_cast<size_t>(elements)));
    }
    return shapes;
  }

  Status place_buffers() {
    constexpr size_t slack = 64;  // kernels may read up to a vector past the end
    for (const auto& [bytes, first, last] : code_.buffers) {
      const int64_t size = TRY(size_at(values_, bytes));
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

  /// Binds an argument that moves by `step` bytes in each of `times` runs. Checks its first run and its last:
  /// it moves by equal steps.
  Result<BufferPlan> bind_argument(const OpenArgument& argument, const OpenPlace& place,
                                   const std::vector<int64_t>& of_kernel, int64_t step, int64_t times) const {
    BufferPlan to;
    to.where = place.where;
    to.index = place.index;
    to.offset = static_cast<uint64_t>(TRY(size_at(values_, place.offset)));
    to.type = argument.type;
    to.dimensions.reserve(argument.extents.size());
    Int128 reach = 1;
    bool is_empty = false;
    for (size_t i = 0; i < argument.extents.size(); ++i) {
      const int64_t extent = TRY(size_at(of_kernel, argument.extents[i])),
                    stride = TRY(size_at(of_kernel, argument.strides[i]));
      reach += static_cast<Int128>(extent - 1) * stride;
      is_empty |= extent == 0;
      to.dimensions.push_back({0, static_cast<int32_t>(extent), static_cast<int32_t>(stride), 0});
    }
    if (is_empty) reach = 0;
    if (reach > max_number)
      return fail("an argument of {} elements is too large", static_cast<int64_t>(reach));
    const uint64_t element = to.type.bits / 8, container = container_bytes(place);
    if (to.offset % element != 0 || step % static_cast<int64_t>(element) != 0)
      return fail("an argument at byte {} that moves by {}: between elements", to.offset, step);
    const auto is_inside = [&](Int128 offset) {
      return reach == 0 || (offset >= 0 && offset + reach * element <= container);
    };
    if (!is_inside(to.offset))
      return fail(
          "{} elements lie outside of their tensor of {} bytes: the model does not work with these sizes",
          static_cast<int64_t>(reach), container);
    if (!is_inside(to.offset + static_cast<Int128>(step) * (times - 1)))
      return fail("{} elements leave their tensor of {} bytes in {} steps of {} bytes",
                  static_cast<int64_t>(reach), container, times - 1, step);
    if (place.where == BufferPlan::Where::workspace) to.offset += arena_.offsets[place.index];
    if (place.where == BufferPlan::Where::constant && code_.device == KernelDevice::cpu)
      to.constant = {const_cast<void*>(code_.constants[place.index].data), 0};
    else if (place.where == BufferPlan::Where::constant)
      to.constant = code_.constant_places[place.index];
    return to;
  }

  /// Returns the values of the expressions of a call's kernel, which most calls of it share.
  Result<const std::vector<int64_t>*> values_of_kernel(const OpenCall& call) {
    auto& [symbols, values] = of_kernels_[call.kernel];
    if (!values.empty() && symbols == call.symbols) return &values;
    std::vector<int64_t> sizes;
    for (uint32_t symbol : call.symbols) sizes.push_back(symbols_[symbol]);
    symbols = call.symbols;
    values = TRY(evaluate_all(code_.kernels[call.kernel].sizes, sizes, max_number));
    return &values;
  }

  /// Returns how often a call runs, which may be never.
  Result<uint32_t> count_runs(const OpenCall& call) const {
    if (call.steps.empty()) return 1;
    const int64_t times = TRY(size_at(values_, call.times));
    if (times > std::numeric_limits<uint32_t>::max()) return fail("{} runs are too many", times);
    return static_cast<uint32_t>(times);
  }

  Status bind_call(const OpenCall& call) {
    const OpenKernel& kernel = code_.kernels[call.kernel];
    CallPlan to{kernel.function, {}, call.label, 1, {}, {}, {}};
    for (uint32_t symbol : call.symbols)
      to.sizes.push_back(static_cast<int32_t>(std::min(symbols_[symbol], max_number)));
    const std::vector<int64_t>& of_kernel = *TRY(values_of_kernel(call));
    to.is_copy = call.is_copy;
    to.times = TRY(count_runs(call));
    if (to.times == 0) return {};
    std::vector<BufferPlan> arguments;
    arguments.reserve(kernel.arguments.size());
    to.buffers.reserve(kernel.arguments.size());
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      const int64_t step = call.steps.empty() ? 0 : values_[call.steps[i]];
      if (!call.steps.empty()) to.steps.push_back(step);
      arguments.push_back(TRY(with_context(
          bind_argument(kernel.arguments[i], call.places[i], of_kernel, step, to.times), "argument {}", i)));
    }
    if (!has_elements(arguments.back())) return {};
    // An output that moves must stay in its tensor, which limits the runs.
    if (to.times > max_times_in_place && to.steps.back() == 0)
      return fail("it runs {} times, and its output does not move", to.times);
    if (call.needs_elements && !std::ranges::all_of(arguments, has_elements))
      return fail("an axis whose largest or least element it looks for is empty");
    for (BufferPlan& argument : arguments) TRY(give_elements(argument));
    for (const OpenIndexCheck& check : call.checks) TRY(bind_check(check, arguments, to));
    for (BufferPlan& argument : arguments) {
      to.buffers.push_back(static_cast<uint32_t>(region_.buffers.size()));
      region_.buffers.push_back(std::move(argument));
    }
    region_.calls.push_back(std::move(to));
    return {};
  }

  /// Puts an argument without elements into the workspace: what a kernel finds outside of a tensor (in the
  /// padding of a window) it reads from the nearest element, and then ignores.
  Status give_elements(BufferPlan& argument) {
    if (has_elements(argument)) return {};
    Int128 reach = 1;
    for (const HalideDimension& axis : argument.dimensions)
      reach += static_cast<Int128>(std::max(axis.extent - 1, 0)) * axis.stride;
    reach *= argument.type.bits / 8;
    if (reach > static_cast<Int128>(open_scratch_bytes))
      return fail("an argument without elements has axes of too many");
    empty_bytes_ = std::max(empty_bytes_, static_cast<size_t>(reach));
    argument.where = BufferPlan::Where::workspace;
    argument.offset = 0;
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
      ranges.push_back({values_[check.low[i]], values_[check.high[i]]});
    const auto checks = plan_index_checks(check.argument, arguments[check.argument].dimensions, ranges);
    if (!checks)
      return fail("argument {} does not hold indices with {} ranges", check.argument, ranges.size());
    to.checks.insert(to.checks.end(), checks->begin(), checks->end());
    return {};
  }

  const OpenCode& code_;
  std::span<const int64_t> symbols_;
  std::vector<int64_t> values_;  // values of the region's expressions
  /// Symbols of each kernel's last call, and the values of the kernel's expressions.
  std::vector<std::pair<std::vector<uint32_t>, std::vector<int64_t>>> of_kernels_;
  std::vector<Lifetime> buffers_;
  ArenaPlan arena_;
  size_t empty_bytes_ = 0;  // bytes of the workspace that arguments without elements lie in
  RegionCode region_;
};

/// Prints the sizes: "batch = 8, seq = 3".
std::string print_symbols(const OpenCode& code, std::span<const int64_t> symbols) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < symbols.size(); ++i)
    texts.push_back(fmt::format("{} = {}", code.symbols[i].name, symbols[i]));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

Result<BoundRegion> bind_region(const OpenCode& code, std::vector<int64_t> symbols) {
  Result<BoundRegion> bound = RegionBinder(code, symbols).bind();
  if (bound) return bound;
  return with_context(std::move(bound), "halide: with {}", print_symbols(code, symbols));
}

namespace {

/// Returns the header of an output before a run, with the caller's memory if that has the output's dtype and
/// shape but for the counted axis.
CountedHeader make_header(const TensorView& offered, DType dtype, Shape shape, size_t axis) {
  if (offered.data == nullptr || offered.dtype != dtype || offered.shape.size() != shape.size()) return {};
  shape[axis] = offered.shape[axis];
  if (offered.shape != shape) return {};
  return {.offered = offered.data,
          .inverted = ~reinterpret_cast<uintptr_t>(offered.data),
          .offered_count = shape[axis]};
}

/// Returns the program's size of that name.
std::optional<int64_t> find_size(const OpenSizes& open, const OpenSymbol& symbol) {
  const auto known = std::ranges::find(open.names, symbol.name);
  if (known == open.names.end()) return std::nullopt;
  return open.sizes[static_cast<size_t>(known - open.names.begin())];
}

Result<int64_t> read_symbol(const OpenSymbol& symbol, const RunContext& context) {
  if (const std::optional<int64_t> known = find_size(context.open_sizes, symbol)) return *known;
  if (!symbol.input) return fail("halide: nothing tells the open size '{}'", symbol.name);
  const Shape& shape = context.inputs[*symbol.input].tensor.shape;
  const int64_t multiple = symbol.axis < shape.size() ? shape[symbol.axis] - symbol.rest : -1;
  if (multiple < 0 || multiple % symbol.factor != 0)
    return fail("halide: input {} has shape {}, want {} times '{}' plus {} on axis {}", *symbol.input,
                print_shape(shape), symbol.factor, symbol.name, symbol.rest, symbol.axis);
  return multiple / symbol.factor;
}

/// Sizes for which kernels are made ready, if they work with them; the device's code is the same for all.
constexpr int64_t sizes_to_prepare[] = {128, 1, 2, 7};

}  // namespace

Status OpenRegion::prepare(Launcher& launcher) const {
  if (code_.device == KernelDevice::cpu) return {};
  for (int64_t size : sizes_to_prepare) {
    const Result<BoundRegion> bound = bind_region(code_, std::vector(code_.symbols.size(), size));
    if (bound) return bound->executable.prepare(launcher);
  }
  return {};  // the first run makes them ready
}

Result<std::shared_ptr<const BoundRegion>> OpenRegion::bound_to(std::span<const int64_t> symbols) const {
  {
    const std::lock_guard lock(mutex_);
    for (auto at = bound_.begin(); at != bound_.end(); ++at) {
      if (!std::ranges::equal((*at)->symbols, symbols)) continue;
      bound_.splice(bound_.begin(), bound_, at);
      return bound_.front();
    }
  }
  auto made = std::make_shared<const BoundRegion>(TRY(bind_region(code_, {symbols.begin(), symbols.end()})));
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

Result<uint64_t> OpenRegion::open_workspace_bytes(const OpenSizes& sizes) const {
  std::vector<int64_t> symbols;
  for (const OpenSymbol& symbol : code_.symbols) {
    const std::optional<int64_t> known = find_size(sizes, symbol);
    if (!known) return 0;
    symbols.push_back(*known);
  }
  return TRY(bound_to(symbols))->workspace_bytes;
}

bool OpenRegion::appends(size_t input, size_t output) const {
  const PostfixSize start = {{0}, {0}};  // the number 0
  return code_.device == KernelDevice::cpu && std::ranges::any_of(code_.calls, [&](const OpenCall& call) {
           if (!call.is_copy || call.places.size() != 2) return false;
           const OpenPlace &from = call.places[0], &to = call.places[1];
           return from.where == BufferPlan::Where::input && from.index == input &&
                  code_.sizes[from.offset] == start && to.where == BufferPlan::Where::output &&
                  to.index == output && code_.sizes[to.offset] == start;
         });
}

/// Finds the region for the sizes of a run, without allocations if they are known.
Result<std::shared_ptr<const BoundRegion>> OpenRegion::bound_for(const RunContext& context) const {
  if (context.inputs.size() != code_.inputs.size())
    return fail("halide: the region takes {} inputs, got {}", code_.inputs.size(), context.inputs.size());
  std::array<std::byte, 256> room;
  std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
  std::pmr::vector<int64_t> symbols(code_.symbols.size(), &memory);
  for (size_t i = 0; i < symbols.size(); ++i) symbols[i] = TRY(read_symbol(code_.symbols[i], context));
  return bound_to(symbols);
}

/// Makes a tensor of memory that outputs of earlier runs had, or of which only what is written takes up room.
Tensor OpenRegion::reserve_tensor(DType dtype, const Shape& shape) const {
  TensorView view{nullptr, dtype, shape};
  const std::shared_ptr<void> memory = rooms_.take(view.bytes());
  if (memory == nullptr) throw std::bad_alloc();
  view.data = memory.get();
  return {view, memory};
}

/// Returns the outputs with memory for those that the caller has none for, who gets it.
std::vector<Output> OpenRegion::make_outputs(const RunContext& context, const BoundRegion& bound) const {
  std::vector<Output> outputs(context.outputs.begin(), context.outputs.end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].dynamic) continue;
    const auto counted = std::ranges::find(code_.counted, i, &OpenCounted::output);
    const bool is_counted = counted != code_.counted.end();
    const Tensor made = is_counted ? reserve_tensor(code_.outputs[i].dtype, bound.outputs[i])
                                   : Tensor(code_.outputs[i].dtype, bound.outputs[i]);
    if (is_counted) {
      const auto number = static_cast<size_t>(counted - code_.counted.begin());
      const CountedHeader header =
          make_header(outputs[i].offered, made.dtype(), bound.counted[number], counted->axis);
      std::memcpy(made.data(), &header, sizeof(header));
    }
    context.outputs[i].tensor = outputs[i].tensor = made.view();
    context.outputs[i].owner = made.owner();
    outputs[i].dynamic = false;
  }
  return outputs;
}

/// Runs on a device, where all memory is the caller's, which takes the workspace's size from the program's
/// sizes.
Status OpenRegion::run_on_device(const RunContext& context, const BoundRegion& bound) const {
  for (const OpenSymbol& symbol : code_.symbols)
    if (!find_size(context.open_sizes, symbol))
      return fail("halide: the size '{}' depends on data, which a device's kernels cannot have", symbol.name);
  if (context.workspace_place.memory == nullptr && bound.workspace_bytes > 0)
    return fail("halide: the region has no workspace");
  return bound.executable.run(context);
}

/// Gives outputs the sizes that kernels counted. Counts come from code, whose tensors have room for the most.
Status OpenRegion::count_outputs(const RunContext& context, const BoundRegion& bound) const {
  for (size_t i = 0; i < code_.counted.size(); ++i) {
    const TensorView& offered = context.outputs[code_.counted[i].output].offered;
    TensorView& tensor = context.outputs[code_.counted[i].output].tensor;
    CountedHeader header;
    std::memcpy(&header, tensor.data, sizeof(header));
    Shape shape = bound.counted[i];
    shape[code_.counted[i].axis] = header.count;
    const size_t room = tensor.bytes() - counted_header;
    if (header.count < 0 || !checked_elements(shape) ||
        dtype_bytes(tensor.dtype, static_cast<size_t>(element_count(shape))) > room)
      return fail("halide: output {} counts {} elements, more than its {} bytes", code_.counted[i].output,
                  header.count, room);
    const bool is_offered = header.is_offered != 0 && offered.data != nullptr && offered.shape == shape;
    void* const elements = static_cast<std::byte*>(tensor.data) + counted_header;
    tensor = {is_offered ? offered.data : elements, tensor.dtype, std::move(shape)};
  }
  return {};
}

Status OpenRegion::run_on_host(const RunContext& context, const BoundRegion& bound) const {
  RunContext here = context;
  std::vector<Output> outputs;
  if (std::ranges::any_of(context.outputs, &Output::dynamic)) {
    outputs = make_outputs(context, bound);
    here.outputs = outputs;
  }
  if (context.workspace != nullptr || bound.workspace_bytes == 0) return bound.executable.run(here);
  Tensor workspace = take_workspace(bound.workspace_bytes);
  here.workspace = static_cast<std::byte*>(workspace.data());
  const Status status = bound.executable.run(here);
  give_back(std::move(workspace));
  return status;
}

Status OpenRegion::run(const RunContext& context) const {
  const std::shared_ptr<const BoundRegion> bound = TRY(bound_for(context));
  for (size_t i = 0; i < context.inputs.size(); ++i)
    if (context.inputs[i].tensor.shape != bound->inputs[i])
      return fail("halide: input {} has shape {}, want {}", i, print_shape(context.inputs[i].tensor.shape),
                  print_shape(bound->inputs[i]));
  if (context.outputs.size() != bound->outputs.size())
    return fail("halide: the region has {} outputs, got {}", bound->outputs.size(), context.outputs.size());
  for (size_t i = 0; i < context.outputs.size(); ++i)
    if (!context.outputs[i].dynamic && context.outputs[i].tensor.shape != bound->outputs[i])
      return fail("halide: output {} has shape {}, want {}", i, print_shape(context.outputs[i].tensor.shape),
                  print_shape(bound->outputs[i]));
  for (const OpenCounted& counted : code_.counted)
    if (!context.outputs[counted.output].dynamic)
      return fail("halide: output {} has a size that depends on data, and memory for a fixed one",
                  counted.output);
  if (code_.device != KernelDevice::cpu) return run_on_device(context, *bound);
  TRY(run_on_host(context, *bound));
  return count_outputs(context, *bound);
}

}  // namespace intarsia::halide
