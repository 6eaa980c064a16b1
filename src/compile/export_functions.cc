#include "compile/export_functions.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/bytes.h"
#include "base/cpu_level.h"
#include "compile/link_objects.h"
#include "compile/size_table.h"
#include "program/verify_machine.h"
#include "program/write_program.h"

namespace intarsia {
namespace {

constexpr int64_t usual_size = 128;  // elements along an open axis, for whoever needs some size

/// Sets the sizes that the function is to be fastest at. Errors: one is less than the function takes.
Status set_tuned_sizes(const CompileRequest& request, UserFunction& function) {
  for (FunctionSize& size : function.open_sizes) {
    const auto given = std::ranges::find(request.tune_at, size.name, &TunedSizes::symbol);
    size.tuned = given == request.tune_at.end() ? std::vector{size.min + usual_size} : given->sizes;
    for (int64_t number : size.tuned) {
      if (number < size.min) return fail("--tune-at {}={}: it is at least {}", size.name, number, size.min);
    }
  }
  return {};
}

/// Checks that each size that the request names is one of some function.
Status check_tuned_sizes(const CompileRequest& request, const fbs::ProgramT& program) {
  std::set<std::string> known;
  for (const auto& function : program.functions) {
    for (const auto& symbol : function->symbols) known.insert(symbol->name);
  }
  for (const TunedSizes& tuned : request.tune_at) {
    if (!known.contains(tuned.symbol))
      return fail("--tune-at {}: no open size of this name; the functions have: {}", tuned.symbol,
                  fmt::join(known, ", "));
  }
  return {};
}

Status check_names(std::span<const FunctionObject> functions) {
  if (functions.empty()) return fail("got no function to export, want at least one");
  std::set<std::string> seen;
  for (const FunctionObject& function : functions) {
    const bool is_name = !function.name.empty() && std::ranges::all_of(function.name, [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_';
    });
    if (!is_name) return fail("function '{}': want a name of letters, digits and underscores", function.name);
    if (!seen.insert(function.name).second) return fail("two functions are named '{}'", function.name);
  }
  return {};
}

/// Adds a function's arguments, one after the other, as the values of a program's function.
class ArgumentAdder {
 public:
  ArgumentAdder(const UserFunction& from, fbs::FunctionT& to) : to_(to), sizes_(open_sizes(from), to) {
    for (const FunctionSize& size : from.open_sizes) tuned_.emplace(size.name, Dim(size.tuned.front()));
  }

  uint32_t add(const FunctionArgumentInfo& argument, fbs::Storage storage) {
    ValueType type;
    type.dtype = argument.dtype;
    type.shape = argument.shape;
    auto value = std::make_unique<fbs::ValueT>();
    value->name = argument.name;
    value->dtype = static_cast<uint8_t>(argument.dtype);
    value->storage = storage;
    for (const Dim& size : argument.shape) value->dims.push_back(size.is_number() ? size.number() : -1);
    sizes_.describe(type, *value);
    if (storage == fbs::Storage::input && !type.fixed_shape()) {
      for (const Dim& size : argument.shape) value->tuned_dims.push_back(size.substitute(tuned_).number());
    }
    to_.values.push_back(std::move(value));
    return static_cast<uint32_t>(to_.values.size() - 1);
  }

 private:
  static Graph open_sizes(const UserFunction& function) {
    Graph graph;
    for (const FunctionSize& size : function.open_sizes)
      graph.open_sizes.push_back({size.name, {size.min, SizeRange::limit}, size.tuned});
    return graph;
  }

  fbs::FunctionT& to_;
  SizeTable sizes_;
  std::map<std::string, Dim> tuned_;
};

std::unique_ptr<fbs::FunctionT> make_function(const std::string& name, const UserFunction& from,
                                              uint32_t region) {
  auto function = std::make_unique<fbs::FunctionT>();
  function->name = name;
  function->arena_bytes = {0};
  ArgumentAdder values(from, *function);
  for (const FunctionArgumentInfo& input : from.inputs)
    function->inputs.push_back(values.add(input, fbs::Storage::input));
  for (const FunctionArgumentInfo& output : from.outputs)
    function->outputs.push_back(values.add(output, fbs::Storage::output));
  auto step = std::make_unique<fbs::StepT>();
  step->region = region;
  step->inputs = function->inputs;
  step->outputs = function->outputs;
  function->steps.push_back(std::move(step));
  return function;
}

/// Adds the only slot of such a program.
void add_processor(fbs::ProgramT& program) {
  auto space = std::make_unique<fbs::SpaceT>();
  space->name = "cpu";
  space->kind = host_space_kind;
  program.spaces.push_back(std::move(space));
  auto slot = std::make_unique<fbs::SlotT>();
  slot->name = slot->kind = slot->device = "cpu";
  program.slots.push_back(std::move(slot));
}

void add_function(const std::string& name, const std::string& backend, const UserFunction& function,
                  fbs::ProgramT& program) {
  const auto number = static_cast<uint32_t>(program.regions.size());
  auto region = std::make_unique<fbs::RegionT>();
  region->backend = backend;
  program.regions.push_back(std::move(region));
  program.functions.push_back(make_function(name, function, number));
  auto note = std::make_unique<fbs::NodeNoteT>();
  note->name = name;
  note->op = "function";
  note->region = number;
  note->reason = "a user's function";
  program.nodes.push_back(std::move(note));
  program.cpu = std::max(program.cpu, function.cpu);  // levels differ in their last digit
  if (!function.open_sizes.empty()) program.needs = {std::string(symbols_feature)};
}

}  // namespace

Status export_functions(std::span<const FunctionObject> functions, const FunctionCompiler& compiler,
                        const CompileRequest& request) {
  TRY(check_names(functions));
  std::vector<std::string> objects = compiler.objects, blobs;
  for (const FunctionObject& function : functions) objects.push_back(function.object);
  const std::string elf = TRY(link_objects(objects, machine_arch(), Libraries::mathematics));
  const LoadedCode code = TRY(LoadedCode::load(as_bytes(std::string_view(elf)), "functions"));
  fbs::ProgramT program;
  add_processor(program);
  for (const FunctionObject& function : functions) {
    const std::string symbol = std::string(user_function_prefix) + function.name;
    UserFunction described =
        TRY(with_context(compiler.describe(code, symbol), "function '{}'", function.name));
    TRY(with_context(set_tuned_sizes(request, described), "function '{}'", function.name));
    add_function(function.name, compiler.backend, described, program);
    blobs.push_back(std::move(described.blob));
  }
  TRY(check_tuned_sizes(request, program));
  program.arch = machine_arch();
  program.threads = static_cast<uint32_t>(request.threads);
  program.cpu_features = features_of_cpu_level(program.cpu);
  TRY(write_program(request.program_path, elf, program, lay_out_constants(program, {}), blobs));
  return {};
}

}  // namespace intarsia
