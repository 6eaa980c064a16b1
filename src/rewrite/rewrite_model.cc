#include "rewrite/rewrite_model.h"

#include <algorithm>
#include <chrono>

#include "base/bytes.h"
#include "base/files/mapped_file.h"
#include "compile/compile_model.h"
#include "import/freeze_function.h"
#include "import/import_model.h"
#include "import/import_tensorflow.h"
#include "rewrite/model_files.h"
#include "rewrite/rewrite_body.h"
#include "rewrite/write_saved_model.h"
#include "tensorflow/guarded.h"

namespace intarsia {

using namespace tensorflow;

namespace {

namespace fs = std::filesystem;

constexpr double slower = 1.02;     // of the original's time: not faster than that within the noise
constexpr double tolerated = 1e-3;  // difference of results, relative to the largest

/// Variables that some body changes, by their nodes in the model's own graph.
Result<std::set<std::string>> find_changed_variables(const std::vector<SignatureBody>& bodies,
                                                     EffectFinder& effects) {
  std::set<std::string> changed;
  for (const SignatureBody& one : bodies) {
    const std::map<std::string, size_t> numbers = one.body.index();
    for (const std::string& name : one.body.find_needed()) {
      const BodyNode& node = one.body.nodes[numbers.at(name)];
      if (!TRY(effects.has_effects(node.def))) continue;
      for (const std::string& source : node.sources)
        if (const std::string handle = find_handle(one.body, numbers, source); !handle.empty())
          changed.insert(node_of(handle));
    }
  }
  return changed;
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

/// Checks for an error that is no property of the model's nodes, so that the whole rewriting ends with it.
bool is_fatal(const Error& error) {
  constexpr std::array fatal{ErrorKind::cancelled, ErrorKind::io, ErrorKind::not_found,
                             ErrorKind::out_of_memory};
  return std::ranges::find(fatal, error.kind) != fatal.end();
}

/// Rewriting of a SavedModel.
class SavedModelRewriter {
 public:
  SavedModelRewriter(const RewriteRequest& request, const CompileServices& services,
                     const TimeInTensorFlow& time)
      : request_(request), services_(services), time_(time), folder_(request.compile.model_path) {}

  Result<RewriteReport> run() {
    const MappedFile file = TRY(map_file((folder_ / "saved_model.pb").string()));
    bytes_ = as_text(file.bytes);
    meta_ = TRY(read_serving_graph(bytes_));
    graph_ = TRY(read_graph(meta_.graph));
    TRY(check_is_original(graph_));
    const std::vector<std::string> signatures = TRY(choose_signatures());
    StagedFolder staged = TRY(StagedFolder::create(request_.output, request_.replaces));
    TRY(rewrite_bodies(signatures));
    while (true) {
      TRY(write(staged.path()));
      if (bodies_.empty() || !TRY(drop_slower_bodies(staged.path()))) break;
      TRY(check_not_cancelled(services_.observer));
    }
    report_.bytes_before = bytes_of_files(folder_);
    report_.bytes_after = bytes_of_files(staged.path());
    for (const RewrittenBody& body : bodies_)
      for (const ReplacedPart& part : body.parts) report_.parts.push_back(part);
    TRY(staged.commit());
    return std::move(report_);
  }

 private:
  Result<std::vector<std::string>> choose_signatures() const {
    const std::vector<std::string> all = TRY(list_signatures(folder_.string()));
    if (request_.compile.signatures.empty()) return all;
    for (const std::string& name : request_.compile.signatures)
      if (std::ranges::find(all, name) == all.end())
        return fail(ErrorKind::invalid_argument, "has no signature '{}'; it has: {}", name,
                    fmt::join(all, ", "));
    return request_.compile.signatures;
  }

  Status rewrite_bodies(const std::vector<std::string>& signatures) {
    const std::vector<SignatureBody> found =
        TRY(find_bodies(meta_, graph_, signatures, services_.tensorflow));
    EffectFinder effects(graph_.functions, services_.tensorflow);
    const std::set<std::string> changed = TRY(find_changed_variables(found, effects));
    const std::string folder = folder_.string();
    const ReadSaved read_saved = TRY(make_saved_reader(meta_, graph_, services_.tensorflow, folder));
    const BodyContext context{graph_, services_.tensorflow, read_saved, changed};
    const Progress progress = services_.observer.progress.part(1);
    progress.expect(static_cast<double>(found.size()));
    for (const SignatureBody& one : found) {
      Result<RewrittenBody> body = rewrite(one, context, progress.part(1));
      TRY(check_not_cancelled(services_.observer));
      if (!body && is_fatal(body.error())) return tl::unexpected(body.error());
      if (!body)
        keep(one, body.error().message);
      else if (body->parts.empty())
        keep(one, "nothing in it is faster outside of TensorFlow");
      else
        bodies_.push_back(*std::move(body));
    }
    return {};
  }

  Result<RewrittenBody> rewrite(const SignatureBody& one, const BodyContext& context,
                                const Progress& progress) {
    if (one.body.is_function()) TRY(check_can_take_program(one.body.function, graph_));
    return rewrite_body(one, context, request_.compile, services_, progress);
  }

  void keep(const SignatureBody& one, const std::string& why) {
    report_.kept.push_back(fmt::format("{}: {}", fmt::join(one.signatures, ", "), why));
  }

  /// Writes the model with what is rewritten, or as it is if nothing is.
  Status write(const fs::path& to) {
    std::error_code error;
    for (const fs::directory_entry& old : fs::directory_iterator(to, error))
      fs::remove_all(old.path(), error);
    if (bodies_.empty()) return copy_folder(folder_, to, {});
    TRY(copy_folder(folder_, to, {"saved_model.pb", "fingerprint.pb"}));
    fs::create_directory(to / "assets", error);
    std::string asset = "intarsia.so";
    for (int i = 1; fs::exists(to / "assets" / asset, error); ++i) asset = fmt::format("intarsia_{}.so", i);
    report_.program_bytes = TRY(write_program(to / "assets" / asset));
    std::vector<Body> bodies;
    for (const RewrittenBody& body : bodies_) bodies.push_back(body.body);
    return write_file(to / "saved_model.pb", TRY(write_saved_model(bytes_, graph_, bodies, asset)));
  }

  Result<uint64_t> write_program(const fs::path& path) {
    CompileRequest request = request_.compile;
    request.program_path = path.string();
    request.dry_run = false;
    request.saved_plan_path.clear();
    PassRunner passes(request, services_);
    CompileResult result;
    for (RewrittenBody& body : bodies_)
      std::ranges::move(body.functions, std::back_inserter(result.functions));
    TRY(emit_program(passes, result));
    auto next = result.functions.begin();
    for (RewrittenBody& body : bodies_)
      for (CompiledFunction& function : body.functions) function = std::move(*next++);
    return bytes_of_files(path);
  }

  /// Leaves out the bodies that make a signature slower, or change its results; returns whether there were
  /// any.
  Result<bool> drop_slower_bodies(const fs::path& rewritten) {
    report_.signatures.clear();
    return std::erase_if(bodies_, [&](const RewrittenBody& body) {
             const std::string why = why_not(body, rewritten);
             if (!why.empty()) keep(body.original, why);
             return !why.empty();
           }) > 0;
  }

  /// Returns why the body stays as it is; empty if it does not.
  std::string why_not(const RewrittenBody& body, const fs::path& rewritten) {
    std::string why;
    for (const std::string& signature : body.original.signatures) {
      const Result<TimesInTensorFlow> times =
          time_({folder_.string(), rewritten.string(), signature, body.samples});
      report_.signatures.push_back(
          {signature, times ? *times : TimesInTensorFlow(), times ? "" : times.error().message});
      if (!times) continue;
      if (!(times->difference <= tolerated))
        why = fmt::format("results would differ by {:.2g} of the largest", times->difference);
      else if (static_cast<double>(times->rewritten) > static_cast<double>(times->original) * slower)
        why = fmt::format("a run would take {:.3g} ms, and takes {:.3g} ms",
                          static_cast<double>(times->rewritten) / 1e6,
                          static_cast<double>(times->original) / 1e6);
    }
    return why;
  }

  const RewriteRequest& request_;
  const CompileServices& services_;
  const TimeInTensorFlow& time_;
  const fs::path folder_;
  std::string_view bytes_;
  MetaGraph meta_;
  GraphDef graph_;
  std::vector<RewrittenBody> bodies_;
  RewriteReport report_;
};

}  // namespace

Result<RewriteReport> rewrite_model(const RewriteRequest& request, const CompileServices& services,
                                    const TimeInTensorFlow& time) {
  const auto start = std::chrono::steady_clock::now();
  const std::string& path = request.compile.model_path;
  if (find_model_format(path) != ModelFormat::saved_model)
    return fail(ErrorKind::invalid_argument,
                "'{}' is not a SavedModel folder, which is what can be rewritten", path);
  services.observer.progress.expect(1);
  RewriteReport report = TRY(
      with_context(guarded("SavedModel", [&] { return SavedModelRewriter(request, services, time).run(); }),
                   "model '{}'", path));
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace intarsia
