#include "backends/tensorflow/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <thread>

#include "base/bytes.h"
#include "base/caught.h"
#include "base/files/regular_file.h"

namespace intarsia::tf {
namespace {

constexpr ForeignLibrary tensorflow{"TensorFlow", "TF_SessionRun", "libtensorflow_cc.so",
                                    "INTARSIA_TENSORFLOW", "tensorflow-cpu"};

bool is_version_in_range(std::string_view version) {
  int minor = 0;
  if (!version.starts_with("2.")) return false;
  version.remove_prefix(2);
  std::from_chars(version.data(), version.data() + version.size(), minor);
  return minor >= oldest_minor_version;
}

/// Finder of functions by name, which remembers those that are missing.
class Finder {
 public:
  explicit Finder(void* handle) : handle_(handle == nullptr ? RTLD_DEFAULT : handle) {}

  template <typename Function>
  void find(const char* name, Function*& pointer) {
    pointer = as_function<Function*>(dlsym(handle_, name));
    if (pointer == nullptr) missing.push_back(name);
  }

  std::vector<std::string> missing;

 private:
  void* handle_;
};

void find_basics(Finder& f, Api& api) {
  f.find("TF_Version", api.version);
  f.find("TF_NewStatus", api.new_status);
  f.find("TF_DeleteStatus", api.delete_status);
  f.find("TF_GetCode", api.code);
  f.find("TF_Message", api.message);
  f.find("TF_NewBuffer", api.new_buffer);
  f.find("TF_DeleteBuffer", api.delete_buffer);
  f.find("TF_GetAllOpList", api.all_ops);
  f.find("TF_GetRegisteredKernelsForOp", api.kernels_of);
  f.find("TF_LoadLibrary", api.load_library);
}

void find_tensors(Finder& f, Api& api) {
  f.find("TF_NewTensor", api.new_tensor);
  f.find("TF_AllocateTensor", api.allocate_tensor);
  f.find("TF_DeleteTensor", api.delete_tensor);
  f.find("TF_TensorType", api.tensor_type);
  f.find("TF_NumDims", api.rank);
  f.find("TF_Dim", api.size);
  f.find("TF_TensorByteSize", api.tensor_bytes);
  f.find("TF_TensorData", api.tensor_data);
  f.find("TF_StringInit", api.string_init);
  f.find("TF_StringCopy", api.string_copy);
  f.find("TF_StringGetDataPointer", api.string_data);
  f.find("TF_StringGetSize", api.string_bytes);
  f.find("TF_StringDealloc", api.string_release);
}

void find_graphs(Finder& f, Api& api) {
  f.find("TF_NewGraph", api.new_graph);
  f.find("TF_DeleteGraph", api.delete_graph);
  f.find("TF_NewImportGraphDefOptions", api.new_import_options);
  f.find("TF_DeleteImportGraphDefOptions", api.delete_import_options);
  f.find("TF_GraphImportGraphDef", api.import_graph);
  f.find("TF_GraphToGraphDef", api.export_graph);
  f.find("TF_GraphOperationByName", api.find_operation);
  f.find("TF_OperationNumOutputs", api.output_count);
  f.find("TF_OperationOutputType", api.output_type);
  f.find("TF_GraphGetTensorNumDims", api.output_rank);
  f.find("TF_GraphGetTensorShape", api.output_sizes);
  f.find("TF_NewOperation", api.new_operation);
  f.find("TF_AddInput", api.add_input);
  f.find("TF_SetAttrType", api.set_type);
  f.find("TF_FinishOperation", api.finish_operation);
  f.find("TF_OperationGetAttrType", api.get_type);
}

void find_sessions(Finder& f, Api& api) {
  f.find("TF_NewSessionOptions", api.new_session_options);
  f.find("TF_DeleteSessionOptions", api.delete_session_options);
  f.find("TF_SetConfig", api.set_config);
  f.find("TF_NewSession", api.new_session);
  f.find("TF_LoadSessionFromSavedModel", api.load_saved_model);
  f.find("TF_CloseSession", api.close_session);
  f.find("TF_DeleteSession", api.delete_session);
  f.find("TF_SessionRun", api.run);
}

/// Discards what the calling thread, and it alone, writes to standard error from here on. Where the system
/// refuses that, as some sandboxes do, nothing changes.
void silence_this_thread() {
  // The thread gets file descriptors of its own, and gives up all but the standard ones: what others close is
  // closed.
  if (close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_UNSHARE) != 0) return;
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
}

/// Opens TensorFlow without the notes that it writes to standard error meanwhile, whatever its settings; an
/// error of ours is one line.
Result<OpenedLibrary> open_quietly() {
  OpenedLibrary opened;
  Status done;
  std::thread opener([&] {
    silence_this_thread();
    done = caught([&]() -> Status {
      opened = TRY(open_foreign_library(
          tensorflow, search_for(tensorflow, "libtensorflow_cc.so.2", "tensorflow/libtensorflow_cc.so.2")));
      return {};
    });
  });
  opener.join();
  TRY(std::move(done));
  return opened;
}

}  // namespace

Result<std::unique_ptr<Library>> Library::open() {
  const OpenedLibrary opened = TRY(open_quietly());
  auto library = std::make_unique<Library>();
  Finder finder(opened.handle);
  find_basics(finder, library->api_);
  library->path_ = opened.path;
  if (library->api_.version != nullptr) library->version_ = library->api_.version();
  if (!is_version_in_range(library->version_)) {
    return fail("{} is TensorFlow {}, want 2.{} or newer of major version 2; {}", opened.path,
                library->version_, oldest_minor_version, tensorflow.remedy());
  }
  find_tensors(finder, library->api_);
  find_graphs(finder, library->api_);
  find_sessions(finder, library->api_);
  if (!finder.missing.empty()) {
    return fail("{} (TensorFlow {}) lacks {}; {}", opened.path, library->version_,
                fmt::join(finder.missing, ", "), tensorflow.remedy());
  }
  return library;
}

Result<const Library*> Library::get() {
  static std::mutex mutex;
  static const Library* library = nullptr;  // never freed: tensors of ours may outlive every static object
  std::lock_guard lock(mutex);
  if (library == nullptr) library = TRY(open()).release();
  return library;
}

Status Library::load_operators(const std::string& path) const {
  TRY(with_context(check_regular_file(path), "library of operators '{}'", path));
  std::error_code error;
  const std::string whole = std::filesystem::weakly_canonical(path, error).string();
  std::lock_guard lock(mutex_);
  if (loaded_.contains(whole)) return {};
  CallStatus status(*this);
  api_.load_library(whole.c_str(), status);
  TRY(with_context(status.check(), "library of operators '{}'", path));
  loaded_.insert(whole);
  return {};
}

Status CallStatus::check() const {
  if (library_.api().code(status_) == 0) return {};
  return fail("{}", library_.api().message(status_));
}

}  // namespace intarsia::tf
