// Programs whose halide blob was edited, with a correct digest: each is refused, or runs and touches only its
// own memory. Every tensor, constant and workspace lies between inaccessible pages; constants and inputs are
// also write-protected.
//
// Covers: backends/halide/runtime/ load.cc region_executable.cc
#include <gtest/gtest.h>

#include <random>

#include "backends/halide/abi/region_plan_generated.h"
#include "backends/halide/runtime/load.h"
#include "base/flat_buffer.h"
#include "compile/link_objects.h"
#include "program/verify_machine.h"
#include "runtime/session.h"
#include "tests/support/edited_plan.h"
#include "tests/support/halide_support.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

namespace fbs = halide::fbs;

constexpr const char* texts[] = {R"(graph "layers" opsets {"": 18}
input %x : f32[1,8,9,9]
input %w : f32[8,8,3,3]
const %axis : i64[] = {3}
%c = Conv(%x, %w) {pads=[1,1,1,1]}
%s = Softmax(%c) {axis=1}
%t = Transpose(%s) {perm=[0,2,3,1]}
%last = CumSum(%t, %axis)
%y = Conv(%s, %w)
output %y
output %last)",
                                 R"(graph "steps" opsets {"": 17}
input %x : f32[7,2,3]
input %w : f32[1,20,3]
input %wr : f32[1,20,5]
%y = LSTM(%x, %w, %wr) {hidden_size=5, direction="reverse"}
output %y)",
                                 R"(graph "picks" opsets {"": 18}
input %x : f32[9,4]
input %i : i64[5,2]
%r = Relu(%x)
%y = GatherND(%r, %i)
%s = Sigmoid(%y)
output %s
output %r)"};

class EditedTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<Graph> graph = make_graph(GetParam());
    ASSERT_TRUE(graph) << graph.error().message;
    auto region = halide::compile_region(*graph, test_emitter(), {2, "native", {}}, {});
    ASSERT_TRUE(region) << region.error().message;
    maker_.elf = link_objects(region->object_files, machine_arch()).value();
    maker_.constants = region->constants;
    std::vector<uint32_t> inputs, outputs, constants;
    for (ValueId id : graph->inputs)
      inputs.push_back(maker_.input(graph->value(id).name, *graph->value(id).type.fixed_shape(),
                                    graph->value(id).type.dtype));
    for (ValueId id : graph->outputs)
      outputs.push_back(maker_.output(graph->value(id).name, *graph->value(id).type.fixed_shape()));
    for (size_t i = 0; i < region->constants.size(); ++i) constants.push_back(static_cast<uint32_t>(i));
    maker_.run(region->blob, inputs, outputs, 0, constants);
    maker_.program.regions[0]->backend = "halide";
    maker_.program.regions[0]->workspace_bytes = region->workspace_bytes;
    maker_.function().arena_bytes[0] = region->workspace_bytes;
  }

  /// Writes a program with this plan, loads, binds and runs it.
  Status use(const fbs::RegionPlanT& plan) const {
    const std::string path = folder_ / "edited.so";
    ProgramMaker maker = maker_;
    maker.blobs[0] = pack_table<fbs::RegionPlan>(plan);
    TRY(maker.write(path));
    const std::vector<RunBackend> backends = {halide::run_backend()};
    const auto program = TRY(load_program(path, backends));
    TRY(Session::create(TRY(bind_program(program, {}))));
    return run(*program);
  }

  fbs::RegionPlanT plan() const {
    fbs::RegionPlanT plan;
    flatbuffers::GetRoot<fbs::RegionPlan>(maker_.blobs[0].data())->UnPackTo(&plan);
    return plan;
  }

 private:
  Status run(const LoadedProgram& program) const {
    const size_t workspace_bytes = program.description().regions[0]->workspace_bytes;
    std::vector<std::shared_ptr<void>> memory;
    std::vector<ConstTensorView> constants;
    for (const Tensor& constant : program.file().constants)
      constants.push_back(copy_between_guards(constant.view(), memory));
    LoadContext context;
    context.blob = program.file().blobs[0];
    context.constants = constants;
    context.symbol = [&](const std::string& name) { return program.symbol(name); };
    context.workspace_bytes = workspace_bytes;
    const auto executable = TRY(halide::load(context));
    const auto& function = *program.description().functions[0];
    std::vector<Input> inputs;
    std::vector<Output> outputs;
    for (uint32_t id : function.inputs) {
      const auto dtype = static_cast<DType>(function.values[id]->dtype);
      inputs.push_back(
          {copy_between_guards(random_tensor(dtype, function.values[id]->dims, id).view(), memory), {}});
    }
    for (uint32_t id : function.outputs)
      outputs.push_back(
          {copy_between_guards({nullptr, DType::f32, function.values[id]->dims}, memory), {}, false});
    const std::shared_ptr<void> workspace = guarded_memory(workspace_bytes, true);
    return executable->run({inputs, outputs, static_cast<std::byte*>(workspace.get()), nullptr});
  }

  TestFolder folder_;
  ProgramMaker maker_;
};

