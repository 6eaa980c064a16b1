#include "report/report.h"

#include <nlohmann/json.hpp>

#include "compile/device_choice.h"

namespace intarsia {
namespace {

using Json = nlohmann::ordered_json;

/// Prints JSON. Names come from files: bytes that are not UTF-8 become a replacement character.
std::string to_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

Json number_or_null(std::optional<uint64_t> number) { return number ? Json(*number) : Json(nullptr); }

/// Returns numbers, expressions for open sizes, and null for those that are known only after a run.
Json shape_json(const std::optional<SymbolicShape>& shape) {
  if (!shape) return nullptr;
  Json sizes = Json::array();
  for (const Dim& size : *shape) {
    if (size.is_number())
      sizes.push_back(size.number());
    else
      sizes.push_back(size.is_known() ? Json(size.print()) : Json(nullptr));
  }
  return sizes;
}

Json ports_json(const std::vector<ExplainedPort>& ports) {
  Json list = Json::array();
  for (const ExplainedPort& port : ports) {
    list.push_back({{"name", port.name}, {"dtype", port.dtype}, {"shape", shape_json(port.shape)}});
  }
  return list;
}

Json memory_json(const ExplainedSlot& slot) {
  const auto bytes = [&](uint64_t MemoryUse::* part) {
    return slot.memory ? Json((*slot.memory).*part) : Json(nullptr);
  };
  Json peak = Json::array();
  for (const LiveValue& value : slot.memory ? slot.memory->peak : std::vector<LiveValue>())
    peak.push_back({{"node", value.node}, {"bytes", value.bytes}});
  return {
      {"constants_bytes", bytes(&MemoryUse::constants)},
      {"arena_bytes", bytes(&MemoryUse::arena)},
      {"limit_bytes", number_or_null(slot.memory_limit)},
      {"peak", peak.empty() ? Json(nullptr) : peak},
      {"scratch_bytes", peak.empty() ? Json(nullptr) : Json(slot.memory->scratch)},
      {"stack_bytes", peak.empty() || slot.memory->stack == 0 ? Json(nullptr) : Json(slot.memory->stack)}};
}

Json slots_json(const Explanation& explanation) {
  Json list = Json::array();
  for (const ExplainedSlot& slot : explanation.slots) {
    list.push_back({{"name", slot.name},
                    {"kind", slot.kind},
                    {"device", slot.device},
                    {"cores", slot.cores.empty() ? Json(nullptr) : Json(slot.cores)},
                    {"memory", memory_json(slot)}});
  }
  return list;
}

Json devices_json(const CompiledFunction& function, const CompileRequest& request) {
  Json list = Json::array();
  for (const DeviceChoice& choice : explain_devices(function, request)) {
    list.push_back({{"device", choice.device},
                    {"slot", choice.slot.empty() ? Json(nullptr) : Json(choice.slot)},
                    {"regions", choice.regions},
                    {"why_not", choice.why_not.empty() ? Json(nullptr) : Json(choice.why_not)}});
  }
  return list;
}

Json symbols_json(const Explanation& explanation) {
  Json list = Json::array();
  for (const SymbolBinding& symbol : explanation.symbols) {
    list.push_back({{"symbol", symbol.symbol},
                    {"value", symbol.value},
                    {"by_default", symbol.by_default},
                    {"pinned_by", symbol.pinned_by.empty() ? Json(nullptr) : Json(symbol.pinned_by)}});
  }
  return list;
}

Json open_sizes_json(const Explanation& explanation) {
  Json list = Json::array();
  for (const OpenSize& size : explanation.open_sizes)
    list.push_back(
        {{"symbol", size.name}, {"min", size.range.min}, {"max", size.range.max}, {"tuned", size.tuned}});
  return list;
}

Json milliseconds_or_null(std::optional<int64_t> nanoseconds) {
  return nanoseconds ? Json(static_cast<double>(*nanoseconds) / 1e6) : Json(nullptr);
}

Json regions_json(const Explanation& explanation) {
  Json list = Json::array();
  for (size_t r = 0; r < explanation.regions.size(); ++r) {
    const ExplainedRegion& region = explanation.regions[r];
    Json names = Json::array();
    for (size_t node : region.nodes) names.push_back(explanation.nodes[node].name);
    list.push_back({{"id", r},
                    {"target", region.target},
                    {"nodes", region.nodes.size()},
                    {"source_nodes", std::move(names)},
                    {"kernels", region.kernels ? Json(*region.kernels) : Json(nullptr)},
                    {"outputs", ports_json(region.outputs)},
                    {"constants_bytes", region.constants_bytes},
                    {"flops", number_or_null(region.flops)},
                    {"predicted_ms", milliseconds_or_null(region.predicted)},
                    {"measured_ms", milliseconds_or_null(region.measured)}});
  }
  return list;
}

Json copies_json(const Explanation& explanation) {
  Json list = Json::array();
  for (const ExplainedCopy& copy : explanation.copies) {
    list.push_back(
        {{"value", copy.value}, {"from", copy.from}, {"to", copy.to}, {"bytes", number_or_null(copy.bytes)}});
  }
  return list;
}

Json alternatives_json(const Explanation& explanation) {
  Json list = Json::array();
  for (const ExplainedAlternative& alternative : explanation.alternatives)
    list.push_back(
        {{"targets", alternative.targets}, {"measured_ms", milliseconds_or_null(alternative.measured)}});
  return list;
}

Json specializations_json(const Explanation& explanation) {
  Json list = Json::array();
  for (const ExplainedSpecialization& one : explanation.specializations) {
    Json sizes = Json::object();
    for (const auto& [name, size] : one.sizes) sizes[name] = size;
    list.push_back({{"symbol", one.size.name},
                    {"min", one.size.range.min},
                    {"max", one.size.range.max},
                    {"targets", one.targets},
                    {"measured_at", std::move(sizes)},
                    {"measured_ms", milliseconds_or_null(one.measured)}});
  }
  return list;
}

Json stages_json(const Explanation& explanation) {
  Json list = Json::array();
  for (const ExplainedStage& stage : explanation.stages)
    list.push_back({{"slot", stage.slot},
                    {"executors", stage.executors},
                    {"frames", stage.frames},
                    {"regions", stage.regions},
                    {"inputs", stage.inputs},
                    {"outputs", stage.outputs},
                    {"predicted_ms", milliseconds_or_null(stage.predicted)},
                    {"measured_ms", milliseconds_or_null(stage.measured)}});
  return list;
}

/// Outcome of choosing stages.
Json throughput_json(const CompiledFunction& function) {
  if (!function.stage_report) return nullptr;
  const StageReport& report = *function.stage_report;
  const auto interval_json = [&](std::optional<int64_t> ChosenStage::* time) {
    const int64_t interval = StageReport::interval(function.chosen.stages, time);
    return interval == never ? Json(nullptr) : milliseconds_or_null(interval);
  };
  Json compared = Json::array();
  for (const ComparedStages& one : report.compared)
    compared.push_back({{"name", one.name}, {"predicted_ms", milliseconds_or_null(one.nanoseconds)}});
  return {{"chosen", report.chosen},
          {"predicted_ms", interval_json(&ChosenStage::predicted)},
          {"measured_ms", interval_json(&ChosenStage::measured)},
          {"bound_ms", milliseconds_or_null(report.lower_bound)},
          {"compared", std::move(compared)},
          {"nudged", report.nudged},
          {"guessed_reason", report.guessed_reason.empty() ? Json(nullptr) : Json(report.guessed_reason)}};
}

Json size_json(const std::optional<ProgramSize>& size) {
  if (!size) return nullptr;
  Json growths = Json::array(), alternatives = Json::array(), specializations = Json::array();
  for (const auto& [why, bytes] : size->growths) growths.push_back({{"why", why}, {"bytes", bytes}});
  for (const auto& [targets, bytes] : size->alternatives)
    alternatives.push_back({{"targets", targets}, {"weights_bytes", bytes}});
  for (const auto& [targets, bytes] : size->specializations)
    specializations.push_back({{"targets", targets}, {"weights_bytes", bytes}});
  return {{"program_bytes", size->program},
          {"weights_bytes", size->weights},
          {"growths", std::move(growths)},
          {"alternatives", std::move(alternatives)},
          {"specializations", std::move(specializations)},
          {"variants_bytes", size->variants},
          {"code_bytes", size->code},
          {"description_bytes", size->description},
          {"text", print_size(*size)}};
}

Json plain_c_json(const std::optional<CEmission>& emission) {
  if (!emission) return nullptr;
  const auto list = [](const auto& named) {
    Json identifiers = Json::array();
    for (const auto& one : named) identifiers.push_back({{"name", one.name}, {"identifier", one.identifier}});
    return identifiers;
  };
  Json functions = Json::array();
  for (const CFunction& function : emission->program.functions)
    functions.push_back({{"name", function.name},
                         {"identifier", function.prefix},
                         {"inputs", list(function.inputs)},
                         {"outputs", list(function.outputs)},
                         {"sizes", list(function.symbols)},
                         {"arena_bytes", function.steps.arena_bytes}});
  const CSizes& sizes = emission->sizes;
  return {{"files", emission->files},
          {"functions", functions},
          {"ram_bytes",
           {{"arena", sizes.arena}, {"stack", sizes.stack == 0 ? Json(nullptr) : Json(sizes.stack)}}},
          {"flash_bytes", {{"code", sizes.code}, {"data", sizes.data}, {"constants", sizes.constants}}},
          {"largest_kernel", {{"name", sizes.largest_kernel}, {"bytes", sizes.largest_kernel_bytes}}}};
}

Json variants_json(const std::vector<ProgramVariant>& variants) {
  if (variants.empty()) return nullptr;
  Json list = Json::array();
  for (const ProgramVariant& variant : variants)
    list.push_back({{"cpu", variant.cpu},
                    {"features", variant.features},
                    {"precision", variant.precision.empty() ? "f32" : variant.precision},
                    {"runs_here", variant.why_not.empty()},
                    {"taken", variant.is_taken},
                    {"why_not", variant.why_not.empty() ? Json(nullptr) : Json(variant.why_not)}});
  return list;
}

/// Times by target: {"halide@cpu": 0.12, "onnxruntime@cpu": null}.
Json times_json(const Explanation& explanation, const std::vector<std::optional<int64_t>>& times) {
  Json json = Json::object();
  for (size_t t = 0; t < times.size(); ++t) json[explanation.targets[t]] = milliseconds_or_null(times[t]);
  return json;
}

Json segments_json(const Explanation& explanation) {
  Json list = Json::array();
  for (const ExplainedSegment& segment : explanation.segments) {
    Json names = Json::array();
    for (size_t node : segment.nodes) names.push_back(explanation.nodes[node].name);
    list.push_back({{"source_nodes", std::move(names)},
                    {"ms", times_json(explanation, segment.times)},
                    {"move_ms", times_json(explanation, segment.moves)}});
  }
  return list;
}

Json plans_json(const Explanation& explanation) {
  Json list = Json::array();
  for (const ExplainedPlan& plan : explanation.plans)
    list.push_back({{"name", plan.name},
                    {"measured_ms", milliseconds_or_null(plan.nanoseconds)},
                    {"predicted_ms", milliseconds_or_null(plan.predicted)}});
  return list;
}

Json nodes_json(const Explanation& explanation) {
  Json list = Json::array();
  for (const ExplainedNode& node : explanation.nodes) {
    list.push_back({{"name", node.name},
                    {"op", node.op},
                    {"target", explanation.regions[node.region].target},
                    {"region", node.region},
                    {"reason", node.reason},
                    {"refusals", node.refusals},
                    {"could_run", node.takers.empty() ? Json(nullptr) : Json(node.takers)},
                    {"outputs", node.outputs.empty() ? Json(nullptr) : ports_json(node.outputs)},
                    {"segment", node.segment ? Json(*node.segment) : Json(nullptr)}});
  }
  return list;
}

Json tuning_json(const TuningReport& tuning) {
  return {{"measured", tuning.measured},
          {"remembered", tuning.remembered},
          {"disturbed", tuning.disturbed},
          {"disturbed_boundaries", tuning.disturbed_boundaries},
          {"untimed", tuning.untimed},
          {"imported", tuning.imported ? Json{{"cpu", tuning.imported_for},
                                              {"machine", tuning.imported->machine},
                                              {"at", tuning.imported->at}}
                                       : Json(nullptr)},
          {"disabled_reason", tuning.disabled_reason.empty() ? Json(nullptr) : Json(tuning.disabled_reason)},
          {"warning", tuning.warning.empty() ? Json(nullptr) : Json(tuning.warning)}};
}

Json codegen_json(const CodegenReport& codegen) {
  return {{"kernels", codegen.kernels},
          {"reused", codegen.reused},
          {"cpu_seconds", codegen.cpu_seconds},
          {"slowest", codegen.kernels == 0
                          ? Json(nullptr)
                          : Json{{"kernel", codegen.slowest}, {"cpu_seconds", codegen.slowest_seconds}}},
          {"given_up", codegen.given_up}};
}

Json plan_json(const PlanReport& plan) {
  static const char* const names[] = {"as_placed", "dissolved", "single_backend",
                                      "mixed"};  // same order as Shipped
  return {{"shipped", names[static_cast<int>(plan.shipped)]},
          {"backend", plan.single.empty() ? Json(nullptr) : Json(plan.single)},
          {"dissolved_regions", plan.dissolved},
          {"as_placed_ms", milliseconds_or_null(plan.as_placed)},
          {"faults", plan.faults},
          {"unsure", plan.is_unsure},
          {"passed_over", plan.passed_over ? Json{{"backends", plan.passed_over->backends},
                                                  {"ms", milliseconds_or_null(plan.passed_over->nanoseconds)}}
                                           : Json(nullptr)},
          {"regions_measured", plan.regions_measured},
          {"regions_remembered", plan.regions_remembered},
          {"disabled_reason", plan.disabled_reason.empty() ? Json(nullptr) : Json(plan.disabled_reason)}};
}

Json refused_regions_json(const RefusedRegions& refused) {
  Json list = Json::array();
  for (const RefusedRegion& region : refused.all())
    list.push_back({{"target", region.target},
                    {"nodes", region.nodes},
                    {"left_out", region.left_out},
                    {"first", region.first},
                    {"why", region.why}});
  return list;
}

Json single_backend_json(const PlanReport& plan) {
  Json json = Json::object();
  for (const auto& [backend, nanoseconds] : plan.single_backend)
    json[backend] = milliseconds_or_null(nanoseconds);
  return json;
}

Json refused_json(const Explanation& explanation) {
  Json list = Json::array();
  for (const RefusedOp& op : rank_refused_ops(explanation)) {
    list.push_back({{"op", op.op},
                    {"count", op.count},
                    {"elements", number_or_null(op.elements)},
                    {"refusals", op.refusals},
                    {"targets", op.targets}});
  }
  return list;
}

int count_kernels(const CompiledRegions& compiled) {
  int count = 0;
  for (const CompiledRegion& region : compiled.regions) count += region.kernels;
  return count;
}

Json function_json(const CompiledFunction& function, const CompileRequest& request, bool stopped) {
  const Explanation explanation = explain_function(function);
  const std::optional<PlanReport>& plan = function.chosen.report;
  Json json;
  json["function"] = function.name;
  json["inputs"] = ports_json(explanation.inputs);
  json["outputs"] = ports_json(explanation.outputs);
  json["symbols"] = symbols_json(explanation);
  json["open_sizes"] = open_sizes_json(explanation);
  json["slots"] = slots_json(explanation);
  json["devices"] = devices_json(function, request);
  json["regions"] = regions_json(explanation);
  json["copies"] = copies_json(explanation);
  json["alternatives"] = alternatives_json(explanation);
  json["specializations"] = specializations_json(explanation);
  json["stages"] = stages_json(explanation);
  json["throughput"] = throughput_json(function);
  json["segments"] = segments_json(explanation);
  json["kernels"] = stopped ? Json(nullptr) : Json(count_kernels(function.regions));
  json["tuning"] = tuning_json(function.regions.tuning);
  json["code_generation"] = codegen_json(function.regions.codegen);
  json["plan"] = plan ? plan_json(*plan) : Json(nullptr);
  json["refused_regions"] = refused_regions_json(*function.refused);
  json["notes"] = function.all_notes();
  json["predicted_ms"] = milliseconds_or_null(function.chosen.predicted);
  json["measured_ms"] = milliseconds_or_null(function.chosen.measured);
  json["single_backend_ms"] = plan && plan->measured ? single_backend_json(*plan) : Json(nullptr);
  json["model_weights_bytes"] = function.model_weights_bytes;
  json["arena_bytes"] = stopped ? Json(nullptr) : Json(function.arena_bytes);
  return json;
}

Json precision_json(const std::optional<PrecisionReport>& precision, const CompileRequest& request) {
  if (!precision) return nullptr;
  const std::optional<RoundingError>& error = precision->error;
  const bool is_bounded = precision->asked == Precision::automatic;
  return {{"precision", dtype_name(precision->rounds_to)},
          {"tried", error ? Json(dtype_name(precision->tried)) : Json(nullptr)},
          {"max_error", is_bounded ? Json(request.max_error) : Json(nullptr)},
          {"error", error ? Json(error->of_largest) : Json(nullptr)},
          {"output", error ? Json(error->output) : Json(nullptr)},
          {"why_not", precision->why_not.empty() ? Json(nullptr) : Json(precision->why_not)}};
}

Json compiled_variants_json(const CompileResult& result, const CompileRequest& request) {
  if (result.variants.empty()) return nullptr;
  Json list = Json::array();
  for (const CompiledVariant& variant : result.variants)
    list.push_back({{"cpu", variant.cpu},
                    {"runs_here", variant.runs_here},
                    {"taken", variant.is_taken},
                    {"products", precision_json(variant.precision, request)}});
  return list;
}

}  // namespace

std::string report_compile_json(const CompileResult& result, const CompileRequest& request) {
  const bool written = !result.stopped && !request.dry_run;
  Json json;
  json["model"] = request.model_path;
  json["program"] = written ? Json(request.program_path) : Json(nullptr);
  json["threads"] = request.threads;
  json.update(function_json(result.functions[0], request, result.stopped));
  json["constants_bytes"] = result.stopped ? Json(nullptr) : Json(result.constants_bytes);
  json["size"] = size_json(result.size);
  json["plain_c"] = plain_c_json(result.plain_c);
  json["products"] = precision_json(result.precision, request);
  json["variants"] = compiled_variants_json(result, request);
  json["compile_seconds"] = result.seconds;
  if (result.functions.size() > 1) {
    json["functions"] = Json::array();
    for (const CompiledFunction& function : result.functions)
      json["functions"].push_back(function_json(function, request, result.stopped));
  }
  return to_text(json);
}

std::string explain_json(const Explanation& explanation, const std::string& subject) {
  Json json;
  json["subject"] = subject;
  json["threads"] = explanation.threads;
  json["arch"] = explanation.arch.empty() ? Json(nullptr) : Json(explanation.arch);
  json["cpu"] = explanation.cpu.empty() ? Json(nullptr) : Json(explanation.cpu);
  json["inputs"] = ports_json(explanation.inputs);
  json["outputs"] = ports_json(explanation.outputs);
  json["symbols"] = symbols_json(explanation);
  json["open_sizes"] = open_sizes_json(explanation);
  json["slots"] = slots_json(explanation);
  json["regions"] = regions_json(explanation);
  json["copies"] = copies_json(explanation);
  json["alternatives"] = alternatives_json(explanation);
  json["specializations"] = specializations_json(explanation);
  json["stages"] = stages_json(explanation);
  json["measured_ms"] = milliseconds_or_null(explanation.measured);
  json["size"] = size_json(explanation.size);
  json["variants"] = variants_json(explanation.variants);
  json["plans"] = plans_json(explanation);
  json["segments"] = segments_json(explanation);
  json["notes"] = explanation.notes;
  json["no_times_reason"] = explanation.no_times.empty() ? Json(nullptr) : Json(explanation.no_times);
  json["unsupported_ops"] = refused_json(explanation);
  json["nodes"] = nodes_json(explanation);
  return to_text(json);
}

}  // namespace intarsia
