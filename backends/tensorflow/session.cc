#include "backends/tensorflow/session.h"

#include "base/files/regular_file.h"
#include "base/protobuf.h"
#include "base/threads/pool_cores.h"
#include "tensorflow/composite.h"

namespace intarsia::tf {
namespace {

/// Fields of ConfigProto (config.proto).
namespace config {
enum : uint32_t { intra_op_threads = 2, inter_op_threads = 5, experimental = 16, executor_type = 3 };
}

std::string write_config(const SessionSettings& settings) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_int32(config::intra_op_threads, settings.threads);
  out.add_int32(config::inter_op_threads, -1);  // operators run in the calling thread
  if (!settings.has_control_flow) {
    protozero::pbf_writer experimental(out, config::experimental);
    experimental.add_string(config::executor_type, "SINGLE_THREADED_EXECUTOR");
  }
  return bytes;
}

class OwnedOptions {
 public:
  explicit OwnedOptions(const Library& library)
      : library_(library), options_(library.api().new_session_options()) {}
  ~OwnedOptions() { library_.api().delete_session_options(options_); }
  OwnedOptions(const OwnedOptions&) = delete;
  OwnedOptions& operator=(const OwnedOptions&) = delete;
  operator TF_SessionOptions*() const { return options_; }

  Status configure(const SessionSettings& settings) {
    const std::string bytes = write_config(settings);
    CallStatus status(library_);
    library_.api().set_config(options_, bytes.data(), bytes.size(), status);
    return status.check();
  }

 private:
  const Library& library_;
  TF_SessionOptions* options_;
};

}  // namespace

Status SessionGraph::import(std::string_view graph_def) {
  const Api& api = library_.api();
  TF_ImportGraphDefOptions* options = api.new_import_options();
  const TF_Buffer buffer{graph_def.data(), graph_def.size(), nullptr};
  CallStatus status(library_);
  api.import_graph(graph_, &buffer, options, status);
  api.delete_import_options(options);
  return status.check();
}

Result<TF_Output> SessionGraph::find(const std::string& tensor) const {
  const tensorflow::TensorReference reference = tensorflow::parse_reference(tensor);
  TF_Operation* operation = library_.api().find_operation(graph_, reference.node.c_str());
  if (operation == nullptr) return fail("TensorFlow's graph has no node '{}'", reference.node);
  if (reference.output < 0 || reference.output >= library_.api().output_count(operation)) {
    return fail("node '{}' has {} outputs, want number {}", reference.node,
                library_.api().output_count(operation), reference.output);
  }
  return TF_Output{operation, reference.output};
}

Result<std::unique_ptr<Session>> Session::from_graph(const Library& library, std::string_view graph_def,
                                                     const SessionSettings& settings) {
  const NamesNewThreads named(thread_name);
  std::unique_ptr<Session> session(new Session(library));
  TRY(session->graph_.import(graph_def));
  OwnedOptions options(library);
  TRY(options.configure(settings));
  CallStatus status(library);
  session->session_ = library.api().new_session(session->graph_, options, status);
  TRY(status.check());
  return session;
}

Result<std::unique_ptr<Session>> Session::from_saved_model(const Library& library, const std::string& folder,
                                                           const std::vector<std::string>& tags,
                                                           const SessionSettings& settings) {
  for (const char* part : {"", "/variables", "/assets"}) TRY(check_regular_files_in(folder + part));
  const NamesNewThreads named(thread_name);
  std::unique_ptr<Session> session(new Session(library));
  OwnedOptions options(library);
  TRY(options.configure(settings));
  std::vector<const char*> names;
  for (const std::string& tag : tags) names.push_back(tag.c_str());
  CallStatus status(library);
  session->session_ =
      library.api().load_saved_model(options, nullptr, folder.c_str(), names.data(),
                                     static_cast<int>(names.size()), session->graph_, nullptr, status);
  TRY(status.check());
  return session;
}

Session::~Session() {
  if (session_ == nullptr) return;
  CallStatus status(library_);
  library_.api().close_session(session_, status);
  library_.api().delete_session(session_, status);
}

Status Session::run(std::span<const TF_Output> inputs, std::span<TF_Tensor* const> input_values,
                    std::span<const TF_Output> outputs, std::span<TF_Tensor*> output_values) const {
  CallStatus status(library_);
  library_.api().run(session_, nullptr, inputs.data(), input_values.data(), static_cast<int>(inputs.size()),
                     outputs.data(), output_values.data(), static_cast<int>(outputs.size()), nullptr, 0,
                     nullptr, status);
  return status.check();
}

Status Session::run_targets(std::span<const TF_Operation* const> targets) const {
  CallStatus status(library_);
  library_.api().run(session_, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, targets.data(),
                     static_cast<int>(targets.size()), nullptr, status);
  return status.check();
}

}  // namespace intarsia::tf
