#include "compile/measure_plans.h"

#include <algorithm>

#include "base/cpu_level.h"
#include "compile/emit_program.h"
#include "plan/choose/planning_sizes.h"
#include "plan/costs/plan_keys.h"
#include "translate/translate_node.h"

namespace intarsia {
namespace {

Result<TemporaryFile> write_plan(const PlanningProblem& problem, const Plan& plan,
                                 const CompiledRegions& regions, const CompileRequest& request) {
  TemporaryFile file = TRY(TemporaryFile::make("intarsia-plan"));
  CompileRequest to_file = request;
  to_file.program_path = file.path();
  to_file.dry_run = false;
  const std::string name = "main";
  const FunctionParts parts{name, problem, plan, regions, std::nullopt};
  TRY(write_described(TRY(describe_program({parts}, to_file)), to_file));
  return file;
}

/// Checks whether the model rounds numbers to steps as it runs. One that lies half-way between two goes to
/// either by its last digit, and every layer after it sees the difference (docs/precision.md).
bool quantizes(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.op.starts_with("QuantizeLinear") || node.op.starts_with("DynamicQuantize") ||
           node.op.starts_with("QLinear") || node.op.starts_with("QGemm") || node.op.starts_with("FakeQuant");
  });
}

/// Returns the tolerance for the narrowest numbers that the model computes in: backends keep more digits of
/// some intermediate values.
double tolerated_difference(const Graph& graph, const CompileRequest& request) {
  double tolerated = quantizes(graph) ? 0.3 : std::max(1e-3, rounding_tolerance(request.rounds_to));
  for (const Value& value : graph.values) {
    const DType dtype = value.type.dtype;
    if (!is_float(dtype) || dtype == DType::f32 || dtype == DType::f64) continue;
    const bool is_half = dtype == DType::f16 || dtype == DType::bf16;
    tolerated = std::max(tolerated, is_half ? rounding_tolerance(dtype) : 0.3);
  }
  return tolerated;
}

/// Trust in a plan's values: all from the framework that the model came from, all from our own backends, or
/// neither.
enum class Trust { none, own, original };

Trust trust_in(const PlanningProblem& problem, const Plan& plan) {
  const bool is_tensorflow_model = std::ranges::any_of(problem.graph.nodes, is_tensorflow);
  const std::string framework = is_tensorflow_model ? "tensorflow" : "onnxruntime";
  const auto runs_in = [&](const auto& is_wanted) {
    return std::ranges::all_of(plan.partition.regions, [&](const Region& region) {
      return is_wanted(problem.targets[region.target].backend->info());
    });
  };
  if (runs_in([&](const TargetInfo& info) { return info.name == framework; })) return Trust::original;
  const auto is_own = [](const TargetInfo& info) { return info.is_native() && !info.is_users_own; };
  return runs_in(is_own) ? Trust::own : Trust::none;
}

bool uses_stand_in(const PlanningProblem& problem, const Plan& plan) {
  return std::ranges::any_of(plan.partition.regions, [&](const Region& region) {
    return !problem.slots[problem.targets[region.target].slot].declared_times.empty();
  });
}

bool uses_framework(const PlanningProblem& problem, const Plan& plan) {
  return std::ranges::any_of(plan.partition.regions, [&](const Region& region) {
    return problem.targets[region.target].backend->info().needs_framework;
  });
}

/// Estimates the compile effort in nodes: generating code takes long, handing a region to a framework does
/// not.
double compiling_takes(const PlanningProblem& problem, const Plan& plan) {
  double nodes = 1;
  for (const Region& region : plan.partition.regions) {
    const bool is_handed_over = problem.targets[region.target].backend->info().needs_framework;
    nodes += is_handed_over ? 1 : static_cast<double>(region.nodes.size());
  }
  return nodes;
}

/// Drops the times of regions inside bodies, which are part of those of the plan's own.
void keep_times_of_plan(const Plan& plan, PlanTimes& times) {
  const size_t regions = plan.partition.regions.size();
  times.regions.resize(std::min(times.regions.size(), regions));
  std::erase_if(times.kernels, [&](const KernelTime& kernel) { return kernel.region >= regions; });
}