class Editor {
 public:
  explicit Editor(uint32_t seed) : random_(seed) {}

  /// Changes one thing, and returns a description of the change.
  std::string edit(fbs::RegionPlanT& plan) {
    const auto call = pick(plan.calls.size()), kernel = pick(plan.kernels.size()),
               other = pick(plan.kernels.size());
    auto& arguments = plan.kernels[kernel]->arguments;
    auto& argument = *arguments[pick(arguments.size())];
    switch (pick(12)) {
      case 0:
        std::swap(plan.kernels[kernel]->symbol, plan.kernels[other]->symbol);
        return "symbols swapped";
      case 1:
        std::swap(arguments, plan.kernels[other]->arguments);
        return "arguments swapped";
      case 2:
        plan.calls[call]->kernel = static_cast<uint32_t>(number());
        return "another kernel called";
      case 3:
        plan.calls[call]->places.resize(pick(plan.calls[call]->places.size() + 2));
        return "another number of places";
      case 4:
        change_place(plan.calls[call]->places);
        return "another place";
      case 5:
        if (!argument.extents.empty())
          argument.extents[pick(argument.extents.size())] = static_cast<int32_t>(number());
        return "another extent";
      case 6:
        if (!argument.strides.empty())
          argument.strides[pick(argument.strides.size())] = static_cast<int32_t>(number());
        return "another stride";
      case 7:
        plan.calls[call]->times = static_cast<uint32_t>(number());
        return "another number of times";
      case 8:
        plan.calls[call]->steps.resize(pick(2) == 0 ? pick(5) : plan.calls[call]->places.size());
        if (!plan.calls[call]->steps.empty())
          plan.calls[call]->steps[pick(plan.calls[call]->steps.size())] = number();
        return "other steps";
      case 9:
        plan.calls[call]->is_copy = !plan.calls[call]->is_copy;
        change_checks(plan.calls[call]->checks);
        return "other checks";
      case 10:
        make_items(plan);
        return "repeated for items";
      default:
        change_sizes(plan);
        return "another size";
    }
  }

 private:
  size_t pick(size_t below) { return below == 0 ? 0 : random_() % below; }
  int64_t number() {
    const int64_t numbers[] = {
        -64, -1, 0, 1, 2, 3, 4, 5, 32, 64, 128, 4096, 1 << 20, INT32_MAX, int64_t{1} << 40, INT64_MIN};
    return numbers[pick(std::size(numbers))];
  }

  void change_place(std::vector<fbs::Place>& places) {
    fbs::Place& place = places[pick(places.size())];
    switch (pick(3)) {
      case 0:
        place = fbs::Place(static_cast<fbs::Where>(pick(5)), place.index(), place.offset());
        break;
      case 1:
        place = fbs::Place(place.where(), static_cast<uint32_t>(number()), place.offset());
        break;
      default:
        place = fbs::Place(place.where(), place.index(), place.offset() + static_cast<uint64_t>(number()));
    }
  }

  void change_checks(std::vector<std::unique_ptr<fbs::IndexCheckT>>& checks) {
    checks.resize(1 + pick(3));
    for (auto& check : checks)
      if (check == nullptr) check = std::make_unique<fbs::IndexCheckT>();
    checks[0]->argument = static_cast<uint32_t>(pick(4));
    checks[0]->ranges.resize(pick(4));
    for (fbs::IndexRange& range : checks[0]->ranges) range = {number(), number()};
  }

