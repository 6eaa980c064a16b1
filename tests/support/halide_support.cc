#include "tests/support/halide_support.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "backends/halide/core/half_floats.h"
#include "backends/halide/runtime/load.h"
#include "backends/reference/evaluate.h"
#include "graph/parse_graph.h"
#include "passes/infer_shapes.h"
#include "tests/support/test_folder.h"

namespace intarsia::test {
namespace {

template <typename T, typename Distribution>
void fill(const Tensor& tensor, uint64_t seed, Distribution distribution) {
  std::mt19937_64 random(seed);
  for (T& element : tensor.as<T>()) element = static_cast<T>(distribution(random));
}

template <typename T>
std::string compare_as(const TensorView& got, const TensorView& want, double relative, double absolute) {
  auto a = got.as<T>(), b = want.as<T>();
  double largest = 1;
  for (T element : b)
    if (std::isfinite(static_cast<double>(element)))
      largest = std::max(largest, std::fabs(static_cast<double>(element)));
  absolute *= largest;
  for (size_t i = 0; i < a.size(); ++i) {
    auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    bool same =
        x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= absolute + relative * std::fabs(y);
    if (!same) return fmt::format("element {} of {}: got {}, want {}", i, print_shape(got.shape), x, y);
  }
  return {};
}

Tensor widened(const TensorView& half) {
  Tensor wide(DType::f32, half.shape);
  std::ranges::transform(half.as<uint16_t>(), wide.as<float>().begin(),
                         [&](uint16_t bits) { return halide::read_half_float(half.dtype, bits); });
  return wide;
}

/// Loads the objects as a shared library from a temporary file, which is removed when this returns.
Result<void*> load_code(const std::vector<std::string>& objects) {
  const TestFolder folder;
  std::string command = "ld.lld -shared -o " + folder / "code.so";
  for (size_t i = 0; i < objects.size(); ++i) {
    const std::string path = folder / fmt::format("{}.o", i);
    std::ofstream(path, std::ios::binary) << objects[i];
    command += " " + path;
  }
  int status = std::system(command.c_str());
  void* code = status == 0 ? dlopen((folder / "code.so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!code) return fail("objects do not link or load: {}", status == 0 ? dlerror() : command);
  return code;
}

/// Allocates one piece of memory with places for all, each at an odd element, and `more` bytes at its end.
Result<Memory> allocate_odd(MemorySpace& space, std::span<const ConstTensorView> tensors, size_t more,
                            std::vector<Place>& places) {
  size_t bytes = 0;
  for (const ConstTensorView& tensor : tensors) {
    places.push_back({nullptr, bytes + dtype_bytes(tensor.dtype, 1)});
    bytes = (places.back().offset + tensor.bytes() + 63) / 64 * 64;
  }
  places.push_back({nullptr, bytes});
  Memory memory = TRY(space.allocate(bytes + more));
  for (Place& place : places) place.memory = memory.handle();
  if (more == 0) places.pop_back();
  return memory;
}

}  // namespace

halide::Emitter& test_emitter() {
  static halide::Emitter emitter;
  return emitter;
}

Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed) {
  Tensor tensor(dtype, shape);
  std::uniform_real_distribution<double> real(-2, 2);
  std::uniform_int_distribution<int> number(0, 3), bit(0, 1);
  switch (dtype) {
    case DType::f32:
      fill<float>(tensor, seed, real);
      break;
    case DType::f64:
      fill<double>(tensor, seed, real);
      break;
    case DType::f16:
    case DType::bf16:
      return halide::narrowed(random_tensor(DType::f32, shape, seed), dtype);
    case DType::i64:
      fill<int64_t>(tensor, seed, number);
      break;
    case DType::u64:
      fill<uint64_t>(tensor, seed, number);
      break;
    case DType::i32:
      fill<int32_t>(tensor, seed, number);
      break;
    case DType::u32:
      fill<uint32_t>(tensor, seed, number);
      break;
    case DType::i16:
      fill<int16_t>(tensor, seed, number);
      break;
    case DType::u16:
      fill<uint16_t>(tensor, seed, number);
      break;
    case DType::i8:
      fill<int8_t>(tensor, seed, number);
      break;
    case DType::u8:
      fill<uint8_t>(tensor, seed, number);
      break;
    case DType::u4:
    case DType::i4: {
      std::mt19937_64 random(seed);
      for (uint8_t& two : std::span(static_cast<uint8_t*>(tensor.data()), tensor.bytes()))
        two = static_cast<uint8_t>(random());
      break;
    }
    default:
      fill<uint8_t>(tensor, seed, bit);
      break;
  }
  return tensor;
}

std::vector<Tensor> random_inputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueType& type = graph.value(graph.inputs[i]).type;
    inputs.push_back(random_tensor(type.dtype, *type.fixed_shape(), i + 1));
  }
  return inputs;
}

