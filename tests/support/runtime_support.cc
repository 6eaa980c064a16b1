#include "tests/support/runtime_support.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "compile/link_objects.h"
#include "program/verify_machine.h"
#include "program/write_program.h"

namespace intarsia::test {
namespace {

Status add(const RunContext& context, std::span<const ConstTensorView> constants) {
  const std::span<float> output = context.outputs[0].tensor.as<float>();
  for (size_t i = 0; i < output.size(); ++i) {
    float sum = 0;
    for (const Input& input : context.inputs) sum += input.tensor.as<float>()[i];
    for (const ConstTensorView& constant : constants) sum += constant.as<float>()[i];
    output[i] = sum;
  }
  return {};
}

Status append(const RunContext& context) {
  const std::span<const float> first = context.inputs[0].tensor.as<float>(),
                               second = context.inputs[1].tensor.as<float>();
  const std::span<float> output = context.outputs[0].tensor.as<float>();
  for (size_t i = 0; i < first.size() && output.data() != first.data(); ++i) output[i] = first[i] + 100;
  std::ranges::copy(second, output.begin() + std::ssize(first));
  return {};
}

void set_late(Output& output, const Tensor& tensor) {
  output.tensor = tensor.view();
  output.owner = tensor.owner();
}

Status positive(const RunContext& context) {
  std::vector<float> kept;
  for (float number : context.inputs[0].tensor.as<float>()) {
    if (number > 0) kept.push_back(number);
  }
  const Tensor made(DType::f32, {static_cast<int64_t>(kept.size())});
  std::ranges::copy(kept, made.as<float>().begin());
  set_late(context.outputs[0], made);
  return {};
}

Status twice_strings(const RunContext& context) {
  const auto from = context.inputs[0].tensor.as<std::string>();
  const auto to = context.outputs[0].tensor.as<std::string>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[i] + from[i];
  return {};
}

class ToyExecutable : public Executable {
 public:
  ToyExecutable(std::string blob, std::vector<ConstTensorView> constants, void* symbol)
      : blob_(std::move(blob)), constants_(std::move(constants)), symbol_(symbol) {}

  Status run(const RunContext& context) const override {
    if (blob_ == "add") return add(context, constants_);
    if (blob_ == "append") return append(context);
    if (blob_ == "positive") return positive(context);
    if (blob_ == "strings") return twice_strings(context);
    if (blob_ == "make") {
      context.outputs[0].owner = std::make_shared<Tensor>(context.inputs[0].tensor);
    } else if (blob_ == "open") {
      set_late(context.outputs[0], *static_cast<const Tensor*>(context.inputs[0].owner.get()));
    } else if (blob_ == "symbol") {
      context.outputs[0].tensor.as<float>()[0] = static_cast<float>(reinterpret_cast<int (*)()>(symbol_)());
    } else if (blob_ == "wrong") {
      set_late(context.outputs[0], Tensor(DType::i64, {1}));
    } else if (blob_ == "throw") {
      throw std::runtime_error("a bug");
    } else if (blob_ == "slow") {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return add(context, constants_);
    } else {
      return fail("on purpose");
    }
    return {};
  }

  bool appends(size_t input, size_t output) const override {
    return blob_ == "append" && input == 0 && output == 0;
  }

