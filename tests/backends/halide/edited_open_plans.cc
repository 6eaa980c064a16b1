// Plans of regions with open sizes that were edited: each is refused, when it is loaded or when a run binds
// its sizes, or runs and touches only its own memory. Inputs, outputs and constants lie between inaccessible
// pages.
//
// Covers: backends/halide/runtime/ load_open_region.cc open_region.cc
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "backends/halide/abi/open_plan_generated.h"
#include "backends/halide/runtime/load.h"
#include "base/flat_buffer.h"
#include "compile/link_objects.h"
#include "graph/data_sizes.h"
#include "program/verify_machine.h"
#include "tests/support/edited_plan.h"
#include "tests/support/test_folder.h"

namespace intarsia::test {
namespace {

namespace open = halide::open;

constexpr const char* sequences = R"(graph "sequences" opsets {"": 18}
input %x : f32[s,b,3]
input %l : i32[b]
input %h0 : f32[2,b,5]
input %w : f32[2,15,3]
input %wr : f32[2,15,5]
%y, %h = GRU(%x, %w, %wr, _, %l, %h0) {hidden_size=5, direction="bidirectional"}
output %y
output %h)";

constexpr const char* open_texts[] = {R"(graph "heads" opsets {"": 18}
input %x : f32[b,s,24]
input %z : f32[s,24]
input %w : f32[24,24]
const %heads : i64[4] = {0, 0, 3, 8}
%p = MatMul(%x, %w)
%a = Add(%p, %z)
%h = Reshape(%a, %heads)
%q = Transpose(%h) {perm=[0,2,1,3]}
%k = Transpose(%h) {perm=[0,2,3,1]}
%t = MatMul(%q, %k)
%m = Softmax(%t)
%y = MatMul(%m, %q)
output %y)",
                                      R"(graph "rows" opsets {"": 18}
input %x : f32[b,s]
input %i : i64[s,2]
%n = Softmax(%x)
%g = Gather(%n, %i) {axis=1}
%y = ReduceSum(%g) {keepdims=0}
%t = Transpose(%n) {perm=[1,0]}
%c = Concat(%t, %t) {axis=0}
output %c
output %y)",
                                      R"(graph "chosen" opsets {"": 18}
input %x : f32[b,s]
input %c : bool[s]
%r = Relu(%x)
%i = NonZero(%r)
%k = Compress(%x, %c) {axis=1}
output %r
output %i
output %k)",
                                      sequences};

class EditedOpenTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<Graph> graph = make_graph(GetParam());
    ASSERT_TRUE(graph) << graph.error().message;
    graph_ = *std::move(graph);
    for (const Node& node : graph_.nodes) name_data_sizes(graph_, node);
    auto region = halide::compile_region(graph_, test_emitter(), {1, "native", {}}, {});
    ASSERT_TRUE(region) << region.error().message;
    region_ = *std::move(region);
    const std::string path = folder_ / "code.so";
    std::ofstream(path, std::ios::binary) << link_objects(region_.object_files, machine_arch()).value();
    code_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(code_, nullptr) << dlerror();
  }
  void TearDown() override {
    if (code_ != nullptr) dlclose(code_);
  }

  open::OpenPlanT plan() const {
    open::OpenPlanT plan;
    flatbuffers::GetRoot<open::OpenPlan>(region_.blob.data())->UnPackTo(&plan);
    return plan;
  }

  /// Loads the plan, and runs it for several sizes.
  Status use(const open::OpenPlanT& plan) const {
    const std::string blob = pack_table<open::OpenPlan>(plan);
    std::vector<std::shared_ptr<void>> memory;
    std::vector<ConstTensorView> constants;
    for (const Tensor& constant : region_.constants)
      constants.push_back(copy_between_guards(constant.view(), memory));
    LoadContext context;
    context.blob = std::as_bytes(std::span(blob));
    context.constants = constants;
    context.symbol = [&](const std::string& name) { return dlsym(code_, name.c_str()); };
    const auto executable = TRY(halide::load(context));
    for (const auto& [b, s] : {std::pair{1, 1}, {2, 19}, {3, 40}, {1, 0}}) TRY(run(*executable, b, s));
    return {};
  }

 private:
  Status run(const Executable& executable, int64_t b, int64_t s) const {
    std::vector<std::shared_ptr<void>> memory;
    std::vector<Input> inputs;
    std::vector<Output> outputs;
    const auto shape_of = [&](ValueId id) {
      Shape shape;
      for (const Dim& size : *graph_.value(id).type.shape)
        shape.push_back(size.substitute({{"b", b}, {"s", s}}).number());
      return shape;
    };
    for (ValueId id : graph_.inputs) {
      Tensor tensor = random_tensor(graph_.value(id).type.dtype, shape_of(id), 3);
      if (tensor.dtype() == DType::i64)
        for (int64_t& index : tensor.as<int64_t>()) index = 0;
      if (tensor.dtype() == DType::i32)
        for (int32_t& length : tensor.as<int32_t>()) length = static_cast<int32_t>(s / 2);
      inputs.push_back({copy_between_guards(tensor.view(), memory), {}});
    }
    for (ValueId id : graph_.outputs)
      if (is_data_sized(id))
        outputs.push_back({.dynamic = true});
      else
        outputs.push_back({copy_between_guards({nullptr, DType::f32, shape_of(id)}, memory), {}, false});
    return executable.run({inputs, outputs, nullptr, nullptr});
  }

  bool is_data_sized(ValueId id) const {
    return std::ranges::any_of(*graph_.value(id).type.shape, [](const Dim& size) {
      return !size.substitute({{"b", 1}, {"s", 1}}).is_number();
    });
  }

  TestFolder folder_;
  Graph graph_;
  CompiledRegion region_;
  void* code_ = nullptr;
};

