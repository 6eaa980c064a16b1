// Stages of generated code: what they exchange lies as the code likes it, and the answer is that of the
// whole, bit for bit.
//
// Covers: src/plan/ boundary_layouts.cc stage_steps.cc
#include "backends/halide/runtime/load.h"
#include "backends/halide/target.h"
#include "tests/support/staged_model.h"

namespace intarsia {
namespace {

class GeneratedStages : public StagedModel {
 protected:
  GeneratedStages() { tools.targets.push_back(halide::make_target()); }

  /// Of all stages: inputs that do not lie as in the model.
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
