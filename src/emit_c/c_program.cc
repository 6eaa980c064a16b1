#include "emit_c/c_program.h"

#include <algorithm>
#include <cmath>

#include "base/arena_plan.h"
#include "base/postfix_size.h"
#include "base/requested_shape.h"
#include "emit_c/c_text.h"
#include "program/program.h"

namespace intarsia {
namespace {

constexpr uint64_t slack_bytes = 64;  // kernels may read a vector past the end

Dim dim_of(const fbs::FunctionT& function, const fbs::SizeT& size) {
  std::vector<Dim> stack;
  auto operand = size.operands.begin();
  for (const fbs::SizeOp op : size.ops) {
    if (op == fbs::SizeOp::number) {
      stack.emplace_back(*operand++);
      continue;
    }
    if (op == fbs::SizeOp::symbol) {
      stack.push_back(Dim::named(function.symbols[static_cast<size_t>(*operand++)]->name));
      continue;
    }
    const Dim b = stack.back();
    stack.pop_back();
    Dim& a = stack.back();
    a = op == fbs::SizeOp::add         ? a + b
        : op == fbs::SizeOp::multiply  ? a * b
        : op == fbs::SizeOp::floor_div ? floor_div(a, b)
        : op == fbs::SizeOp::smaller   ? smaller_of(a, b)
                                       : larger_of(a, b);
  }
  return stack.back();
}

struct Greatest {
  uint64_t bytes = 0;
  bool is_of_all = true;  // no size in the ranges gives more
};

/// Finds the greatest number of bytes for sizes in their ranges: all of them, or some where they are many;
/// nullopt if other sizes count, too, or some number is too large.
std::optional<Greatest> find_greatest(const Dim& bytes, const std::vector<CSymbol>& symbols) {
  constexpr int64_t most_points = 1 << 16;
  std::vector<const CSymbol*> used;
  for (const std::string& name : bytes.symbols()) {
    const auto symbol = std::ranges::find(symbols, name, &CSymbol::name);
    if (symbol == symbols.end()) return std::nullopt;
    used.push_back(&*symbol);
  }
  if (!bytes.is_known()) return std::nullopt;
  const PostfixSize postfix = to_postfix(bytes, [&](const std::string& name) {
    return std::ranges::find(used, name, &CSymbol::name) - used.begin();
  });
  if (!verify_postfix(postfix.view(), used.size())) return std::nullopt;
  Greatest greatest;
  std::vector<int64_t> steps, sizes;
  int64_t left = most_points;
  for (size_t i = 0; i < used.size(); ++i) {
    // Those that are left share the points.
    const auto share = static_cast<int64_t>(std::pow(left, 1.0 / static_cast<double>(used.size() - i)) + 0.5);
    const int64_t range = used[i]->max - used[i]->min;
    steps.push_back(range / share + 1);
    left = std::max<int64_t>(left / (range / steps.back() + 1), 1);
    greatest.is_of_all = greatest.is_of_all && steps.back() == 1;
    sizes.push_back(used[i]->max);
  }
  for (;;) {
    const Result<int64_t> value = evaluate_postfix(postfix.view(), sizes);
    if (!value) return std::nullopt;
    greatest.bytes = std::max(greatest.bytes, static_cast<uint64_t>(std::max<int64_t>(*value, 0)));
    size_t i = 0;
    while (i < sizes.size() && sizes[i] - steps[i] < used[i]->min) sizes[i] = used[i]->max, ++i;
    if (i == sizes.size()) return greatest;
    sizes[i] -= steps[i];
  }
}

/// Builder of one function.
class FunctionMaker {
 public:
  FunctionMaker(const EmittedProgram& emitted, const fbs::FunctionT& function, std::string prefix,
                const EmitCOptions& options)
      : emitted_(emitted), function_(function), options_(options) {
    made_.function = &function;
    made_.name = function.name;
    made_.prefix = std::move(prefix);
  }

  Result<CFunction> make() {
    TRY(add_arguments());
    TRY(check_steps());
    TRY(place_memory());
    return std::move(made_);
  }