Result<Graph> make_graph(std::string_view text) {
  Graph graph = TRY(parse_graph(text));
  std::vector<ValueId> inputs;
  for (ValueId id : graph.inputs) {
    Value& value = graph.value(id);
    if (value.name.starts_with("w"))
      value.constant = random_tensor(value.type.dtype, *value.type.fixed_shape(), 1000 + index(id));
    else
      inputs.push_back(id);
    const bool is_scale = value.name.starts_with("w_scale");
    if (!is_scale && !value.name.starts_with("w_small")) continue;
    const bool is_half = halide::is_half_float(value.type.dtype);
    if (is_half) value.constant = widened(value.constant->view());
    for (float& element : value.constant->as<float>())
      element = is_scale ? 0.01f + std::abs(element) / 200 : element / 16;
    if (is_half) value.constant = halide::narrowed(*value.constant, value.type.dtype);
  }
  graph.inputs = inputs;
  TRY(infer_shapes(graph, {}));
  return graph;
}

Result<std::vector<Tensor>> run_reference(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> values(graph.values.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[index(graph.inputs[i])] = inputs[i];
  for (size_t v = 0; v < values.size(); ++v)
    if (graph.values[v].constant) values[v] = *graph.values[v].constant;
  for (const Node& node : graph.nodes) {
    std::vector<const Tensor*> arguments;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      arguments.push_back(has_input(node, i) ? &values[index(node.inputs[i])] : nullptr);
    std::vector<Tensor> made = TRY(with_context(reference::evaluate_node(node, arguments), "{}", node.op));
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (has_output(node, i)) values[index(node.outputs[i])] = made[i];
  }
  std::vector<Tensor> outputs;
  for (ValueId output : graph.outputs) outputs.push_back(values[index(output)]);
  return outputs;
}

std::shared_ptr<void> guarded_memory(size_t bytes, bool at_end) {
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t body = (bytes + page - 1) / page * page, all = body + 2 * page;
  auto* start = static_cast<std::byte*>(mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(start + page, body, PROT_READ | PROT_WRITE);
  std::shared_ptr<void> mapping(start, [all](void* memory) { munmap(memory, all); });
  return {mapping, start + page + (at_end ? body - bytes : 0)};
}

Result<std::unique_ptr<LoadedRegion>> LoadedRegion::make(const Graph& graph, const CompileOptions& options,
                                                         const halide::EmitOptions& emit,
                                                         std::shared_ptr<Executor> device,
                                                         halide::KernelDevice kernels) {
  auto loaded = std::make_unique<LoadedRegion>();
  loaded->graph_ = graph;
  loaded->device_ = device;
  const auto kernel_device = device ? kernels : halide::KernelDevice::cpu;
  loaded->region_ = TRY(halide::compile_region(graph, test_emitter(), options, emit, kernel_device));
  loaded->code_ = TRY(load_code(loaded->region_.object_files));
  for (const Tensor& constant : loaded->region_.constants) loaded->constants_.push_back(constant.view());
  if (device) {
    std::vector<ConstTensorView>& constants = loaded->constants_;
    loaded->memory_ = TRY(allocate_odd(*device->space(), constants, 0, loaded->places_));
    for (size_t i = 0; i < constants.size(); ++i) {
      TRY(device->space()->upload(loaded->places_[i], constants[i].data, constants[i].bytes()));
      constants[i].data = nullptr;
    }
  }
  LoadContext context;
  context.blob = std::as_bytes(std::span(loaded->region_.blob));
  context.constants = loaded->constants_;
  context.constant_places = loaded->places_;
  context.workspace_bytes = loaded->region_.workspace_bytes;
  context.symbol = [code = loaded->code_](const std::string& name) { return dlsym(code, name.c_str()); };
  loaded->executable_ = TRY(halide::load(context));
  if (device) loaded->executable_ = TRY(device->adapt(std::move(loaded->executable_), {}));
  return loaded;
}

LoadedRegion::~LoadedRegion() {
  if (code_) dlclose(code_);
}

Result<std::vector<Tensor>> LoadedRegion::run(const std::vector<Tensor>& inputs, ThreadTeam* threads) const {
  std::vector<Input> from;
  std::vector<Output> to;
  std::vector<Tensor> outputs;
  for (const Tensor& input : inputs) from.push_back({input.view(), {}});
  for (ValueId output : graph_.outputs) {
    outputs.emplace_back(graph_.value(output).type.dtype, *graph_.value(output).type.fixed_shape());
    to.push_back({outputs.back().view(), {}, false});
  }
  std::shared_ptr<void> workspace = allocate_aligned(region_.workspace_bytes + 64);
  TRY(executable_->run({from, to, static_cast<std::byte*>(workspace.get()), threads}));
  return outputs;
}

Result<std::vector<Tensor>> LoadedRegion::run_on_device(const std::vector<Tensor>& inputs,
                                                        const std::vector<Shape>& shapes,
                                                        const OpenSizes& sizes) const {
  MemorySpace& space = *device_->space();
  std::vector<ConstTensorView> all;
  std::vector<Tensor> outputs;
  for (const Tensor& input : inputs) all.push_back(input.view());
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const ValueType& type = graph_.value(graph_.outputs[i]).type;
    outputs.emplace_back(type.dtype, shapes.empty() ? *type.fixed_shape() : shapes[i]);
    all.push_back(outputs.back().view());
  }
  const size_t workspace = executable_->has_open_workspace()
                               ? static_cast<size_t>(TRY(executable_->open_workspace_bytes(sizes)))
                               : region_.workspace_bytes;
  std::vector<Place> places;
  const Memory memory = TRY(allocate_odd(space, all, workspace + 64, places));
  // Everything else is NaN, so that what is read outside of a tensor shows.
  std::vector<std::byte> before(memory.bytes(), std::byte{0xff});
  for (size_t i = 0; i < inputs.size(); ++i)
    std::memcpy(before.data() + places[i].offset, inputs[i].data(), inputs[i].bytes());
  TRY(space.upload({memory.handle(), 0}, before.data(), before.size()));
  std::vector<Input> from;
  std::vector<Output> to;
  for (size_t i = 0; i < inputs.size(); ++i)
    from.push_back({{nullptr, inputs[i].dtype(), inputs[i].shape()}, nullptr, places[i]});
  for (size_t i = 0; i < outputs.size(); ++i)
    to.push_back(
        {{nullptr, outputs[i].dtype(), outputs[i].shape()}, nullptr, false, places[inputs.size() + i]});
  TRY(device_->run(*executable_,
                   {.inputs = from, .outputs = to, .workspace_place = places.back(), .open_sizes = sizes}));
  std::vector<std::byte> after(memory.bytes());
  TRY(space.download(after.data(), {memory.handle(), 0}, after.size()));
  const auto take = [&](size_t offset, size_t bytes, void* target) {
    if (target != nullptr && bytes > 0) std::memcpy(target, after.data() + offset, bytes);
    std::copy_n(before.data() + offset, bytes, after.data() + offset);
  };
  for (size_t i = 0; i < outputs.size(); ++i) take(to[i].place.offset, outputs[i].bytes(), outputs[i].data());
  take(places.back().offset, workspace, nullptr);
  if (after != before) return fail("a kernel wrote outside of its output");
  return outputs;
}

Result<std::vector<Tensor>> LoadedRegion::run_guarded(const std::vector<Tensor>& inputs, bool at_end,
                                                      const std::vector<Shape>& shapes, ThreadTeam* threads,
                                                      const OpenSizes& sizes) const {
  std::vector<Input> from;
  std::vector<Output> to;
  std::vector<Tensor> outputs;
  for (const Tensor& input : inputs) {
    std::shared_ptr<void> memory = guarded_memory(input.bytes(), at_end);
    std::memcpy(memory.get(), input.data(), input.bytes());
    from.push_back({TensorView{memory.get(), input.dtype(), input.shape()}, memory});
  }
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const ValueType& type = graph_.value(graph_.outputs[i]).type;
    TensorView view{nullptr, type.dtype, shapes.empty() ? *type.fixed_shape() : shapes[i]};
    std::shared_ptr<void> memory = guarded_memory(view.bytes(), at_end);
    view.data = memory.get();
    outputs.emplace_back(view, memory);
    to.push_back({view, {}, false});
  }
  // Guard pages also surround the workspace: it is one buffer to its owner, and nothing may lie beyond it.
  const bool is_open = executable_->has_open_workspace();
  const size_t bytes = is_open ? TRY(executable_->open_workspace_bytes(sizes)) : region_.workspace_bytes;
  std::shared_ptr<void> workspace = is_open && bytes == 0 ? nullptr : guarded_memory(bytes, at_end);
  RunContext context{from, to, static_cast<std::byte*>(workspace.get()), threads};
  context.open_sizes = sizes;
  TRY(executable_->run(context));
  return outputs;
}

