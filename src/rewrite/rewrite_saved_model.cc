#include "rewrite/rewrite_saved_model.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/files/mapped_file.h"
#include "base/files/output_file.h"
#include "import/import_tensorflow.h"
#include "rewrite/changed_variables.h"
#include "rewrite/drop_variables.h"
#include "rewrite/finish_body.h"
#include "rewrite/model_files.h"
#include "rewrite/replace_by_hand.h"
#include "rewrite/write_saved_model.h"

namespace intarsia {

using namespace tensorflow;

namespace {

namespace fs = std::filesystem;

class SavedModelRewriter {
 public:
  SavedModelRewriter(const RewriteRequest& request, const CompileServices& services,
                     const TensorFlowTimer& timer)
      : request_(request),
        tools_{request.compile, request.threads, services, timer, request.inputs},
        folder_(request.compile.model_path) {}

  Result<RewriteReport> run() {
    const MappedFile file = TRY(map_file((folder_ / "saved_model.pb").string()));
    bytes_ = as_text(file.bytes);
    meta_ = TRY(read_serving_graph(bytes_));
    graph_ = TRY(read_graph(meta_.graph));
    TRY(check_is_original(graph_));
    const std::vector<std::string> signatures = TRY(choose_signatures());
    TRY(check_inputs(signatures));
    StagedFolder staged = TRY(stage_output(request_.output, request_.replaces));
    TRY(rewrite_bodies(signatures));
    while (true) {
      TRY(write(staged.path()));
      if (bodies_.empty() || !TRY(drop_slower_bodies(staged.path()))) break;
      TRY(check_not_cancelled(tools_.services.observer));
    }
    report_.before = bytes_of_model(folder_, {});
    report_.after = bytes_of_model(staged.path(), assets_);
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

  /// Checks that some signature has each input that is given.
  Status check_inputs(const std::vector<std::string>& signatures) const {
    std::set<std::string> names;
    for (const std::string& signature : signatures)
      for (const auto& [name, input] : meta_.signatures.at(signature).inputs) names.insert(name);
    for (const NamedValue& input : request_.inputs)
      if (!names.contains(input.name))
        return fail(ErrorKind::invalid_argument, "has no input '{}'; its inputs are: {}", input.name,
                    fmt::join(names, ", "));
    return {};
  }

  Status rewrite_bodies(const std::vector<std::string>& signatures) {
    const TensorFlowSource& source = tools_.services.tensorflow;
    EffectFinder effects(graph_.functions, source);
    hand_.emplace(TRY(HandReplacer::make(request_, source)));
    const std::set<std::string> whole = hand_->names();
    std::vector<SignatureBody> found =
        TRY(find_bodies(meta_, graph_, signatures, {graph_.functions, whole, source}));
    const std::set<std::string> changed = TRY(find_changed_variables(meta_, graph_, found, effects));
    const std::string folder = folder_.string();
    const ReadSaved reader = TRY(make_saved_reader(meta_, graph_, source, folder));
    const ReadSaved read_saved = [&](const auto& variables, const auto& tables) {
      Result<SavedContents> contents = reader(variables, tables);
      if (!contents) contents.error().kind = ErrorKind::io;  // a property of the files, not of a body
      return contents;
    };
    const BodyContext context{graph_, source, read_saved, changed, whole};
    const Progress progress = tools_.services.observer.progress.part(1);
    progress.expect(static_cast<double>(found.size()));
    std::vector<std::vector<ReplacedPart>> by_hand;
    for (SignatureBody& one : found) by_hand.push_back(TRY(hand_->replace(one, effects)));
    TRY(hand_->check_all_found());
    for (size_t i = 0; i < found.size(); ++i)
      if (auto body =
              TRY(try_body(found[i], std::move(by_hand[i]), context, tools_, progress.part(1), report_)))
        bodies_.push_back(*std::move(body));
    return {};
  }

  /// Writes the model with what is rewritten, or as it is if nothing is.
  Status write(const fs::path& to) {
    std::error_code error;
    for (const fs::directory_entry& old : fs::directory_iterator(to, error))
      fs::remove_all(old.path(), error);
    assets_.clear();
    report_.dropped.clear();
    if (bodies_.empty()) return copy_folder(folder_, to, {});
    TRY(copy_folder(folder_, to, {"saved_model.pb", "fingerprint.pb"}));
    std::vector<Body> bodies;
    for (const RewrittenBody& body : bodies_) std::ranges::copy(body.bodies, std::back_inserter(bodies));
    std::string written = TRY(write_saved_model(bytes_, graph_, bodies, TRY(write_programs(to / "assets"))));
    if (!request_.keeps_variables) TRY(drop_variables_of(written, to));
    return write_whole((to / "saved_model.pb").string(), written);
  }

  /// Writes the programs that the bodies run; returns these as assets.
  Result<std::vector<WrittenProgram>> write_programs(const fs::path& folder) {
    std::error_code error;
    fs::create_directory(folder, error);
    std::vector<WrittenProgram> programs;
    const auto new_asset = [&](const std::string& stem) {
      std::string asset = stem + ".so";
      for (int i = 1; fs::exists(folder / asset, error); ++i) asset = fmt::format("{}_{}.so", stem, i);
      return asset;
    };
    if (std::ranges::any_of(bodies_, [](const RewrittenBody& body) { return !body.functions.empty(); })) {
      programs.push_back({program_name(0), new_asset("intarsia")});
      TRY(write_program(bodies_, tools_, folder / programs[0].content));
    }
    std::vector<ReplacedPart> parts;
    for (const RewrittenBody& body : bodies_) std::ranges::copy(body.parts, std::back_inserter(parts));
    for (WrittenProgram& given : hand_->programs_of(parts)) {
      const fs::path from = given.content;
      given.content = new_asset(from.stem().string());
      const MappedFile file = TRY(map_file(from.string()));
      TRY(write_whole((folder / given.content).string(), as_text(file.bytes)));
      programs.push_back(std::move(given));
    }
    for (const WrittenProgram& program : programs) assets_.insert(program.content);
    return programs;
  }

  /// Drops variables that nothing reads any more from a rewritten model, and from its checkpoint.
  Status drop_variables_of(std::string& written, const fs::path& to) {
    if (!fs::exists(folder_ / "variables" / "variables.index")) return {};
    const TensorFlowSource& source = tools_.services.tensorflow;
    std::string objects;
    if (!meta_.object_graph.empty()) objects = TRY(source.read_checkpoint_objects(folder_.string()));
    SlimModel slim = TRY(drop_variables(written, bytes_, objects));
    if (slim.dropped.empty()) return {};
    std::error_code error;
    fs::remove_all(to / "variables", error);
    if (!slim.kept.empty() || !slim.checkpoint_objects.empty()) {
      fs::create_directory(to / "variables", error);
      TRY(source.copy_checkpoint(folder_.string(), to.string(), slim.kept, slim.types,
                                 slim.checkpoint_objects));
    }
    written = std::move(slim.bytes);
    report_.dropped = std::move(slim.dropped);
    return {};
  }

  /// Leaves out the bodies that would make a signature slower, or change its results; returns whether there
  /// were any.
  Result<bool> drop_slower_bodies(const fs::path& rewritten) {
    std::vector<RewrittenBody> kept;
    for (RewrittenBody& body : bodies_) {
      forget_times(body.original.signatures);
      const std::string why = TRY(judge_body(body, request_, tools_.timer, rewritten.string(), report_));
      if (why.empty())
        kept.push_back(std::move(body));
      else
        note_kept(report_, body.original, why);
    }
    const bool some_are_slower = kept.size() != bodies_.size();
    bodies_ = std::move(kept);
    return some_are_slower;
  }

  /// Removes the signatures' times of a model that was not as it is now.
  void forget_times(const std::vector<std::string>& signatures) {
    std::erase_if(report_.signatures, [&](const RewriteReport::Timed& timed) {
      return std::ranges::find(signatures, timed.signature) != signatures.end();
    });
  }

  const RewriteRequest& request_;
  const RewriteTools tools_;
  const fs::path folder_;
  std::string_view bytes_;
  MetaGraph meta_;
  GraphDef graph_;
  std::optional<HandReplacer> hand_;
  std::vector<RewrittenBody> bodies_;
  std::set<std::string> assets_;  // names of those that are programs
  RewriteReport report_;
};

}  // namespace

Result<RewriteReport> rewrite_saved_model(const RewriteRequest& request, const CompileServices& services,
                                          const TensorFlowTimer& timer) {
  return SavedModelRewriter(request, services, timer).run();
}

}  // namespace intarsia
