#include "rewrite/finish_body.h"

#include <algorithm>
#include <array>

#include "compile/compile_model.h"
#include "rewrite/changed_functions.h"

namespace intarsia {

using namespace tensorflow;

namespace {

constexpr double slower = 1.02;  // of the original's time: slower even if the times are as inexact as usual

/// Checks for an error that is no property of the model's nodes, so that the whole rewriting ends with it.
bool is_fatal(const Error& error) {
  constexpr std::array fatal{ErrorKind::cancelled, ErrorKind::io, ErrorKind::not_found,
                             ErrorKind::out_of_memory};
  return std::ranges::find(fatal, error.kind) != fatal.end();
}

/// Joins the lines of a message of TensorFlow's.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n' || c == '\t';
    if (!is_space)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  return line;
}

/// Adds what is replaced already, of a body that nothing else may be replaced in.
void add_by_hand(RewrittenBody& rewritten, std::vector<ReplacedPart> by_hand) {
  const Body& body = rewritten.original.body;
  if (std::ranges::find(rewritten.bodies, body.function, &Body::function) == rewritten.bodies.end())
    rewritten.bodies.insert(rewritten.bodies.begin(), body);
  std::ranges::move(by_hand, std::back_inserter(rewritten.parts));
}

}  // namespace

Status write_program(std::vector<RewrittenBody>& bodies, const RewriteTools& tools,
                     const std::filesystem::path& path) {
  CompileRequest request = tools.request;
  request.program_path = path.string();
  request.dry_run = false;
  request.saved_plan_path.clear();
  PassRunner passes(request, tools.services);
  CompileResult result;
  for (RewrittenBody& body : bodies) std::ranges::move(body.functions, std::back_inserter(result.functions));
  TRY(emit_program(passes, result));
  auto next = result.functions.begin();
  for (RewrittenBody& body : bodies)
    for (CompiledFunction& function : body.functions) function = std::move(*next++);
  return {};
}

Result<std::string> judge_body(const RewrittenBody& body, const RewriteRequest& request,
                               const TensorFlowTimer& timer, const std::string& rewritten,
                               RewriteReport& report) {
  std::string why;
  const bool by_hand = std::ranges::any_of(body.parts, &ReplacedPart::is_by_hand);
  std::vector<NamedValue> samples = request.inputs;
  std::ranges::copy(body.samples, std::back_inserter(samples));
  for (const std::string& signature : body.original.signatures) {
    const Result<TimesInTensorFlow> times =
        timer.models({request.compile.model_path, rewritten, signature, samples});
    report.signatures.push_back({signature, times ? *times : TimesInTensorFlow(),
                                 one_line(times ? times->fault : times.error().message)});
    const bool has_all_inputs = times || times.error().kind != ErrorKind::unsupported;
    if (!times && has_all_inputs && !request.inputs.empty())
      return fail(ErrorKind::invalid_argument,
                  "signature '{}' does not run with the inputs that are given: {}", signature,
                  one_line(times.error().message));
    if (!times) continue;
    const auto was = static_cast<double>(times->original), is = static_cast<double>(times->rewritten);
    if (!times->fault.empty())
      why = fmt::format("it would not run: {}", times->fault);
    else if (!(times->difference <= tolerated_difference_of(request.compile)))
      why = fmt::format("results would differ by {:.2g} of the largest", times->difference);
    else if (is > was * slower && !by_hand)
      why = fmt::format("a run takes {:.3g} ms, and would take {:.3g} ms", was / 1e6, is / 1e6);
  }
  if (by_hand && !why.empty())
    return fail(ErrorKind::invalid_argument, "signature '{}', with what --replace puts into it: {}",
                body.original.signatures[0], one_line(why));
  return why;
}

void note_kept(RewriteReport& report, const SignatureBody& body, const std::string& why) {
  report.kept.push_back({body.signatures, "", one_line(why)});
}

Result<std::optional<RewrittenBody>> try_body(const SignatureBody& body, std::vector<ReplacedPart> by_hand,
                                              const BodyContext& context, const RewriteTools& tools,
                                              const Progress& progress, RewriteReport& report) {
  const Status can_change = ChangedFunctions(context.graph, {body.body}).check();
  if (!can_change && !by_hand.empty())
    return fail(ErrorKind::invalid_argument, "--replace '{}': {}", by_hand[0].scope,
                can_change.error().message);
  Result<RewrittenBody> made =
      can_change ? rewrite_body(body, context, tools, progress) : tl::unexpected(can_change.error());
  TRY(check_not_cancelled(tools.services.observer));
  if (!made && is_fatal(made.error())) return tl::unexpected(made.error());
  if (!made) note_kept(report, body, made.error().message);
  RewrittenBody rewritten = made ? *std::move(made) : RewrittenBody{.original = body};
  for (const KeptPart& part : rewritten.kept)
    report.kept.push_back({part.signatures, part.what, one_line(part.why)});
  if (made && rewritten.parts.empty())
    note_kept(report, body,
              fmt::format("nothing {}in it is faster outside of TensorFlow", by_hand.empty() ? "" : "else "));
  if (!by_hand.empty()) add_by_hand(rewritten, std::move(by_hand));
  return rewritten.parts.empty() ? std::nullopt : std::optional(std::move(rewritten));
}

Status check_is_original(const GraphDef& graph) {
  const auto is_ours = [](const NodeDef& node) { return node.op == "Intarsia"; };
  bool found = std::ranges::any_of(graph.nodes, is_ours);
  for (const auto& [name, function] : graph.functions)
    found = found || std::ranges::any_of(function.nodes, is_ours);
  if (found)
    return fail(ErrorKind::invalid_argument,
                "is rewritten already: it has nodes of type Intarsia; give the original");
  return {};
}

}  // namespace intarsia