std::string compare(const TensorView& got, const TensorView& want, double relative, double absolute) {
  if (got.dtype != want.dtype || got.shape != want.shape)
    return fmt::format("got {}[{}], want {}[{}]", dtype_name(got.dtype), print_shape(got.shape),
                       dtype_name(want.dtype), print_shape(want.shape));
  if (got.dtype == DType::f32) return compare_as<float>(got, want, relative, absolute);
  if (got.dtype == DType::f64) return compare_as<double>(got, want, relative, absolute);
  if (halide::is_half_float(got.dtype))
    return compare_as<float>(widened(got).view(), widened(want).view(), relative, absolute);
  return same_tensor(got, want) ? std::string() : "integers differ";
}

/// Loads a region as a session would, with kernels that must not be called.
Status load_uncalled(const CompiledRegion& region) {
  std::vector<ConstTensorView> constants;
  for (const Tensor& constant : region.constants) constants.push_back(constant.view());
  LoadContext context;
  context.blob = std::as_bytes(std::span(region.blob));
  context.constants = constants;
  context.workspace_bytes = region.workspace_bytes;
  context.symbol = [](const std::string&) { return reinterpret_cast<void*>(1); };
  TRY(halide::load(context));
  return {};
}

Tuner random_tuner(CostTable& costs, uint32_t seed) {
  Tuner tuner;
  tuner.costs = &costs;
  tuner.probe = [] { return 1000; };
  tuner.may_go_on = [] { return true; };
  tuner.time_kernels = [random = std::mt19937(seed)](const KernelBatch& batch, const std::string&,
                                                     int) mutable -> Result<std::vector<Timing>> {
    TRY(load_uncalled(batch.region));
    std::vector<Timing> times(batch.uses.size());
    for (Timing& time : times) time.nanoseconds = 1 + static_cast<int64_t>(random() % 1000);
    return times;
  };
  return tuner;
}

}  // namespace intarsia::test
