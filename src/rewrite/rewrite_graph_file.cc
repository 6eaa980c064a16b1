#include "rewrite/rewrite_graph_file.h"

#include "base/bytes.h"
#include "base/files/mapped_file.h"
#include "base/files/output_file.h"
#include "base/files/temporary_folder.h"
#include "import/import_tensorflow.h"
#include "rewrite/finish_body.h"
#include "rewrite/model_files.h"
#include "rewrite/replace_by_hand.h"
#include "rewrite/write_saved_model.h"
#include "tensorflow/dtypes.h"

namespace intarsia {

using namespace tensorflow;

namespace {

/// Returns the whole graph as a body, from its placeholders to the nodes that nothing reads.
Result<SignatureBody> body_of_graph(const std::string& path, const GraphDef& graph,
                                    const CalledFunctions& called) {
  const ModelBoundary boundary = TRY(read_graph_def_boundary(path));
  std::vector<std::string> returned;
  for (const BoundaryTensor& output : boundary.outputs) returned.push_back(output.tensor);
  Body body = TRY(make_graph_body(graph, returned, called));
  for (const BoundaryTensor& input : boundary.inputs)
    body.arguments.push_back(
        {input.tensor, input.name, data_type_of(input.type.dtype), input.type.shape, {}});
  return SignatureBody{{"main"}, std::move(body)};
}

Status check_output_file(const RewriteRequest& request) {
  std::error_code error;
  if (!request.replaces && std::filesystem::exists(request.output, error))
    return fail(ErrorKind::invalid_argument, "'{}' exists; name another file, or replace it with --force",
                request.output);
  return check_output(request.output, std::vector{request.compile.model_path});
}

}  // namespace

Result<RewriteReport> rewrite_graph_file(const RewriteRequest& request, const CompileServices& services,
                                         const TensorFlowTimer& timer) {
  const std::string& path = request.compile.model_path;
  if (!request.compile.signatures.empty())
    return fail(ErrorKind::invalid_argument, "has no signatures; leave out --signature");
  TRY(check_output_file(request));
  const MappedFile file = TRY(map_file(path));
  const std::string_view bytes = as_text(file.bytes);
  const GraphDef graph = TRY(read_graph(bytes));
  TRY(check_is_original(graph));
  const RewriteTools tools{request.compile, request.threads, services, timer, request.inputs};
  const std::set<std::string> none;
  const ReadSaved has_no_variables;
  EffectFinder effects(graph.functions, services.tensorflow);
  HandReplacer hand = TRY(HandReplacer::make(request, services.tensorflow));
  const std::set<std::string> whole = hand.names();
  const BodyContext context{graph, services.tensorflow, has_no_variables, none, whole};
  RewriteReport report;
  SignatureBody original = TRY(body_of_graph(path, graph, context.called()));
  std::vector<ReplacedPart> by_hand = TRY(hand.replace(original, effects));
  TRY(hand.check_all_found());
  std::vector<RewrittenBody> bodies;
  // Results are known by the names of nodes that nothing reads, so that these names are free.
  if (auto body = TRY(
          try_body(original, std::move(by_hand), context, tools, services.observer.progress.part(1), report)))
    bodies.push_back(*std::move(body));

  std::string written(bytes);
  if (!bodies.empty()) {
    const TemporaryFolder folder = TRY(TemporaryFolder::make("intarsia-rewrite"));
    std::vector<WrittenProgram> programs = hand.programs_of(bodies[0].parts);
    if (!bodies[0].functions.empty()) {
      TRY(write_program(bodies, tools, folder / "program.so"));
      programs.push_back({program_name(0), folder / "program.so"});
    }
    for (WrittenProgram& program : programs) {
      const MappedFile content = TRY(map_file(program.content));
      program.content = as_text(content.bytes);
      report.after.program += content.bytes.size();
    }
    std::string rewritten = TRY(write_graph_file(bytes, bodies[0].bodies[0], programs));
    TRY(write_whole(folder / "model.pb", rewritten));
    const std::string why = TRY(judge_body(bodies[0], request, timer, folder / "model.pb", report));
    if (why.empty()) {
      written = std::move(rewritten);
      report.parts = bodies[0].parts;
    } else {
      report.after.program = 0;
      note_kept(report, original, why);
    }
  }
  TRY(write_whole(request.output, written));
  report.before.graph = bytes.size();
  report.after.graph = written.size() - report.after.program;
  return report;
}

}  // namespace intarsia
