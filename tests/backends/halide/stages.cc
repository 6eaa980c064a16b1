// Stages of generated code: the values they exchange have the layout that the code prefers, and the answer
// equals that of the whole program, bit for bit.
//
// Covers: src/plan/partition/ boundary_layouts.cc src/plan/stages/ stage_steps.cc
#include "backends/halide/runtime/load.h"
#include "backends/halide/target.h"
#include "tests/support/staged_model.h"

namespace intarsia {
namespace {

class GeneratedStages : public StagedModel {
 protected:
  GeneratedStages() { services.backends.push_back(halide::make_target()); }

  /// Counts the inputs of all stages whose layout differs from the model's.
  size_t count_inputs_with_axes() const {
    const fbs::ProgramT program = std::move(read_program(request.program_path)->description);
    size_t count = 0;
    for (const auto& stage : program.functions[0]->stages)
      for (uint32_t id : stage->function->inputs) count += !stage->function->values[id]->axes.empty();
    return count;
  }
};

TEST_F(GeneratedStages, ExchangeWhatTheyMakeAsItIs) {
  request.devices = {"cpu:0", "cpu:1"};
  request.cuts = {"c2"};
  compile();
  EXPECT_EQ(count_inputs_with_axes(), 1u) << "c2; r is an output, which lies as in the model";
  EXPECT_EQ(compare_with_whole(halide::run_backend()), 2u);
}

TEST_F(GeneratedStages, EveryCut) {
  request.cuts = {"c1", "r", "c2", "sum", "c3"};
  compile();
  EXPECT_EQ(compare_with_whole(halide::run_backend()), 6u);
}

}  // namespace
}  // namespace intarsia