 private:
  Status add_arguments() {
    CScope input_scope(options_.names), output_scope(options_.names);
    for (const auto& symbol : function_.symbols) {
      CSymbol to{symbol->name, TRY(input_scope.add("size", symbol->name)), static_cast<int64_t>(symbol->min),
                 static_cast<int64_t>(symbol->max)};
      if (!SizeRange{to.min, to.max}.has_end())
        return fail(
            ErrorKind::unsupported,
            "the size '{}' of function '{}' has no largest value, and the memory of plain C is fixed: give "
            "a range with --shape, as in --shape {}=1..32x...",
            symbol->name, function_.name, first_input());
      most_[symbol->name] = Dim(to.max);
      made_.symbols.push_back(std::move(to));
    }
    for (uint32_t input : function_.inputs)
      made_.inputs.push_back(TRY(make_argument("input", input, input_scope)));
    for (uint32_t output : function_.outputs)
      made_.outputs.push_back(TRY(make_argument("output", output, output_scope)));
    return {};
  }

  std::string first_input() const {
    return function_.inputs.empty() ? "INPUT" : function_.values[function_.inputs[0]]->name;
  }

  Result<CArgument> make_argument(const char* what, uint32_t number, CScope& scope) const {
    const fbs::ValueT& value = *function_.values[number];
    CArgument to{number, value.name, TRY(scope.add(what, value.name)), static_cast<DType>(value.dtype),
                 sizes_of_value(function_, value)};
    if (*c_type(to.dtype) == '\0')
      return fail(ErrorKind::unsupported,
                  "{} '{}' of function '{}' has type {}, which plain C has not: convert it in the model",
                  what, value.name, function_.name,
                  value.dtype == 0 ? "of a sequence" : dtype_name(to.dtype));
    to.most_bytes = TRY(most_bytes(value));
    return to;
  }

  /// Returns the bytes of a value with open sizes at the ends of their ranges.
  Result<uint64_t> most_bytes(const fbs::ValueT& value) const {
    const Dim most = bytes_of(value).substitute(most_);
    if (!value.rank_unknown && most.is_number() && most.number() >= 0)
      return static_cast<uint64_t>(most.number());
    return fail(ErrorKind::unsupported,
                "'{}' of function '{}' has as many elements as data say, and the memory of plain C is fixed: "
                "cut the model before it",
                value.name, function_.name);
  }

  Dim bytes_of(const fbs::ValueT& value) const {
    Dim bytes = static_cast<int64_t>(dtype_bytes(static_cast<DType>(value.dtype), 1));
    for (const Dim& size : sizes_of_value(function_, value)) bytes = bytes * size;
    return bytes;
  }

  /// Checks that plain C can make all steps.
  Status check_steps() const {
    for (const auto& step : function_.steps) {
      if (has_bodies(*step))
        return fail(
            ErrorKind::unsupported,
            "function '{}' branches or loops to make '{}', which plain C does not do yet: cut the model "
            "there, or compile without --emit c",
            function_.name, function_.values[step->outputs[0]]->name);
      if (step->kind != fbs::StepKind::run) continue;
      const auto& calls = emitted_.regions[step->region];
      const std::string& backend = emitted_.program.regions[step->region]->backend;
      if (calls != nullptr && calls->why_not.empty()) continue;
      return fail(ErrorKind::unsupported, "function '{}' makes '{}' with {}, {}: {}", function_.name,
                  function_.values[step->outputs[0]]->name, backend,
                  calls == nullptr ? "whose code needs a runtime" : calls->why_not,
                  "cut the model there, or compile without --emit c");
    }
    return {};
  }