class OpenPlanEditor {
 public:
  explicit OpenPlanEditor(uint32_t seed) : random_(seed) {}

  /// Changes one thing, and returns a description of the change.
  std::string edit(open::OpenPlanT& plan) {
    auto& call = *plan.calls[pick(plan.calls.size())];
    auto& kernel = *plan.kernels[pick(plan.kernels.size())];
    auto& other = *plan.kernels[pick(plan.kernels.size())];
    switch (pick(13)) {
      case 0:
        std::swap(kernel.symbol, other.symbol);
        return "symbols swapped";
      case 1:
        std::swap(kernel.arguments, other.arguments);
        return "arguments swapped";
      case 2:
        call.kernel = static_cast<uint32_t>(pick(plan.kernels.size() + 1));
        return "another kernel called";
      case 3:
        call.places.resize(pick(call.places.size() + 2));
        return "another number of places";
      case 4:
        change_place(call.places[pick(call.places.size())], plan.sizes.size());
        return "another place";
      case 5:
        change_size(*plan.sizes[pick(plan.sizes.size())]);
        return "another size";
      case 6:
        if (!kernel.sizes.empty()) change_size(*kernel.sizes[pick(kernel.sizes.size())]);
        return "another size of a kernel";
      case 7:
        if (!call.symbols.empty())
          call.symbols[pick(call.symbols.size())] = static_cast<uint32_t>(pick(plan.symbols.size() + 1));
        return "another symbol";
      case 8:
        if (!plan.buffers.empty()) change_buffer(plan.buffers[pick(plan.buffers.size())], plan);
        return "another buffer";
      case 9:
        change_tensor(pick(2) == 0 ? *plan.inputs[pick(plan.inputs.size())] : *plan.outputs[0],
                      plan.sizes.size());
        return "another tensor";
      case 10:
        change_symbol(*plan.symbols[pick(plan.symbols.size())]);
        return "another way to find a size";
      case 11:
        change_repeats(call, plan.sizes.size());
        return "other runs";
      default:
        change_rest(plan, call);
        return "something else";
    }
  }

 private:
  size_t pick(size_t below) { return below == 0 ? 0 : random_() % below; }
  int64_t number() {
    const int64_t numbers[] = {-64,      -1, 0, 1, 2, 3, 64, 4096, 1 << 20, INT32_MAX, int64_t{1} << 40,
                               INT64_MIN};
    return numbers[pick(std::size(numbers))];
  }
  uint32_t any(size_t below) { return static_cast<uint32_t>(pick(below + 1)); }

  void change_place(open::Place& place, size_t sizes) {
    const size_t what = pick(3);
    place = open::Place(what == 0 ? static_cast<open::Where>(pick(5)) : place.where(),
                        what == 1 ? static_cast<uint32_t>(number()) : place.index(),
                        what == 2 ? any(sizes) : place.offset());
  }

  void change_size(open::SizeT& size) {
    if (pick(2) == 0 && !size.operands.empty())
      size.operands[pick(size.operands.size())] = number();
    else if (!size.ops.empty())
      size.ops[pick(size.ops.size())] = static_cast<uint8_t>(pick(8));
  }

  void change_buffer(open::Buffer& buffer, const open::OpenPlanT& plan) {
    buffer = open::Buffer(any(plan.sizes.size()), any(plan.calls.size()), any(plan.calls.size()));
  }