/// Progress of compiling plans, one part each, and then comparing them. The number of measurements is unknown
/// in advance, so each takes most of the progress that is left.
class Measurement {
 public:
  Measurement(RegionCompiler& compiler, const std::vector<const Plan*>& plans)
      : compiler_(compiler), all_(compiler.progress()) {
    all_.expect(1);
    own_ = all_.part(most);
    double compiling = 0;
    for (const Plan* plan : plans) compiling += compiling_takes(compiler.problem(), *plan);
    own_.expect(compiling + compiling * comparing_takes);
  }
  ~Measurement() { compiler_.set_progress(all_); }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  void begin(const Plan& plan) const {
    compiler_.set_progress(own_.part(compiling_takes(compiler_.problem(), plan)));
  }
  void compare() const { own_.begin("compare_plans"); }

 private:
  static constexpr double most = 0.8;
  static constexpr double comparing_takes = 0.2;  // fraction of the compile time
  RegionCompiler& compiler_;
  Progress all_, own_;
};

}  // namespace

Result<std::vector<Result<PlanTimes>>> measure_plans(const std::vector<const Plan*>& plans,
                                                     const PlanningProblem& problem,
                                                     RegionCompiler& compiler) {
  const CompileRequest& request = compiler.request();
  const CompileServices& services = compiler.services();
  const Measurement progress(compiler, plans);
  std::vector<Result<CompiledRegions>> compiled;
  for (const Plan* plan : plans) {
    progress.begin(*plan);
    compiled.push_back(compiler.compile_to_measure(*plan));
  }
  // An interruption says nothing about a plan.
  TRY(check_not_cancelled(services.observer));
  const auto may_go_on = [&] { return compiler.tuning().may_go_on(); };
  if (!may_go_on()) return fail("the time to measure is over (--tune-seconds)");
  // A failure here (a full disk) says nothing about a plan either. Files exist as briefly as possible.
  std::vector<TemporaryFile> files;
  TimingOptions options{.threads = request.threads,
                        .rtol = tolerated_difference(problem.graph, request),
                        .may_go_on = may_go_on};
  Trust most = Trust::none;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!compiled[i]) continue;
    if (uses_stand_in(problem, *plans[i])) options.stand_ins.insert(files.size());
    if (uses_framework(problem, *plans[i])) options.in_frameworks.insert(files.size());
    if (const Trust trust = trust_in(problem, *plans[i]); trust > most) {
      most = trust;
      options.trusted = files.size();
    }
    files.push_back(TRY(write_plan(problem, *plans[i], *compiled[i], request)));
  }
  progress.compare();
  std::vector<Result<PlanTimes>> timed = services.measuring.time_programs(std::move(files), options);
  TRY(check_not_cancelled(services.observer));
  std::vector<Result<PlanTimes>> results;
  auto next = timed.begin();
  for (size_t i = 0; i < plans.size(); ++i) {
    results.push_back(compiled[i] ? std::move(*next++) : tl::unexpected(compiled[i].error()));
    if (!results.back()) continue;
    compiler.accept_loaded(*plans[i]);
    keep_times_of_plan(*plans[i], *results.back());
  }
  return results;
}

std::optional<LinkCost> recall_link(const DeviceSlot& from, const DeviceSlot& to, RegionCompiler& compiler) {
  return compiler.tuning().costs()->find_link(link_key(from), link_key(to));
}

Result<LinkCost> measure_link(const DeviceSlot& from, const DeviceSlot& to, RegionCompiler& compiler) {
  const LinkCost link = TRY(compiler.services().measuring.time_link(from.device, to.device));
  compiler.tuning().costs()->add_link(link_key(from), link_key(to), link);
  return link;
}

std::string why_plans_are_not_measured(RegionCompiler& compiler) {
  if (!compiler.request().plan_path.empty()) return "the plan is given";
  if (compiler.request().keep_placement) return "the placement is to be kept";
  if (!compiler.tuning().disabled_reason().empty()) return compiler.tuning().disabled_reason();
  return compiler.services().measuring.time_programs ? "" : "nothing here can measure";
}

CostKey plan_conditions(const PlanningProblem& problem, const CompileRequest& request) {
  const Result<CodeTarget> cpu = resolve_cpu(request.cpu);
  CostKey conditions;
  conditions.code = fmt::format("{}, tune {}, intarsia {}{}", cpu ? cpu->text() : request.cpu,
                                request.tune == Tune::full ? "full" : "fast", INTARSIA_VERSION,
                                request.prefers_size ? ", for size" : "");
  conditions.threads = request.threads;
  conditions.precision = request.exact_math ? "exact" : "fast";
  if (request.rounds_to != DType::f32)
    conditions.precision += fmt::format(", {}", dtype_name(request.rounds_to));
  conditions.sizes = print_planned_sizes(problem.graph, "=", ",");
  return conditions;
}

}  // namespace intarsia
