#include "rewrite/rewrite_model.h"

#include <chrono>
#include <filesystem>

#include "import/import_model.h"
#include "rewrite/rewrite_graph_file.h"
#include "rewrite/rewrite_saved_model.h"
#include "target/machine_name.h"
#include "tensorflow/guarded.h"

namespace intarsia {

Result<RewriteReport> rewrite_model(const RewriteRequest& request, const CompileServices& services,
                                    const TensorFlowTimer& timer) {
  const auto start = std::chrono::steady_clock::now();
  const std::string& path = request.compile.model_path;
  if (!request.compile.shapes.empty())
    return fail(ErrorKind::invalid_argument,
                "--shape: a rewritten model takes all sizes that the model takes; --tune-at names those to "
                "be fastest at");
  if (request.compile.objective == Objective::throughput)
    return fail(ErrorKind::invalid_argument,
                "--objective throughput: nodes of TensorFlow have no stages; leave it out");
  services.observer.progress.expect(1);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return fail(ErrorKind::not_found, "no model '{}'", path);
  const auto rewrite = [&]() -> Result<RewriteReport> {
    switch (find_model_format(path)) {
      case ModelFormat::saved_model:
        return tensorflow::guarded("SavedModel",
                                   [&] { return rewrite_saved_model(request, services, timer); });
      case ModelFormat::graph_def:
        return tensorflow::guarded("GraphDef", [&] { return rewrite_graph_file(request, services, timer); });
      default:
        return fail(
            ErrorKind::invalid_argument,
            "is not a model of TensorFlow's; want the folder of a SavedModel, or a frozen GraphDef (.pb)");
    }
  };
  RewriteReport report = TRY(with_context(with_kind(ErrorKind::corrupt, rewrite()), "model '{}'", path));
  report.threads = request.compile.threads;
  report.processor = machine_name(read_machine_facts());
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace intarsia