  void change_tensor(open::TensorT& tensor, size_t sizes) {
    if (pick(3) == 0) tensor.dtype = static_cast<uint8_t>(pick(30));
    if (!tensor.dims.empty()) tensor.dims[pick(tensor.dims.size())] = any(sizes);
  }

  void change_symbol(open::SymbolT& symbol) {
    symbol.input = static_cast<int>(pick(5)) - 1;
    symbol.axis = any(3);
    if (pick(2) == 0) symbol.factor = number();
    if (pick(2) == 0) symbol.rest = number();
  }

  void change_repeats(open::CallT& call, size_t sizes) {
    if (call.steps.empty() || pick(4) == 0) call.steps.resize(pick(call.places.size() + 2));
    if (pick(3) == 0) call.times = any(sizes);
    if (!call.steps.empty()) call.steps[pick(call.steps.size())] = any(sizes);
  }

  void change_counted(open::CountedT& counted, const open::OpenPlanT& plan) {
    const size_t what = pick(4);
    if (what == 0) counted.output = any(plan.outputs.size());
    if (what == 1) counted.axis = any(counted.dims.size());
    if (what == 2) counted.dims.resize(pick(counted.dims.size() + 2));
    if (what == 3 && !counted.dims.empty()) counted.dims[pick(counted.dims.size())] = any(plan.sizes.size());
  }

  void change_rest(open::OpenPlanT& plan, open::CallT& call) {
    if (!plan.counted.empty() && pick(3) > 0)
      return change_counted(*plan.counted[pick(plan.counted.size())], plan);
    call.is_copy = !call.is_copy;
    if (pick(2) == 0) {
      plan.scratch_bytes = static_cast<uint64_t>(number());
      plan.workers = static_cast<uint32_t>(number());
      return;
    }
    auto check = std::make_unique<open::IndexCheckT>();
    check->argument = any(3);
    check->low = {any(plan.sizes.size())};
    check->high = {any(plan.sizes.size())};
    call.checks.push_back(std::move(check));
  }

  std::mt19937 random_;
};

/// Adds an expression that is a number, and returns its number among all.
uint32_t add_size(open::OpenPlanT& plan, int64_t number) {
  auto size = std::make_unique<open::SizeT>();
  size->ops = {0}, size->operands = {number};
  plan.sizes.push_back(std::move(size));
  return static_cast<uint32_t>(plan.sizes.size() - 1);
}

/// Requires that a number be 0 or more, which is `after` the one that is added.
void require(open::OpenPlanT& plan, uint32_t after, int64_t number) {
  auto requirement = std::make_unique<open::RequirementT>();
  requirement->size = add_size(plan, number) + after;
  requirement->why = "a window of 3 does not fit";
  plan.requirements.push_back(std::move(requirement));
}

TEST_P(EditedOpenTest, IsRefusedOrStaysInItsMemory) {
  const Status unedited = use(plan());
  ASSERT_TRUE(unedited) << unedited.error().message;
  expect_refused_or_in_memory(400, [&](uint32_t seed, std::string& what) {
    auto edited = std::make_shared<open::OpenPlanT>(plan());
    what = OpenPlanEditor(seed).edit(*edited);
    return [this, edited] { return use(*edited); };
  });
}

TEST_P(EditedOpenTest, IsRefusedWithAReason) {
  using Plan = open::OpenPlanT;
  const struct {
    const char* wanted;
    std::function<void(Plan& plan)> edit;
  } cases[] = {
      {"was generated for other arguments", [](Plan& plan) { plan.kernels[0]->sizes[0]->operands[0] += 1; }},
      {"no kernel 99", [](Plan& plan) { plan.calls[0]->kernel = 99; }},
      {"0 places for a kernel of", [](Plan& plan) { plan.calls[0]->places.clear(); }},
      {"its output lies in an input or a constant",
       [](Plan& plan) { plan.calls[0]->places.back() = open::Place(open::Where::input, 0, 0); }},
      {"outside of its lifetime",
       [](Plan& plan) {
         const auto last = static_cast<uint32_t>(plan.calls.size() - 1);
         plan.buffers[0] = open::Buffer(plan.buffers[0].bytes(), last, last);
       }},
      {"outside of their tensor",
       [](Plan& plan) {
         const uint32_t zero = add_size(plan, 0);
         plan.buffers[0] = open::Buffer(zero, plan.buffers[0].first(), plan.buffers[0].last());
       }},
      {"this runtime reads 3 to 9", [](Plan& plan) { plan.version = 10; }},
      {"damaged", [](Plan& plan) { plan.device = 99; }},
      {"a window of 3 does not fit", [](Plan& plan) { require(plan, 0, -1); }},
      {"damaged", [](Plan& plan) { require(plan, 1, -1); }},
  };
  for (const auto& one : cases) {
    Plan edited = plan();
    one.edit(edited);
    expect_refused_with(use(edited), one.wanted);
  }
}