  /// Makes items of the plan; half of the time with one thing wrong.
  void make_items(fbs::RegionPlanT& plan) {
    for (size_t i = 0; i < plan.input_bytes.size(); ++i)
      plan.input_moves.push_back(static_cast<uint8_t>(pick(2)));
    for (const uint64_t bytes : plan.output_bytes) {
      auto output = std::make_unique<fbs::ItemOutputT>();
      output->dtype = static_cast<uint8_t>(DType::f32);
      output->dims = {static_cast<int64_t>(bytes / sizeof(float))};
      plan.item_outputs.push_back(std::move(output));
    }
    auto& output = *plan.item_outputs[0];
    switch (pick(8)) {
      case 0:
        output.dims[0] = number();
        break;
      case 1:
        output.dims.push_back(number());
        break;
      case 2:
        output.dtype = static_cast<uint8_t>(pick(40));
        break;
      case 3:
        plan.input_moves.resize(pick(4));
        break;
      default:
        change_sizes(plan);
    }
  }

  void change_sizes(fbs::RegionPlanT& plan) {
    const auto size = static_cast<uint64_t>(number());
    uint64_t* const sizes[] = {&plan.workspace_bytes, &plan.scratch_offset, &plan.scratch_bytes,
                               &plan.input_bytes[0], &plan.output_bytes[0]};
    const size_t which = pick(std::size(sizes) + 1);
    if (which == std::size(sizes))
      plan.workers = static_cast<uint32_t>(size);
    else
      *sizes[which] = pick(2) == 0 ? size : *sizes[which] + size;
  }

  std::mt19937 random_;
};

TEST_P(EditedTest, IsRefusedOrStaysInItsMemory) {
  const Status unedited = use(plan());
  ASSERT_TRUE(unedited) << unedited.error().message;
  expect_refused_or_in_memory(300, [&](uint32_t seed, std::string& what) {
    auto edited = std::make_shared<fbs::RegionPlanT>(plan());
    what = Editor(seed).edit(*edited);
    return [this, edited] { return use(*edited); };
  });
}

TEST_P(EditedTest, IsRefusedWithAReason) {
  using Plan = fbs::RegionPlanT;
  const struct {
    const char* wanted;
    std::function<void(Plan& plan)> edit;
  } cases[] = {
      {"was generated for other arguments",
       [](Plan& plan) { std::swap(plan.kernels[0]->symbol, plan.kernels[1]->symbol); }},
      {"was generated for other arguments", [](Plan& plan) { plan.kernels[0]->arguments[0]->dtype = 11; }},
      {"call 0 of the region's plan: no kernel 99", [](Plan& plan) { plan.calls[0]->kernel = 99; }},
      {"0 places and ", [](Plan& plan) { plan.calls[0]->places.clear(); }},
      {"its output lies in an input or a constant",
       [](Plan& plan) {
         plan.input_bytes[0] = 1 << 20;
         plan.calls[0]->places.back() = fbs::Place(fbs::Where::input, 0, 0);
       }},
      {"there is no tensor 77 of kind 0",
       [](Plan& plan) { plan.calls[0]->places[0] = fbs::Place(fbs::Where::input, 77, 0); }},
      {"it lies outside of its tensor",
       [](Plan& plan) { plan.calls[0]->places[0] = fbs::Place(fbs::Where::input, 0, 1 << 20); }},
      {"between elements",
       [](Plan& plan) {
         plan.input_bytes[0] = 1 << 20;
         plan.calls[0]->places[0] = fbs::Place(fbs::Where::input, 0, 1);
       }},
      {"its output does not move", [](Plan& plan) { plan.calls[0]->times = 1000; }},
      {"does not hold indices with 7 ranges",
       [](Plan& plan) {
         plan.calls[0]->checks.push_back(std::make_unique<fbs::IndexCheckT>());
         plan.calls[0]->checks.back()->ranges.resize(7);
       }},
      {"bytes of workspace, it has ", [](Plan& plan) { plan.workspace_bytes += 64; }},
      {"has version 2, this runtime reads 3", [](Plan& plan) { plan.version = 2; }},
  };
  for (const auto& one : cases) {
    Plan edited = plan();
    one.edit(edited);
    expect_refused_with(use(edited), one.wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(Halide, EditedTest, testing::ValuesIn(texts));

}  // namespace
}  // namespace intarsia::test