  /// Places what has open sizes behind the arena of what has not.
  Status place_memory() {
    made_.arena_bytes =
        round_up(function_.arena_bytes.empty() ? 0 : function_.arena_bytes[host_space], tail_alignment);
    std::vector<Lifetime> tenants;
    std::vector<uint64_t*> offsets;
    std::map<uint32_t, size_t> tenant_of;
    made_.workspaces.resize(function_.steps.size());
    const auto add = [&](uint64_t bytes, int step, uint64_t& offset) {
      tenants.push_back({bytes, step, step});
      offsets.push_back(&offset);
    };
    for (size_t s = 0; s < function_.steps.size(); ++s) {
      const fbs::StepT& step = *function_.steps[s];
      const int number = static_cast<int>(s);
      for (uint32_t input : step.inputs)
        if (const auto known = tenant_of.find(input); known != tenant_of.end())
          tenants[known->second].last = number;
      for (uint32_t output : step.outputs) {
        const fbs::ValueT& value = *function_.values[output];
        if (value.storage == fbs::Storage::arena) made_.places[output] = value.offset;
        if (value.storage != fbs::Storage::bound && value.storage != fbs::Storage::dynamic) continue;
        tenant_of[output] = tenants.size();
        const uint64_t room = TRY(most_bytes(value));
        made_.limits.emplace_back(bytes_of(value), room);
        add(room + slack_bytes, number, made_.places[output]);
      }
      if (step.kind != fbs::StepKind::run) continue;
      CWorkspace& workspace = made_.workspaces[s];
      workspace.begin = step.workspace_offset;
      const uint64_t bytes = TRY(place_parts(*emitted_.regions[step.region], workspace));
      if (bytes > 0) add(bytes, number, workspace.begin);
    }
    const ArenaPlan plan = plan_arena(tenants);
    for (size_t i = 0; i < offsets.size(); ++i) *offsets[i] = made_.arena_bytes + plan.offsets[i];
    made_.arena_bytes += round_up(plan.bytes, tail_alignment);
    return {};
  }

  /// Places the parts of a workspace from its beginning; returns the bytes of what is not in the function's
  /// arena already.
  Result<uint64_t> place_parts(const RegionCalls& calls, CWorkspace& workspace) {
    if (calls.is_placed) return 0;
    std::vector<Lifetime> parts;
    for (const CallWorkspace& part : calls.workspace) {
      const std::optional<Greatest> most = find_greatest(part.bytes, made_.symbols);
      if (!most)
        return fail(ErrorKind::unsupported,
                    "function '{}' needs memory that depends on data, and that of plain C is fixed: cut the "
                    "model there",
                    function_.name);
      if (!most->is_of_all) made_.limits.emplace_back(part.bytes, most->bytes);
      workspace.rooms.push_back(most->bytes);
      parts.push_back({most->bytes + slack_bytes, part.first, part.last});
    }
    const ArenaPlan plan = plan_arena(parts);
    workspace.parts.assign(plan.offsets.begin(), plan.offsets.end());
    return plan.bytes;
  }

  const EmittedProgram& emitted_;
  const fbs::FunctionT& function_;
  const EmitCOptions& options_;
  std::map<std::string, Dim> most_;  // largest sizes, by symbol
  CFunction made_;
};

}  // namespace

SymbolicShape sizes_of_value(const fbs::FunctionT& function, const fbs::ValueT& value) {
  SymbolicShape sizes;
  for (size_t i = 0; i < value.dims.size(); ++i) {
    const uint32_t expression = value.sizes.empty() ? 0 : value.sizes[i];
    sizes.push_back(value.dims[i] >= 0 ? Dim(value.dims[i])
                    : expression == 0  ? Dim::unknown()
                                       : dim_of(function, *function.sizes[expression - 1]));
  }
  return sizes;
}

Result<CProgram> make_c_program(const EmittedProgram& emitted, const std::string& prefix,
                                const EmitCOptions& options) {
  CProgram program{prefix, {}};
  CScope scope(options.names);
  for (const auto& function : emitted.program.functions) {
    const bool is_only = emitted.program.functions.size() == 1;
    const std::string identifier = is_only ? "" : TRY(scope.add("function", function->name));
    program.functions.push_back(
        TRY(FunctionMaker(emitted, *function, is_only ? prefix : prefix + "_" + identifier, options).make()));
  }
  return program;
}

}  // namespace intarsia