/// Checks plans for a device whose kernels are another's, and one whose constants are on the host.
TEST(EditedOpenDevicePlan, IsRefusedWithAReason) {
  using halide::KernelDevice;
  for (const char* weight : {"", "w"}) {
    const Result<Graph> graph =
        make_graph(fmt::format("graph \"g\" opsets {{\"\": 18}}\ninput %x : f32[b,4]\ninput %{0}z : "
                               "f32[4]\n%y = Add(%x, %{0}z)\noutput "
                               "%y",
                               weight));
    ASSERT_TRUE(graph) << graph.error().message;
    const auto region =
        halide::compile_region(*graph, test_emitter(), {1, "native", {}}, {}, KernelDevice::opencl);
    ASSERT_TRUE(region) << region.error().message;
    const auto load = [&](KernelDevice device, size_t placed) -> Status {
      open::OpenPlanT plan;
      flatbuffers::GetRoot<open::OpenPlan>(region->blob.data())->UnPackTo(&plan);
      plan.device = static_cast<uint8_t>(device);
      const std::string blob = pack_table<open::OpenPlan>(plan);
      std::vector<ConstTensorView> constants;
      for (const Tensor& constant : region->constants) constants.push_back(constant.view());
      const std::vector<Place> places(placed);
      LoadContext context;
      context.blob = std::as_bytes(std::span(blob));
      context.constants = constants;
      context.constant_places = places;
      context.symbol = [](const std::string&) { return reinterpret_cast<void*>(1); };
      TRY(halide::load(context));
      return {};
    };
    const size_t constants = region->constants.size();
    EXPECT_TRUE(load(KernelDevice::opencl, constants));
    for (KernelDevice other : {KernelDevice::cpu, KernelDevice::opencl_gpu, KernelDevice::cuda})
      expect_refused_with(load(other, constants), "was generated for other arguments");
    expect_refused_with(load(KernelDevice::opencl, constants + 1), "kernels are for a device");
  }
}

INSTANTIATE_TEST_SUITE_P(Halide, EditedOpenTest, testing::ValuesIn(open_texts));

class EditedSequencesTest : public EditedOpenTest {};

TEST_P(EditedSequencesTest, RunsOfAStepAreRefusedWithAReason) {
  using Plan = open::OpenPlanT;
  using Call = open::CallT;
  const struct {
    const char* wanted;
    std::function<void(Plan& plan, Call& call)> edit;
  } cases[] = {
      {"1 steps for a kernel of", [](Plan&, Call& call) { call.steps.resize(1); }},
      {"damaged", [](Plan& plan, Call& call) { call.times = static_cast<uint32_t>(plan.sizes.size()); }},
      {"damaged", [](Plan& plan, Call& call) { call.steps[0] = static_cast<uint32_t>(plan.sizes.size()); }},
      {"leave their tensor", [](Plan& plan, Call& call) { call.times = add_size(plan, 1000); }},
      {"leave their tensor",
       [](Plan& plan, Call& call) {
         call.times = add_size(plan, 2);
         call.steps.back() = add_size(plan, -4096);
       }},
      {"between elements", [](Plan& plan, Call& call) { call.steps.back() = add_size(plan, 2); }},
      {"a size of -1", [](Plan& plan, Call& call) { call.times = add_size(plan, -1); }},
      {"runs are too many", [](Plan& plan, Call& call) { call.times = add_size(plan, int64_t{1} << 40); }},
      {"its output does not move",
       [](Plan& plan, Call& call) {
         call.times = add_size(plan, 65);
         call.steps.assign(call.steps.size(), add_size(plan, 0));
       }},
  };
  for (const auto& one : cases) {
    Plan edited = plan();
    const auto step =
        std::ranges::find_if(edited.calls, [](const auto& call) { return !call->steps.empty(); });
    ASSERT_NE(step, edited.calls.end());
    one.edit(edited, **step);
    expect_refused_with(use(edited), one.wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(Halide, EditedSequencesTest, testing::Values(sequences));

}  // namespace
}  // namespace intarsia::test
