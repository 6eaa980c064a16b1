// C API of the compile half.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/compile_services.h"
#include "api/external_tensor.h"
#include "api/give_text.h"
#include "api/handles.h"
#include "api/make_services.h"
#include "api/oracles.h"
#include "api/read_request.h"
#include "api/run_backends.h"
#include "api/struct_sizes.h"
#include "base/files/output_file.h"
#include "base/files/regular_file.h"
#include "compile/annotate_model.h"
#include "compile/program_source.h"
#include "compile/split_model.h"
#include "import/import_model.h"
#include "include/intarsia/intarsia_compile.h"
#include "measure/bisect_model.h"
#include "measure/check_model.h"
#include "program/read_program.h"
#include "report/report.h"
#include "target/absent_target.h"

namespace intarsia::api {
namespace {

/// Checks that the files to write do not replace what they are made from, and can be written.
Status check_outputs(const ReadRequest& read) {
  const CompileRequest& request = read.request;
  if (!request.stop_after.empty()) return {};
  if (!request.dry_run && request.program_path.empty()) return fail("no program to write; name it with -o");
  std::vector<std::string> inputs = read.kernels;
  inputs.insert(inputs.end(), request.op_libraries.begin(), request.op_libraries.end());
  inputs.push_back(request.model_path);
  if (!request.plan_path.empty()) inputs.push_back(request.plan_path);
  if (request.plain_c)
    TRY(check_emission_folder(request.program_path));
  else if (!request.dry_run)
    TRY(check_output(request.program_path, inputs));
  if (request.saved_plan_path.empty()) return {};
  std::error_code error;
  const auto resolve = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(path, error);
  };
  if (!request.dry_run && !request.plain_c && resolve(request.saved_plan_path) == resolve(request.program_path))
    return fail("--save-plan {}: it is the program; name another file", request.saved_plan_path);
  return with_context(check_output(request.saved_plan_path, inputs), "--save-plan");
}

Status compile(const intarsia_compile_request& from, char** report) {
  const ReadRequest read = TRY(read_request(from));
  const CompileRequest& request = read.request;
  if (request.model_path.empty()) return fail("no model to compile");
  if (is_program_file(request.model_path).value_or(false)) TRY(check_file_kind(request.model_path));
  TRY(check_outputs(read));
  const CompileServices services = TRY(make_services(read));
  services.observer.progress.expect(1);
  give_text(report_compile_json(TRY(compile_model(request, services)), request), report);
  return {};
}

/// Places the model as compiling would. Nodes that no backend takes go to "nobody".
Result<Explanation> explain_model(ReadRequest read) {
  CompileServices services = TRY(make_services(read));
  services.backends.push_back(make_nobody_target());
  if (!read.request.backends.empty()) read.request.backends.push_back("nobody");
  read.request.stop_after.clear();
  PassRunner passes(read.request, services);
  const CompiledFunction placed{TRY(recall_plan(passes, TRY(import_functions(passes))[0]))};
  Explanation explanation = explain_function(placed);
  explanation.threads = read.request.threads;
  explanation.may_ship_another = read.request.plan_path.empty();
  find_takers(*placed.problem, explanation);
  for (ExplainedNode& node : explanation.nodes) {
    if (explanation.regions[node.region].target.starts_with("nobody@")) node.reason = "no backend runs it";
  }
  return explanation;
}

Result<Explanation> explain_file(const ReadRequest& read) {
  const std::string& path = read.request.model_path;
  if (TRY(is_program_file(path))) return explain_program(TRY(read_program(path)));
  return explain_model(read);
}

Status explain(const intarsia_compile_request& from, char** json, char** text, char** dot) {
  const ReadRequest read = TRY(read_request(from));
  const std::string& subject = read.request.model_path;
  const Explanation explanation = TRY(explain_file(read));
  if (json != nullptr) give_text(explain_json(explanation, subject), json);
  if (text != nullptr) give_text(explain_text(explanation, subject), text);
  if (dot != nullptr) give_text(explain_dot(explanation, subject), dot);
  return {};
}

Status explain_all(const intarsia_compile_request& from, intarsia_explanation& to) {
  TRY(check_size<intarsia_explanation>(to.struct_size, "the explanation"));
  const ReadRequest read = TRY(read_request(from));
  const std::string& subject = read.request.model_path;
  const Explanation explanation = TRY(explain_file(read));
  intarsia_explanation made{};
  give_text(explain_json(explanation, subject), &made.json);
  give_text(explain_text(explanation, subject), &made.text);
  give_text(explain_nodes(explanation), &made.nodes);
  give_text(explain_dot(explanation, subject), &made.dot);
  give_text(explain_html(explanation, subject), &made.html);
  return fill_struct(&to, made);
}

Status annotate(const intarsia_compile_request& from, const std::string& path) {
  ReadRequest read = TRY(read_request(from));
  CompileRequest& request = read.request;
  if (TRY(is_program_file(request.model_path)))
    return fail("'{}' is a program, which is already compiled; name its model", request.model_path);
  std::vector<std::string> inputs = read.kernels;
  if (!request.plan_path.empty()) inputs.push_back(request.plan_path);
  TRY(check_output(path, inputs));
  request.stop_after.clear();
  const CompileServices services = TRY(make_services(read));
  PassRunner passes(request, services);
  const PlannedFunction placed = TRY(place_function(passes, TRY(import_functions(passes))[0]));
  return annotate_model(placed, request.model_path, path);
}

Status split(const intarsia_compile_request& from, const std::vector<std::string>& cuts,
             const std::string& folder, char** json) {
  ReadRequest read = TRY(read_request(from));
  const std::string& model = read.request.model_path;
  if (TRY(is_program_file(model)) || find_model_format(model) != ModelFormat::onnx)
    return fail(
        "'{}' is not an ONNX model, whose stages can be models of their own; `intarsia compile --objective "
        "throughput --cut` makes one program with stages of any model",
        model);
  if (cuts.empty()) return fail("no value to cut at; name one with --cut");
  read.request.stop_after.clear();
  const CompileServices services = TRY(make_services(read));
  PassRunner passes(read.request, services);
  const ImportedFunction imported = TRY(import_functions(passes))[0];
  const Graph& graph = imported.problem->graph;
  const auto report = TRY(with_context(split_model(graph, cuts, folder), "model '{}'", model));
  if (json != nullptr) give_text(report.dump(2), json);
  return {};
}

Status bisect(const CheckRequest& request, const CheckTools& tools, CheckResult& result) {
  const bool is_right =
      std::ranges::all_of(result.outputs, [](const auto& output) { return output.difference.ok; });
  if (is_right && result.bad_inputs.empty())
    return fail("it looks into the plan that is preferred, which is right; an alternative is wrong");
  const bool is_program = TRY(is_program_file(request.path));
  CheckRequest model = is_program ? request_of_model(request, result) : request;
  if (!result.bad_inputs.empty()) model.inputs = result.bad_inputs;
  const CheckTools same{tools.compile, tools.backends, tools.oracle_named(result.against)};
  const std::optional<BadNode> bad = TRY(find_first_bad_node(model, same));
  if (!bad && is_program) {
    return fail(
        "the model '{}', compiled again, is right in every value within it: name the model, with the options "
        "the program was compiled with",
        model.path);
  }
  if (!bad)
    return fail(
        "every value within the model is right while it is an output: it goes wrong where operators are "
        "fused, or where the model is read");
  result.first_bad_node = bad->name;
  if (!bad->exact) {
    result.warnings.push_back(fmt::format(
        "'{}' is wrong, and the nodes between '{}' and it only where they are fused", bad->name, bad->after));
  }
  return {};
}

/// Adds the node that it finds; if it finds none, the reason is only a warning: the mismatch is what the user
/// must see.
void bisect_mismatch(const CheckRequest& request, const CheckTools& tools, CheckResult& result) {
  const Status done = bisect(request, tools, result);
  if (!done) result.warnings.push_back("--bisect found no node: " + done.error().message);
}

Status check(const intarsia_check_request& given, int32_t* ok, char** report) {
  const intarsia_check_request from = TRY(read_struct(given, "the check request"));
  if (from.path == nullptr) return fail("no model or program to check");
  intarsia_compile_request defaults{};
  defaults.struct_size = sizeof(defaults);
  ReadRequest read = TRY(read_request(from.compile == nullptr ? defaults : *from.compile));
  CheckRequest request;
  request.path = from.path;
  request.model_path = from.model == nullptr ? "" : from.model;
  request.compile = read.request;
  request.inputs = TRY(read_inputs(from.inputs, from.input_count));
  if (from.rtol >= 0) request.tolerance.rtol = from.rtol, request.tolerance.widens = false;
  if (from.atol >= 0) request.tolerance.atol = from.atol;
  for (size_t i = 0; i < from.binding_count; ++i)
    request.bind.devices.emplace_back(from.bindings[i].slot, from.bindings[i].device);
  request.bind.threads = from.compile == nullptr ? 0 : from.compile->threads;
  std::string& model = read.request.model_path;
  model = request.model_path.empty() ? request.path : request.model_path;
  if (!request.model_path.empty()) TRY(check_regular_file(main_file(model)));
  DType rounds_to = read.request.precision == Precision::automatic ? DType::bf16 : read.request.rounds_to;
  if (TRY(is_program_file(request.path))) {
    const fbs::ProgramT program = TRY(read_program(request.path)).description;
    rounds_to = parse_dtype(program.precision).value_or(DType::f32);
    if (request.model_path.empty()) model = program.model_path;
  }
  if (from.rtol < 0) request.tolerance.rtol = std::max(request.tolerance.rtol, rounding_tolerance(rounds_to));
  const Oracle oracle = TRY(make_oracle(from.against == nullptr ? "" : from.against, model,
                                        read.request.allow_fallback, read.request.op_libraries));
  const CompileServices services = TRY(make_services(read));
  const std::vector<RunBackend> backends = run_backends();
  const CheckTools check_tools{services, backends, oracle};
  constexpr double comparing_takes = 0.2;  // share of the time of compiling
  services.observer.progress.expect(1 + comparing_takes);
  CheckResult result = TRY(check_model(request, check_tools));
  if (!result.ok && from.bisect != 0) bisect_mismatch(request, check_tools, result);
  services.observer.progress.did("compare_outputs", comparing_takes);
  if (ok != nullptr) *ok = result.ok ? 1 : 0;
  if (report != nullptr) give_text(report_check_json(result, request), report);
  return {};
}

std::string backends_json() {
  nlohmann::ordered_json json;
  json["backends"] = nlohmann::ordered_json::array();
  for (const BackendInfo& backend : list_backends()) {
    json["backends"].push_back(
        {{"name", backend.name},
         {"version", backend.version},
         {"present", backend.present},
         {"why", backend.present ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(backend.why)}});
  }
  return json.dump(2);
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

uint32_t intarsia_compile_api_version(void) { return INTARSIA_API_VERSION; }

void intarsia_text_release(char* text) { std::free(text); }

intarsia_error* intarsia_compile(const intarsia_compile_request* request, char** report) {
  return guarded([&]() -> Status {
    if (request == nullptr) return fail("intarsia_compile got a null pointer");
    return compile(*request, report);
  });
}

intarsia_error* intarsia_explain(const intarsia_compile_request* request, char** json, char** text,
                                 char** dot) {
  return guarded([&]() -> Status {
    if (request == nullptr || request->model == nullptr) return fail("no model or program to explain");
    return explain(*request, json, text, dot);
  });
}

intarsia_error* intarsia_explain_all(const intarsia_compile_request* request,
                                     intarsia_explanation* explanation) {
  return guarded([&]() -> Status {
    if (request == nullptr || request->model == nullptr) return fail("no model or program to explain");
    if (explanation == nullptr) return fail("intarsia_explain_all got a null pointer");
    return explain_all(*request, *explanation);
  });
}

intarsia_error* intarsia_annotate(const intarsia_compile_request* request, const char* path) {
  return guarded([&]() -> Status {
    if (request == nullptr || request->model == nullptr || path == nullptr)
      return fail("intarsia_annotate got a null pointer");
    return annotate(*request, path);
  });
}

intarsia_error* intarsia_split(const intarsia_compile_request* request, const char* const* cuts,
                               size_t cut_count, const char* folder, char** json) {
  return guarded([&]() -> Status {
    if (request == nullptr || request->model == nullptr || folder == nullptr ||
        (cuts == nullptr && cut_count > 0))
      return fail("intarsia_split got a null pointer");
    return split(*request, {cuts, cuts + cut_count}, folder, json);
  });
}

intarsia_error* intarsia_check(const intarsia_check_request* request, int32_t* ok, char** report) {
  return guarded([&]() -> Status {
    if (request == nullptr) return fail("intarsia_check got a null pointer");
    return check(*request, ok, report);
  });
}

intarsia_error* intarsia_backends(char** json) {
  return guarded([&]() -> Status {
    give_text(backends_json(), json);
    return {};
  });
}

intarsia_error* intarsia_pass_names(char** json) {
  return guarded([&]() -> Status {
    give_text(nlohmann::ordered_json{{"passes", pass_names()}}.dump(2), json);
    return {};
  });
}
