#include "backends/tensorflow/load.h"

#include <algorithm>
#include <filesystem>

#include "backends/tensorflow/region_blob_generated.h"
#include "backends/tensorflow/region_session.h"
#include "base/flat_buffer.h"
#include "base/threads/pool_cores.h"

namespace intarsia {
namespace tf {
namespace {

/// Executable that is immutable; a call keeps its tensors on the stack.
class SessionExecutable : public Executable {
 public:
  SessionExecutable(const Library& library, RegionSession region)
      : library_(library), region_(std::move(region)) {}

  Status run(const RunContext& context) const override {
    const size_t inputs = region_.inputs.size(), outputs = region_.outputs.size();
    if (context.inputs.size() != inputs || context.outputs.size() != outputs) {
      return fail("the TensorFlow region has {} inputs and {} outputs, got {} and {}", inputs, outputs,
                  context.inputs.size(), context.outputs.size());
    }
    if (context.threads != nullptr) context.threads->park();
    std::vector<OwnedTensor> fed(inputs);
    std::vector<TF_Tensor*> values(inputs), made(outputs, nullptr);
    for (size_t i = 0; i < inputs; ++i) {
      fed[i] = TRY(with_context(wrap_tensor(library_, context.inputs[i].tensor), "input {}", i));
      values[i] = fed[i].get();
    }
    TRY(with_context(region_.session->run(region_.inputs, values, region_.outputs, made), "TensorFlow {}",
                     library_.version()));
    std::vector<OwnedTensor> owned;
    for (TF_Tensor* tensor : made) owned.emplace_back(tensor, DeleteTensor{&library_});
    for (size_t i = 0; i < outputs; ++i)
      TRY(with_context(give(context, std::move(owned[i]), context.outputs[i]), "output {}", i));
    return {};
  }

 private:
  Status give(const RunContext& context, OwnedTensor made, Output& output) const {
    if (!output.dynamic) return copy_into(std::move(made), output.tensor);
    Tensor tensor = TRY(adopt_tensor(library_, std::move(made)));
    // TensorFlow may return what it was fed, whose memory we must not keep.
    if (is_fed(context, tensor.view())) tensor = Tensor(tensor.view());
    output.tensor = tensor.view();
    output.owner = tensor.owner();
    return {};
  }

  static bool is_fed(const RunContext& context, const TensorView& tensor) {
    const auto* data = static_cast<const std::byte*>(tensor.data);
    return tensor.dtype != DType::string && std::ranges::any_of(context.inputs, [&](const Input& input) {
             const auto* begin = static_cast<const std::byte*>(input.tensor.data);
             return input.tensor.dtype != DType::string && data >= begin &&
                    data < begin + input.tensor.bytes();
           });
  }

  Status copy_into(OwnedTensor made, const TensorView& to) const {
    const TensorView from = TRY(describe_tensor(library_, made.get()));
    if (from.dtype != to.dtype || from.shape != to.shape) {
      return fail("TensorFlow returned {} {}, want {} {}", dtype_name(from.dtype), print_shape(from.shape),
                  dtype_name(to.dtype), print_shape(to.shape));
    }
    if (to.dtype == DType::string)
      copy_strings(library_, made.get(), to.as<std::string>());
    else
      copy_elements(from, to);
    return {};
  }

  const Library& library_;
  RegionSession region_;
};

/// Loads the user's library of operators at its recorded path, or by its name next to the program.
Status load_operators(const Library& library, const std::string& path, const std::string& folder) {
  const std::filesystem::path sibling =
      std::filesystem::path(folder.empty() ? "." : folder) / std::filesystem::path(path).filename();
  std::error_code error;
  if (std::filesystem::exists(path, error)) return library.load_operators(path);
  if (std::filesystem::exists(sibling, error)) return library.load_operators(sibling.string());
  return fail("the library of operators is neither at '{}' nor at '{}': copy it next to the program", path,
              sibling.string());
}

Result<RegionGraph> read_region(const fbs::RegionBlob& blob, const LoadContext& context) {
  RegionGraph region;
  region.graph_def = text_of(blob.graph());
  for (uint32_t i = 0; blob.constants() != nullptr && i < blob.constants()->size(); ++i) {
    const fbs::ConstantNode& node = *blob.constants()->Get(i);
    if (node.name() == nullptr || node.constant() >= context.constants.size())
      return fail("damaged TensorFlow region: constant {} is unknown", node.constant());
    region.constant_names.push_back(node.name()->str());
    region.constants.push_back(context.constants[node.constant()]);
  }
  region.inputs = to_strings(blob.inputs());
  region.outputs = to_strings(blob.outputs());
  region.initializers = to_strings(blob.initializers());
  region.has_control_flow = blob.has_control_flow();
  return region;
}

/// Checks whether a thread is the library's, which names some of its threads itself: tf_Compute.
bool is_of_pool(std::string_view thread) { return thread == thread_name || thread.starts_with("tf_"); }

/// Opens a session and binds the pool's threads: the library makes its pool with its first session.
Result<RegionSession> open_on_cores(const Library& library, const RegionGraph& region,
                                    const LoadContext& context) {
  TRY(pin_pool("TensorFlow", context.cores));
  RegionSession session = TRY(open_region(library, region, context.threads));
  if (context.cores != nullptr) bind_threads(is_of_pool, *context.cores);
  return session;
}

Result<std::unique_ptr<Executable>> load(const LoadContext& context) {
  const TableCopy<fbs::RegionBlob> blob(context.blob, fbs::RegionBlobIdentifier());
  if (!blob) return fail("damaged TensorFlow region: the bytes are not a region blob");
  const RegionGraph region = TRY(read_region(*blob, context));
  const Result<const Library*> library = Library::get();
  if (!library) {
    return fail(library.error().kind, "its operators run only in TensorFlow: {}; {}",
                fmt::join(to_strings(blob->operators()), ", "), library.error().message);
  }
  for (const std::string& path : to_strings(blob->op_libraries()))
    TRY(load_operators(**library, path, context.program_folder));
  return std::make_unique<SessionExecutable>(
      **library, TRY(with_context(open_on_cores(**library, region, context), "TensorFlow region")));
}

}  // namespace
}  // namespace tf

RunBackend tensorflow_run_backend() {
  return {.name = "tensorflow", .load = tf::load, .searches_folder = true};
}

}  // namespace intarsia
