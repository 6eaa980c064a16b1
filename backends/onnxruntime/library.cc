#include "backends/onnxruntime/library.h"

#include <charconv>
#include <mutex>

#include "base/bytes.h"

namespace intarsia::ort {
namespace {

constexpr uint32_t api_version = 16;
constexpr ForeignLibrary onnxruntime{"ONNX Runtime", "OrtGetApiBase", "libonnxruntime.so",
                                     "INTARSIA_ONNXRUNTIME", "onnxruntime"};

/// Table that the only exported entry point returns.
struct ApiBase {
  void* const* (*api)(uint32_t version);
  const char* (*version)();
};
using GetApiBase = const ApiBase* (*)();

/// Checks whether the major version is 1 and the minor one at least the oldest, as in "1.31.1".
bool is_version_in_range(std::string_view version) {
  int minor = 0;
  if (!version.starts_with("1.")) return false;
  version.remove_prefix(2);
  std::from_chars(version.data(), version.data() + version.size(), minor);
  return minor >= oldest_minor_version;
}

}  // namespace

LibrarySearch default_search() {
  return search_for(onnxruntime, "libonnxruntime.so.1", "onnxruntime/capi/libonnxruntime.so.*");
}

Status Library::check(OrtStatus* status) const {
  if (status == nullptr) return {};
  constexpr int not_implemented = 9;  // ORT_NOT_IMPLEMENTED
  const bool is_lacking = api_.status_code(status) == not_implemented;
  Error error{api_.status_message(status), is_lacking ? ErrorKind::unsupported : ErrorKind::unknown};
  api_.release_status(status);
  return tl::unexpected(std::move(error));
}

Status Library::start() {
  TRY(check(api_.default_allocator(&allocator_)));
  constexpr int arena_allocator = 1, default_memory = 0;
  return check(api_.create_cpu_memory_info(arena_allocator, default_memory, &cpu_memory_));
}

/// A model of one node, y = Identity(x) of one float, as the bytes of its ModelProto.
constexpr std::string_view identity_model =
    "\x08\x08"                                    // ir_version 8
    "\x3A\x2B"                                    // graph
    "\x0A\x10\x0A\x01x\x12\x01y\x22\x08Identity"  // node: input, output, op_type
    "\x12\x01g"                                   // name
    "\x5A\x09\x0A\x01x\x12\x04\x0A\x02\x08\x01"   // input x: float
    "\x62\x09\x0A\x01y\x12\x04\x0A\x02\x08\x01"   // output y: float
    "\x42\x02\x10\x0D";                           // opset_import 13

/// Checks whether sessions can use the environment's pool. A process has one environment: where another user
/// of the library made it first (another copy of ours counts as one), we get that one, whether it has a pool
/// or not, and the library reports this only when a session asks for the pool.
bool has_pool(const Api& api, const Env* env) {
  SessionOptions* options = nullptr;
  Session* session = nullptr;
  OrtStatus* status = api.create_session_options(&options);
  if (status == nullptr) status = api.use_pool_of_env(options);
  if (status == nullptr) {
    status =
        api.create_session_from_array(env, identity_model.data(), identity_model.size(), options, &session);
  }
  if (options != nullptr) api.release_session_options(options);
  if (status == nullptr) api.release_session(session);
  if (status != nullptr) api.release_status(status);
  return status == nullptr;
}

/// Makes the environment. Idle workers of the pool sleep and leave their cores to others. They run where the
/// thread that makes them may run.
Result<std::shared_ptr<const Environment>> Library::make_environment(const SharedPool& pool) const {
  Env* env = nullptr;
  if (pool.threads < 2) {
    TRY(check(api_.create_env(log_level_error, "intarsia", &env)));
    return std::make_shared<const Environment>(api_, env, SharedPool());
  }
  ThreadingOptions* raw = nullptr;
  TRY(check(api_.create_threading_options(&raw)));
  const auto release = [this](ThreadingOptions* options) { api_.release_threading_options(options); };
  const std::unique_ptr<ThreadingOptions, decltype(release)> options(raw, release);
  TRY(check(api_.set_pool_intra_op_threads(raw, pool.threads)));
  TRY(check(api_.set_pool_inter_op_threads(raw, 1)));
  TRY(check(api_.set_pool_spinning(raw, 0)));
  std::optional<BoundThread> bound;
  if (pool.cores) bound.emplace(*pool.cores);
  TRY(check(api_.create_env_with_pool(log_level_error, "intarsia", raw, &env)));
  return std::make_shared<const Environment>(api_, env, has_pool(api_, env) ? pool : SharedPool());
}

Result<std::shared_ptr<const Environment>> Library::environment(const SharedPool& wanted) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Environment> environment = environment_.lock();
  if (environment == nullptr) environment_ = environment = TRY(make_environment(wanted));
  return environment;
}

Result<std::unique_ptr<Library>> Library::open(const LibrarySearch& search) {
  const OpenedLibrary opened = TRY(open_foreign_library(onnxruntime, search));
  const ApiBase* base = as_function<GetApiBase>(opened.entry)();
  const std::string version = base->version();
  void* const* table = is_version_in_range(version) ? base->api(api_version) : nullptr;
  if (table == nullptr) {
    return fail(ErrorKind::version, "{} is ONNX Runtime {}, want 1.{} or newer of major version 1; {}",
                opened.path, version, oldest_minor_version, onnxruntime.remedy());
  }
  std::unique_ptr<Library> library(new Library(table, version, opened.path));
  TRY(with_context(library->start(), "{}", opened.path));
  return library;
}

Result<const Library*> Library::get() {
  static std::mutex mutex;
  static const Library* library = nullptr;  // never freed: values of ours may outlive every static object
  std::lock_guard lock(mutex);
  if (library == nullptr) library = TRY(open(default_search())).release();
  return library;
}

}  // namespace intarsia::ort
