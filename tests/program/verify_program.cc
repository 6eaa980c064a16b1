// Rules of verify_program: each is broken in a valid program, and the error says so.
//
// Covers: src/program/ open_sizes.cc string_constant.cc verify_function.cc verify_program.cc verify_stages.cc
// verify_unshared.cc
#include <gtest/gtest.h>

#include <functional>

#include "program/verify_program.h"
#include "tests/support/runtime_support.h"

namespace intarsia::test {
namespace {

struct Case {
  const char* message;
  std::function<void(ProgramMaker&)> damage;
};

/// Makes the size of x an open one, N.
fbs::FunctionT& open_size(ProgramMaker& m) {
  fbs::FunctionT& function = m.function();
  auto symbol = std::make_unique<fbs::SymbolT>();
  symbol->name = "N";
  symbol->max = 8;
  function.symbols.push_back(std::move(symbol));
  auto size = std::make_unique<fbs::SizeT>();
  size->ops = {fbs::SizeOp::symbol};
  size->operands = {0};
  function.sizes.push_back(std::move(size));
  function.values[0]->dims[0] = -1;
  function.values[0]->sizes = {1};
  function.values[0]->tuned_dims = {4};
  m.program.needs.emplace_back("symbols");
  return function;
}

/// Makes y continue x along its axis.
fbs::ValueT& continued(ProgramMaker& m) {
  fbs::ValueT& value = *m.function().values[1];
  value.continues = 1;
  return value;
}

// Cases of small_program: values x (0), y (1), t (2); step 0 writes t, step 1 writes y.
const Case cases[] = {
    {"two slots are named 'cpu'", [](auto& m) { m.slot("cpu", "cpu", "cpu"); }},
    {"a slot has no name", [](auto& m) { m.slot("", "cpu", "cpu"); }},
    {"two functions are named 'main'",
     [](auto& m) { m.program.functions.push_back(std::make_unique<fbs::FunctionT>(m.function())); }},
    {"it uses the feature 'loops', which this Intarsia does not know",
     [](auto& m) { m.program.needs = {"loops"}; }},
    {"function 'main': it has alternatives, but the program does not need 'alternatives'",
     [](auto& m) {
       m.alternative();
       m.program.needs.clear();
     }},
    {"function 'main': alternative 0: it has another name, other inputs or other outputs",
     [](auto& m) {
       m.alternative();
       m.function().alternatives[0]->values[0]->name = "z";
     }},
    {"function 'main': alternative 0: it has alternatives",
     [](auto& m) {
       m.alternative();
       auto& first = *m.function().alternatives[0];
       first.alternatives.push_back(std::make_unique<fbs::FunctionT>(first));
     }},
    {"function 'main': specialization 0: it has another name, other inputs or other outputs",
     [](auto& m) {
       open_size(m);
       m.specialization(2, 8);
       m.function().specializations[0]->name = "other";
     }},
    {"function 'main': specialization 0: it has specializations",
     [](auto& m) {
       open_size(m);
       m.specialization(2, 8);
       auto& first = *m.function().specializations[0];
       first.specializations.push_back(std::make_unique<fbs::FunctionT>(first));
     }},
    {"function 'main': specialization 0: it has other symbols",
     [](auto& m) {
       open_size(m);
       m.specialization(2, 8);
       m.function().specializations[0]->symbols[0]->max = 7;
     }},
    {"function 'main': specialization 0: no sizes that it is for",
     [](auto& m) {
       open_size(m);
       m.specialization(2, 8);
       m.function().specializations[0]->ranges.clear();
     }},
    {"function 'main': specialization 0: sizes 5 to 4 of symbol 0",
     [](auto& m) {
       open_size(m);
       m.specialization(5, 4);
     }},
    {"function 'main': specialization 0: sizes 2 to 8 of symbol 1",
     [](auto& m) {
       open_size(m);
       m.specialization(2, 8);
       m.function().specializations[0]->ranges[0]->symbol = 1;
     }},
    {"function 'main': specialization 0: step 1: region 9 of 4",
     [](auto& m) {
       open_size(m);
       m.specialization(2, 8);
       m.function().specializations[0]->steps[1]->region = 9;
     }},
    {"function 'main': alternative 0: it has specializations",
     [](auto& m) {
       open_size(m);
       m.specialization(2, 8);
       m.alternative();
     }},
    {"function 'main': alternative 0: step 1: region 9 of 4",
     [](auto& m) {
       m.alternative();
       m.function().alternatives[0]->steps[1]->region = 9;
     }},
    {"value 't': it continues an input, though it is not an output",
     [](auto& m) { m.function().values[2]->continues = 1; }},
    {"value 'y': it continues input 1 of 1", [](auto& m) { continued(m).continues = 2; }},
    {"value 'y': it continues input 4294967294 of 1", [](auto& m) { continued(m).continues = UINT32_MAX; }},
    {"value 'y': it cannot continue input 'x' on axis 1", [](auto& m) { continued(m).continued_axis = 1; }},
    {"value 'y': it cannot continue input 'x' on axis 0",
     [](auto& m) { continued(m), m.function().values[0]->dtype = static_cast<uint8_t>(DType::i32); }},
    {"value 'y': it cannot continue input 'x' on axis 0",
     [](auto& m) { continued(m), m.function().values[0]->dims = {4, 1}; }},
    {"value 'y': it cannot continue input 'x' on axis 0",
     [](auto& m) {
       continued(m).dims = {4, 2};
       m.function().values[0]->dims = {4, 1};
     }},
    {"it has symbols, but the program does not need 'symbols'",
     [](auto& m) {
       open_size(m);
       m.program.needs.clear();
     }},
    {"symbol 'N': a range of 9 to 8", [](auto& m) { open_size(m).symbols[0]->min = 9; }},
    {"symbol 'N': a range of 0 to", [](auto& m) { open_size(m).symbols[0]->max = uint64_t{1} << 40; }},
    {"symbol 'N': size 9 out of its range", [](auto& m) { open_size(m).symbols[0]->tuned = {9}; }},
    {"two symbols 'N'",
     [](auto& m) {
       fbs::FunctionT& function = open_size(m);
       function.symbols.push_back(std::make_unique<fbs::SymbolT>(*function.symbols[0]));
     }},
    {"size 0: symbol 1 of 1", [](auto& m) { open_size(m).sizes[0]->operands = {1}; }},
    {"size 0: symbol -1 of 1", [](auto& m) { open_size(m).sizes[0]->operands = {-1}; }},
    {"size 0: an expression that lacks a number", [](auto& m) { open_size(m).sizes[0]->operands.clear(); }},
    {"size 0: an expression that lacks operands",
     [](auto& m) { open_size(m).sizes[0]->ops.push_back(fbs::SizeOp::add); }},
    {"size 0: an expression that is not one value",
     [](auto& m) { open_size(m).sizes[0]->operands.push_back(1); }},
    {"size 0: an expression that is not one value",
     [](auto& m) {
       fbs::SizeT& size = *open_size(m).sizes[0];
       size.ops.push_back(fbs::SizeOp::number);
       size.operands.push_back(1);
     }},
    {"size 0: an expression that is 65 deep",
     [](auto& m) {
       fbs::SizeT& size = *open_size(m).sizes[0];
       size.ops.assign(70, fbs::SizeOp::symbol);
       size.operands.assign(70, 0);
     }},
    {"size 0: unknown part 99",
     [](auto& m) { open_size(m).sizes[0]->ops[0] = static_cast<fbs::SizeOp>(99); }},
    {"value 'x': expression 2 of 1", [](auto& m) { open_size(m).values[0]->sizes = {2}; }},
    {"value 'x': 2 expressions for 1 sizes", [](auto& m) { open_size(m).values[0]->sizes = {1, 0}; }},
    {"value 'y': an expression for size 0, which is", [](auto& m) { open_size(m).values[1]->sizes = {1}; }},
    {"value 'x': sizes that it was measured with, which it cannot have",
     [](auto& m) { open_size(m).values[0]->tuned_dims = {-1}; }},
    {"value 'y': sizes that it was measured with, though it is not an input",
     [](auto& m) { open_size(m).values[1]->tuned_dims = {4}; }},
    {"value 't': in memory that a run chooses, though its sizes are not expressions",
     [](auto& m) { open_size(m).values[2]->storage = fbs::Storage::bound; }},
    {"value 't': in memory that a run chooses, though its sizes are not expressions",
     [](auto& m) {
       fbs::ValueT& value = *open_size(m).values[2];
       value.storage = fbs::Storage::bound;
       value.dims = {-1};
     }},
    {"value 't': in memory that a run chooses, though its sizes are not expressions",
     [](auto& m) {
       fbs::ValueT& value = *open_size(m).values[2];
       value.storage = fbs::Storage::bound;
       value.dims = {-1};
       value.sizes = {1};
       value.dtype = static_cast<uint8_t>(DType::string);
     }},
    {"function 'main': 1 expressions without symbols",
     [](auto& m) {
       fbs::FunctionT& function = open_size(m);
       function.symbols.clear();
       function.sizes[0]->ops = {fbs::SizeOp::number};
     }},
    {"no input has the size 'N'", [](auto& m) { open_size(m).values[0]->sizes.clear(); }},
    {"no space of the host", [](auto& m) { m.program.spaces.clear(); }},
    {"a space has no name", [](auto& m) { m.program.spaces[0]->name.clear(); }},
    {"space 0 is of kind 'sim'; only the first is the host's",
     [](auto& m) { m.program.spaces[0]->kind = "sim"; }},
    {"slot 'cpu': space 7 of 1", [](auto& m) { m.program.slots[0]->space = 7; }},
    {"slot 'cpu' of kind 'sim' is in a space of kind 'host'",
     [](auto& m) { m.program.slots[0]->kind = "sim"; }},
    {"region 0: no backend", [](auto& m) { m.program.regions[0]->backend.clear(); }},
    {"region 0: slot 3 of 1", [](auto& m) { m.program.regions[0]->slot = 3; }},
    {"region 0: constant 7 of 1", [](auto& m) { m.program.regions[0]->constants[0] = 7; }},
    {"bytes of workspace", [](auto& m) { m.program.regions[0]->workspace_bytes = 5; }},
    {"0 arenas for 1 spaces", [](auto& m) { m.function().arena_bytes.clear(); }},
    {"an arena of", [](auto& m) { m.function().arena_bytes[0] = uint64_t{1} << 60; }},
    {"an arena of 1073741824 bytes in space 'cpu', of which 16 are used",
     [](auto& m) { m.function().arena_bytes[0] = uint64_t{1} << 30; }},
    {"value 'x': unknown dtype 99", [](auto& m) { m.function().values[0]->dtype = 99; }},
    {"value 'x': space 9 of 1", [](auto& m) { m.function().values[0]->space = 9; }},
    {"value 'x': rank 65", [](auto& m) { m.function().values[0]->dims.assign(65, 1); }},
    {"value 'x': a size below -1", [](auto& m) { m.function().values[0]->dims[0] = -2; }},
    {"too large for any memory", [](auto& m) { m.function().values[2]->dims = {1 << 30, 1 << 30, 1 << 30}; }},
    {"though its rank is unknown", [](auto& m) { m.function().values[0]->rank_unknown = true; }},
    {"value 'y': an output of unknown size", [](auto& m) { m.function().values[1]->dims[0] = -1; }},
    {"value 't': in the arena, though", [](auto& m) { m.function().values[2]->dims[0] = -1; }},
    {"value 't': axes that are not those of its 1 sizes",
     [](auto& m) { m.function().values[2]->axes = {1}; }},
    {"value 't': axes that are not those of its 1 sizes",
     [](auto& m) { m.function().values[2]->axes = {0, 0}; }},
    {"axes, though it is not a tensor of known size", [](auto& m) { m.function().values[0]->axes = {0}; }},
    {"value 't': in the arena, though", [](auto& m) { m.function().values[2]->dtype = 8; }},
    {"value 't': offset 32 is not a multiple", [](auto& m) { m.function().values[2]->offset = 32; }},
    {"do not fit in space 'cpu''s arena", [](auto& m) { m.function().values[2]->offset = ~uint64_t{63}; }},
    {"value 't': constant 4 of 1",
     [](auto& m) {
       m.function().values[2]->storage = fbs::Storage::constant;
       m.function().values[2]->constant = 4;
     }},
    {"value 't': its type is not that of constant 0",
     [](auto& m) {
       m.function().values[2]->storage = fbs::Storage::constant;
       m.function().values[2]->dtype = 7;
     }},
    {"value 't': unknown storage",
     [](auto& m) { m.function().values[2]->storage = static_cast<fbs::Storage>(9); }},
    {"input is value 9 of 3", [](auto& m) { m.function().inputs[0] = 9; }},
    {"output is value 9 of 3", [](auto& m) { m.function().outputs[0] = 9; }},
    {"output 't' has storage arena", [](auto& m) { m.function().outputs.push_back(2); }},
    {"output name 'y' is empty or duplicated", [](auto& m) { m.function().outputs.push_back(1); }},
    {"value 'x' has storage input but is not", [](auto& m) { m.function().inputs.clear(); }},
    {"an input that is not in the host's memory",
     [](auto& m) {
       m.function().values[0]->space = m.program.slots[m.slot("accel", "sim", "sim:0")]->space;
     }},
    {"step 0: reads value 9 of 3", [](auto& m) { m.function().steps[0]->inputs[0] = 9; }},
    {"step 0: writes value 9 of 3", [](auto& m) { m.function().steps[0]->outputs[0] = 9; }},
    {"step 0: reads 't' before it is written", [](auto& m) { m.function().steps[0]->inputs[0] = 2; }},
    {"step 1: writes 't', which is already written", [](auto& m) { m.function().steps[1]->outputs[0] = 2; }},
    {"step 0: must come after step 1", [](auto& m) { m.function().steps[0]->after = {1}; }},
    {"step 1: region 9 of 2", [](auto& m) { m.function().steps[1]->region = 9; }},
    {"step 0: value 'x' is not in the space of region 0",
     [](auto& m) { m.program.regions[0]->slot = m.slot("other", "sim", "sim:0"); }},
    {"unknown kind 7", [](auto& m) { m.function().steps[1]->kind = static_cast<fbs::StepKind>(7); }},
    {"a copy of several values", [](auto& m) { m.function().steps[1]->kind = fbs::StepKind::copy; }},
    {"no step writes output 'y'", [](auto& m) { m.function().steps.pop_back(); }},
    {"do not fit in space 'cpu''s arena", [](auto& m) { m.program.regions[0]->workspace_bytes = 1 << 20; }},
    {"of another shape", [](auto& m) { m.copy(0, m.arena("u", {5})); }},
    {"of another dtype", [](auto& m) { m.copy(0, m.value("u", fbs::Storage::dynamic, {4}, 0, DType::i64)); }},
    {"which only the host's memory can hold",
     [](auto& m) {
       const uint32_t words = m.input("words", {2}, DType::string);
       m.copy(words,
              m.value("there", fbs::Storage::dynamic, {2}, m.slot("accel", "sim", "sim:0"), DType::string));
     }},
};

fbs::StageT& stage(ProgramMaker& maker, size_t number) { return *maker.function().stages[number]; }

// Cases of small_program in two stages, one step each: {x (0) -> t (1)} {t (0), x (1) -> y (2)}.
const Case cases_of_stages[] = {
    {"function 'main': stage 1: no function", [](auto& m) { stage(m, 1).function.reset(); }},
    {"function 'main': stage 0: slot 4 of 1", [](auto& m) { stage(m, 0).slot = 4; }},
    {"stage 0: no executor", [](auto& m) { stage(m, 0).executors.clear(); }},
    {"stage 0: executor 'sim:0' for a slot of kind 'cpu'",
     [](auto& m) { stage(m, 0).executors = {"sim:0"}; }},
    {"stage 0: executor 'cpu:x'", [](auto& m) { stage(m, 0).executors.push_back("cpu:x"); }},
    {"stage 1: step 0: region 7 of 2", [](auto& m) { stage(m, 1).function->steps[0]->region = 7; }},
    {"stage 1: region 0 is not the function's, or runs twice",
     [](auto& m) { stage(m, 1).function->steps[0]->region = 0; }},
    {"function 'main': no stage runs region 1", [](auto& m) { m.function().stages.pop_back(); }},
    {"stage 0: input 't' is neither an input of the function nor made by an earlier stage",
     [](auto& m) { std::swap(m.function().stages[0], m.function().stages[1]); }},
    {"stage 1: input 't' is neither",
     [](auto& m) { stage(m, 1).function->values[0]->dtype = static_cast<uint8_t>(DType::i32); }},
    {"stage 1: input 't' is neither", [](auto& m) { stage(m, 1).function->values[0]->dims = {2, 2}; }},
    {"stage 1: input 't' is neither", [](auto& m) { stage(m, 1).function->values[0]->axes = {0}; }},
    {"stage 1: output 'y' is not as the function's",
     [](auto& m) { stage(m, 1).function->values[2]->dims = {2, 2}; }},
    {"function 'main': no stage makes output 'y'",
     [](auto& m) { stage(m, 1).function->values[2]->name = "z"; }},
    {"stage 1: output 't' is made by two stages",
     [](auto& m) { stage(m, 1).function->values[2]->name = "t"; }},
    {"stage 0: output 't' is opaque, and of what type is not told",
     [](auto& m) {
       fbs::ValueT& value = *stage(m, 0).function->values[1];
       value.dtype = 0;
       value.storage = fbs::Storage::dynamic;
     }},
    {"stage 1: its name 'stage0' is empty or another stage's",
     [](auto& m) { stage(m, 1).function->name = "stage0"; }},
    {"stage 0: it has alternatives, specializations or stages of its own",
     [](auto& m) {
       fbs::FunctionT& first = *stage(m, 0).function;
       first.stages.push_back(std::make_unique<fbs::StageT>(stage(m, 0)));
     }},
    {"stage 0: it has alternatives, specializations or stages of its own",
     [](auto& m) {
       fbs::FunctionT& first = *stage(m, 0).function;
       first.alternatives.push_back(std::make_unique<fbs::FunctionT>(first));
     }},
    {"function 'main': alternative 0: it has stages", [](auto& m) { m.alternative(); }},
};

TEST(VerifyProgram, NamesWhatIsBrokenOfStages) {
  const TestFolder folder;
  for (const Case& one : cases_of_stages) {
    ProgramMaker maker = small_program();
    maker.divide();
    ASSERT_TRUE(maker.write(folder / "p.so"));
    one.damage(maker);
    const Status status = maker.write(folder / "p.so");
    ASSERT_FALSE(status) << one.message;
    EXPECT_NE(status.error().message.find(one.message), std::string::npos) << status.error().message;
  }
}

TEST(VerifyProgram, ValuesBetweenStagesMayHaveAxes) {
  const TestFolder folder;
  ProgramMaker maker = small_program();
  maker.divide();
  stage(maker, 0).function->values[1]->axes = {0};
  stage(maker, 1).function->values[0]->axes = {0};
  const Status status = maker.write(folder / "p.so");
  EXPECT_TRUE(status) << status.error().message;
}

TEST(VerifyProgram, NamesWhatIsBroken) {
  const TestFolder folder;
  for (const Case& one : cases) {
    ProgramMaker maker = small_program();
    one.damage(maker);
    const Status status = maker.write(folder / "p.so");
    ASSERT_FALSE(status) << one.message;
    EXPECT_NE(status.error().message.find(one.message), std::string::npos) << status.error().message;
  }
}

TEST(VerifyProgram, AnOutputMayContinueAnInput) {
  const TestFolder folder;
  ProgramMaker maker = small_program();
  continued(maker);
  const Status status = maker.write(folder / "p.so");
  EXPECT_TRUE(status) << status.error().message;
}

TEST(VerifyProgram, ConstantsAndBlobsInTheTail) {
  ProgramMaker maker = small_program();
  auto constant = std::make_unique<fbs::ConstantT>();
  constant->dtype = 1;
  constant->dims = {4};
  constant->bytes = 16;
  maker.program.constants.push_back(std::move(constant));
  fbs::ConstantT& one = *maker.program.constants[0];
  for (auto& region : maker.program.regions) region->blob_offset = 64;
  EXPECT_TRUE(verify_program(maker.program, 64, 128));
  one.offset = 64;
  EXPECT_FALSE(verify_program(maker.program, 64, 128));
  one.offset = 0;
  one.bytes = 12;
  EXPECT_FALSE(verify_program(maker.program, 64, 128));
  one.bytes = 16;
  maker.program.regions[1]->blob_bytes = 65;
  EXPECT_FALSE(verify_program(maker.program, 64, 128));
  maker.program.regions[1]->blob_bytes = ~uint64_t{0};
  EXPECT_FALSE(verify_program(maker.program, 64, 128));
  maker.program.regions[1]->blob_bytes = 0;
  maker.program.regions[1]->blob_offset = 0;
  EXPECT_FALSE(verify_program(maker.program, 64, 128));
}

}  // namespace
}  // namespace intarsia::test