 private:
  std::string blob_;
  std::vector<ConstTensorView> constants_;
  void* symbol_;
};

Result<std::unique_ptr<Executable>> load(const LoadContext& context) {
  const std::string blob(reinterpret_cast<const char*>(context.blob.data()), context.blob.size());
  if (blob == "refuse") return fail("no such framework");
  void* symbol = blob == "symbol" ? context.symbol("intarsia_test_number") : nullptr;
  if (blob == "symbol" && symbol == nullptr) return fail("no symbol intarsia_test_number");
  return std::make_unique<ToyExecutable>(
      blob, std::vector(context.constants.begin(), context.constants.end()), symbol);
}

Result<OpaqueParts> unpack(const std::shared_ptr<void>& value, std::string_view) {
  return OpaqueParts{.is_sequence = true, .tensors = {*static_cast<const Tensor*>(value.get())}};
}

Result<std::shared_ptr<void>> pack(const OpaqueParts& parts, std::string_view) {
  if (!parts.is_sequence || parts.tensors.size() != 1) return fail("want a sequence of one tensor");
  return std::make_shared<Tensor>(parts.tensors[0].view());
}

}  // namespace

RunBackend toy_backend() { return {"toy", load, unpack, pack}; }

ProgramMaker::ProgramMaker() {
  program.arch = machine_arch();
  program.cpu = "x86-64";
  program.threads = 1;
  program.functions.push_back(std::make_unique<fbs::FunctionT>());
  function().name = "main";
  slot("cpu", "cpu", "cpu");
}

uint32_t ProgramMaker::slot(const std::string& name, const std::string& kind, const std::string& device) {
  auto made = std::make_unique<fbs::SlotT>();
  made->name = name;
  made->kind = kind;
  made->device = device;
  if (program.spaces.empty() || space_kind(kind) != host_space_kind) {
    auto space = std::make_unique<fbs::SpaceT>();
    space->name = name;
    space->kind = space_kind(kind);
    made->space = static_cast<uint32_t>(program.spaces.size());
    program.spaces.push_back(std::move(space));
    function().arena_bytes.push_back(0);
  }
  program.slots.push_back(std::move(made));
  return static_cast<uint32_t>(program.slots.size() - 1);
}

uint32_t ProgramMaker::value(const std::string& name, fbs::Storage storage, std::vector<int64_t> dims,
                             uint32_t slot, DType dtype) {
  auto made = std::make_unique<fbs::ValueT>();
  made->name = name;
  made->dtype = static_cast<uint8_t>(dtype);
  made->dims = std::move(dims);
  made->space = program.slots[slot]->space;
  made->storage = storage;
  function().values.push_back(std::move(made));
  return static_cast<uint32_t>(function().values.size() - 1);
}

uint32_t ProgramMaker::input(const std::string& name, std::vector<int64_t> dims, DType dtype) {
  function().inputs.push_back(value(name, fbs::Storage::input, std::move(dims), 0, dtype));
  return function().inputs.back();
}

uint32_t ProgramMaker::output(const std::string& name, std::vector<int64_t> dims, DType dtype) {
  function().outputs.push_back(value(name, fbs::Storage::output, std::move(dims), 0, dtype));
  return function().outputs.back();
}

uint32_t ProgramMaker::dynamic_output(const std::string& name, std::vector<int64_t> dims, DType dtype) {
  function().outputs.push_back(value(name, fbs::Storage::dynamic, std::move(dims), 0, dtype));
  return function().outputs.back();
}

uint32_t ProgramMaker::arena(const std::string& name, std::vector<int64_t> dims, uint32_t slot) {
  const uint64_t bytes = static_cast<uint64_t>(element_count(dims)) * sizeof(float);
  const uint32_t id = value(name, fbs::Storage::arena, std::move(dims), slot);
  uint64_t& end = function().arena_bytes[program.slots[slot]->space];
  function().values[id]->offset = end;
  end += round_up(bytes, tail_alignment);
  return id;
}

uint32_t ProgramMaker::constant(const std::vector<float>& numbers) {
  const Tensor& tensor = constants.emplace_back(DType::f32, Shape{static_cast<int64_t>(numbers.size())});
  std::ranges::copy(numbers, tensor.as<float>().begin());
  return static_cast<uint32_t>(constants.size() - 1);
}

void ProgramMaker::run(const std::string& blob, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs,
                       uint32_t slot, std::vector<uint32_t> region_constants) {
  auto region = std::make_unique<fbs::RegionT>();
  region->backend = "toy";
  region->slot = slot;
  region->constants = std::move(region_constants);
  program.regions.push_back(std::move(region));
  blobs.push_back(blob);
  auto step = std::make_unique<fbs::StepT>();
  step->kind = fbs::StepKind::run;
  step->region = static_cast<uint32_t>(program.regions.size() - 1);
  step->inputs = std::move(inputs);
  step->outputs = std::move(outputs);
  function().steps.push_back(std::move(step));
}

void ProgramMaker::copy(uint32_t from, uint32_t to) {
  auto step = std::make_unique<fbs::StepT>();
  step->kind = fbs::StepKind::copy;
  step->inputs = {from};
  step->outputs = {to};
  function().steps.push_back(std::move(step));
}

/// Returns a copy of the function that has copies of all regions.
std::unique_ptr<fbs::FunctionT> ProgramMaker::copy_function() {
  const auto first = static_cast<uint32_t>(program.regions.size());
  auto other = std::make_unique<fbs::FunctionT>(function());
  for (uint32_t i = 0; i < first; ++i) {
    program.regions.push_back(std::make_unique<fbs::RegionT>(*program.regions[i]));
    blobs.push_back(blobs[i]);
  }
  for (const auto& step : other->steps) {
    if (step->kind == fbs::StepKind::run) step->region += first;
  }
  return other;
}

uint32_t ProgramMaker::alternative() {
  const auto first = static_cast<uint32_t>(program.regions.size());
  function().alternatives.push_back(copy_function());
  program.needs.emplace_back(alternatives_feature);
  return first;
}

uint32_t ProgramMaker::specialization(uint64_t min, uint64_t max) {
  const auto first = static_cast<uint32_t>(program.regions.size());
  std::unique_ptr<fbs::FunctionT> other = copy_function();
  other->alternatives.clear();
  other->specializations.clear();
  auto range = std::make_unique<fbs::SymbolRangeT>();
  range->min = min;
  range->max = max;
  other->ranges.push_back(std::move(range));
  function().specializations.push_back(std::move(other));
  return first;
}

void ProgramMaker::divide() {
  const fbs::FunctionT& whole = function();
  std::vector<std::unique_ptr<fbs::StageT>> stages;
  for (const auto& step : whole.steps) {
    auto stage = std::make_unique<fbs::StageT>();
    stage->executors = {"cpu"};
    stage->function = std::make_unique<fbs::FunctionT>();
    fbs::FunctionT& part = *stage->function;
    part.name = "stage" + std::to_string(stages.size());
    part.arena_bytes.resize(program.spaces.size());
    auto alone = std::make_unique<fbs::StepT>(*step);
    const auto take = [&](uint32_t& id, fbs::Storage storage, std::vector<uint32_t>& boundary) {
      auto value = std::make_unique<fbs::ValueT>(*whole.values[id]);
      if (value->storage != fbs::Storage::dynamic || storage == fbs::Storage::input) value->storage = storage;
      value->offset = 0;
      id = static_cast<uint32_t>(part.values.size());
      part.values.push_back(std::move(value));
      boundary.push_back(id);
    };
    for (uint32_t& id : alone->inputs) take(id, fbs::Storage::input, part.inputs);
    for (uint32_t& id : alone->outputs) take(id, fbs::Storage::output, part.outputs);
    part.steps.push_back(std::move(alone));
    stages.push_back(std::move(stage));
  }
  function().stages = std::move(stages);
}

void ProgramMaker::note(const std::string& node, const std::string& op, uint32_t region) {
  auto made = std::make_unique<fbs::NodeNoteT>();
  made->name = node;
  made->op = op;
  made->region = region;
  program.nodes.push_back(std::move(made));
}

Status ProgramMaker::write(const std::string& path) const {
  static const std::string empty = link_objects({}, machine_arch()).value();
  std::vector<TensorView> views;
  for (const Tensor& tensor : constants) views.push_back(tensor.view());
  fbs::ProgramT laid_out = program;
  const ConstantLayout layout = lay_out_constants(laid_out, views);
  TRY(write_program(path, elf.empty() ? empty : elf, laid_out, layout, blobs));
  return {};
}

namespace {

/// Makes the size of a value the open size N.
uint32_t make_open(ProgramMaker& m, uint32_t value) {
  m.function().values[value]->dims = {-1};
  m.function().values[value]->sizes = {1};
  return value;
}

}  // namespace

ProgramMaker open_chain(uint64_t largest) {
  ProgramMaker m;
  fbs::FunctionT& function = m.function();
  function.symbols.push_back(std::make_unique<fbs::SymbolT>());
  function.symbols[0]->name = "N";
  function.symbols[0]->max = largest;
  function.sizes.push_back(std::make_unique<fbs::SizeT>());
  function.sizes[0]->ops = {fbs::SizeOp::symbol};
  function.sizes[0]->operands = {0};
  m.program.needs.emplace_back("symbols");
  const uint32_t x = make_open(m, m.input("x", {1})), y = make_open(m, m.output("y", {1}));
  uint32_t last = x;
  for (const char* name : {"a", "b", "c"}) {
    const uint32_t next = make_open(m, m.value(name, fbs::Storage::bound, {1}));
    m.run("add", {last, last}, {next});
    last = next;
  }
  m.run("add", {last, last}, {y});
  return m;
}

ProgramMaker small_program() {
  ProgramMaker maker;
  const uint32_t x = maker.input("x", {4});
  const uint32_t y = maker.output("y", {4});
  const uint32_t t = maker.arena("t", {4});
  const uint32_t one = maker.constant({1, 1, 1, 1});
  maker.run("add", {x}, {t}, 0, {one});
  maker.run("add", {t, x}, {y});
  maker.note("inc", "Add", 0);
  maker.note("sum", "Add", 1);
  return maker;
}

NamedTensor floats(std::string_view name, Floats& numbers, Shape shape) {
  if (shape.empty()) shape = {static_cast<int64_t>(numbers.size())};
  return {name, TensorView{numbers.data(), DType::f32, std::move(shape)}, nullptr};
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace intarsia::test
