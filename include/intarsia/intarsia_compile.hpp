// Compiling for C++17: intarsia_compile.h with values and exceptions. Header-only; link libintarsia (and
// libdl). libintarsia_compile.so is opened on first use, so code that only runs programs does not need the
// compiler.
//
//   intarsia::Compiler::get().compile("resnet.onnx", "resnet.so");
//   auto program = intarsia::Program::load("resnet.so");
#ifndef INTARSIA_INTARSIA_COMPILE_HPP_
#define INTARSIA_INTARSIA_COMPILE_HPP_

#include <dlfcn.h>
#include <intarsia/intarsia_compile.h>
#include <intarsia/intarsia.hpp>

#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace intarsia {
inline namespace v1 {

/// Choices of CompileOptions; intarsia_compile_request describes them, and detail::Words spells them.
enum class Fallback { automatic, none };
enum class Math { fast, exact };
enum class Precision { f32, bf16, f16, automatic };
enum class Optimize { speed, size };
enum class Tune { fast, off, full };
enum class Objective { latency, throughput };
enum class Prefer { self_contained, fastest };
enum class Emit { so, c };
enum class Constants { object, file, array };

/// Fields of intarsia_compile_request, which describes them. Errors name a field as the command line does.
struct CompileOptions {
  std::vector<std::string> devices, backends, shapes, pins, kernels, print_after, signatures, op_libraries,
      also, memory, cuts, tune_at, c_names;
  Fallback fallback = Fallback::automatic;
  Math math = Math::fast;
  Precision precision = Precision::f32;
  double max_error = 0;
  std::vector<NamedView> inputs;
  Optimize optimize = Optimize::speed;
  Tune tune = Tune::fast;
  Objective objective = Objective::latency;
  Prefer prefer = Prefer::self_contained;
  Emit emit = Emit::so;
  Constants constants = Constants::object;
  std::string arch, cpu = "native", stop_after, cache, plan, save_plan, stages;
  int threads = 0;  // number of threads; 0: all cores
  double tune_seconds = 0;
  bool strip_names = false, dry_run = false;
  std::function<void(const std::string& phase, int done, int total)> progress;
  std::function<void(const std::string& text)> print;
  std::function<bool()> is_cancelled;  // whether to end the compile with the error "interrupted"
};

struct CheckOptions {
  std::string model, against;     // empty: like NULL in intarsia_check_request
  double rtol = -1, atol = -1;    // tolerances; negative: the defaults
  std::vector<NamedView> inputs;  // inputs that are given; all others are filled
  std::vector<Binding> bindings;
  bool bisect = false;
  CompileOptions compile;
};

struct RewriteOptions {
  bool force = false;                          // whether an older SavedModel is replaced
  std::vector<NamedView> inputs;               // inputs to time with; all others are filled
  bool keep_variables = false;                 // whether variables that nothing reads any more stay
  std::vector<std::string> replacements = {};  // nodes to replace: "SCOPE=PROGRAM:FUNCTION"
  CompileOptions compile;
};

struct CheckReport {
  bool ok = false;
  std::string json;
};

/// Fields of intarsia_explanation, which describes them.
struct Explanation {
  std::string json, text, nodes, dot, html;
};

/// Fields of intarsia_rewrite_report, which describes them.
struct RewriteReport {
  std::string json, html;
};

namespace detail {

/// Words of a choice, in the order of its enumerators.
template <typename Choice>
struct Words;
template <>
struct Words<Fallback> {
  static constexpr const char* list[] = {"auto", "none"};
};
template <>
struct Words<Math> {
  static constexpr const char* list[] = {"fast", "exact"};
};
template <>
struct Words<Precision> {
  static constexpr const char* list[] = {"f32", "bf16", "f16", "auto"};
};
template <>
struct Words<Optimize> {
  static constexpr const char* list[] = {"speed", "size"};
};
template <>
struct Words<Tune> {
  static constexpr const char* list[] = {"fast", "off", "full"};
};
template <>
struct Words<Objective> {
  static constexpr const char* list[] = {"latency", "throughput"};
};
template <>
struct Words<Prefer> {
  static constexpr const char* list[] = {"self-contained", "fastest"};
};
template <>
struct Words<Emit> {
  static constexpr const char* list[] = {"so", "c"};
};
template <>
struct Words<Constants> {
  static constexpr const char* list[] = {"object", "file", "array"};
};

/// Returns the word of a choice. Throws Error (invalid_argument) for a number that no enumerator has.
template <typename Choice>
const char* word_of(Choice choice) {
  const auto number = static_cast<size_t>(choice);
  if (number < std::size(Words<Choice>::list)) return Words<Choice>::list[number];
  throw Error("no such choice: " + std::to_string(number), INTARSIA_ERROR_INVALID_ARGUMENT);
}

/// Returns the choice of a word. Throws Error (invalid_argument), which names the option, for any other word.
template <typename Choice>
Choice choice_of(const std::string& word, const char* option) {
  std::string wanted;
  for (const char* const& known : Words<Choice>::list) {
    if (word == known) return static_cast<Choice>(&known - Words<Choice>::list);
    wanted += (wanted.empty() ? "" : " or ") + std::string(known);
  }
  throw Error(option + (" " + word) + ": want " + wanted, INTARSIA_ERROR_INVALID_ARGUMENT);
}

/// Strings in the form of the C API; refers to the list, which must outlive it.
class StringList {
 public:
  explicit StringList(const std::vector<std::string>& list) {
    for (const std::string& text : list) pointers_.push_back(text.c_str());
  }
  intarsia_strings get() const { return {pointers_.data(), pointers_.size()}; }

 private:
  std::vector<const char*> pointers_;
};

/// A request of the C API; refers to the options, which must outlive it.
class RequestHolder {
 public:
  RequestHolder(const std::string& model, const std::string& program, const CompileOptions& options)
      : devices_(options.devices),
        backends_(options.backends),
        shapes_(options.shapes),
        pins_(options.pins),
        kernels_(options.kernels),
        print_after_(options.print_after),
        signatures_(options.signatures),
        op_libraries_(options.op_libraries),
        also_(options.also),
        memory_(options.memory),
        cuts_(options.cuts),
        tune_at_(options.tune_at),
        c_names_(options.c_names),
        inputs_(detail::tensors(options.inputs)) {
    request_.struct_size = sizeof(request_);
    request_.model = model.c_str();
    request_.program = program.c_str();
    request_.devices = devices_.get();
    request_.backends = backends_.get();
    request_.shapes = shapes_.get();
    request_.pins = pins_.get();
    request_.fallback = word_of(options.fallback);
    request_.cpu = options.cpu.c_str();
    if (!options.arch.empty()) request_.arch = options.arch.c_str();
    request_.threads = options.threads;
    request_.kernels = kernels_.get();
    request_.strip_names = options.strip_names;
    request_.dry_run = options.dry_run;
    request_.print_after = print_after_.get();
    if (!options.stop_after.empty()) request_.stop_after = options.stop_after.c_str();
    request_.math = word_of(options.math);
    request_.tune = word_of(options.tune);
    request_.tune_seconds = options.tune_seconds;
    if (!options.cache.empty()) request_.cache = options.cache.c_str();
    request_.also = also_.get();
    request_.memory = memory_.get();
    request_.objective = word_of(options.objective);
    if (!options.stages.empty()) request_.stages = options.stages.c_str();
    request_.cuts = cuts_.get();
    // Libraries older than these fields accept a request that leaves them out.
    if (options.prefer != Prefer::self_contained) request_.prefer = word_of(options.prefer);
    if (options.optimize != Optimize::speed) request_.optimize = word_of(options.optimize);
    request_.tune_at = tune_at_.get();
    if (options.precision != Precision::f32) request_.precision = word_of(options.precision);
    request_.max_error = options.max_error;
    if (options.emit != Emit::so) request_.emit = word_of(options.emit);
    if (options.constants != Constants::object) request_.constants = word_of(options.constants);
    request_.c_names = c_names_.get();
    request_.inputs = inputs_.data();
    request_.input_count = inputs_.size();
    if (!options.plan.empty()) request_.plan = options.plan.c_str();
    if (!options.save_plan.empty()) request_.save_plan = options.save_plan.c_str();
    request_.signatures = signatures_.get();
    request_.op_libraries = op_libraries_.get();
    request_.user = const_cast<CompileOptions*>(&options);
    if (options.progress) request_.progress = forward_progress;
    if (options.print) request_.print = forward_print;
    if (options.is_cancelled) request_.is_cancelled = forward_is_cancelled;
  }
  RequestHolder(const RequestHolder&) = delete;
  RequestHolder& operator=(const RequestHolder&) = delete;
  const intarsia_compile_request* get() const { return &request_; }

 private:
  static void forward_progress(void* user, const char* phase, int32_t done, int32_t total) {
    static_cast<const CompileOptions*>(user)->progress(phase, done, total);
  }
  static void forward_print(void* user, const char* text) {
    static_cast<const CompileOptions*>(user)->print(text);
  }

  static int32_t forward_is_cancelled(void* user) {
    return static_cast<const CompileOptions*>(user)->is_cancelled() ? 1 : 0;
  }

  StringList devices_, backends_, shapes_, pins_, kernels_, print_after_, signatures_, op_libraries_, also_,
      memory_, cuts_, tune_at_, c_names_;
  std::vector<intarsia_tensor> inputs_;
  intarsia_compile_request request_{};
};

}  // namespace detail

class Peer;

/// The library libintarsia_compile.so, opened once per process. Texts are the JSON objects of docs/json.md.
class Compiler {
 public:
  /// Returns the compiler, which has the devices, plug-ins and threads of libintarsia.so. The library is
  /// searched for next to that one, then by the loader's rules. Throws if it is missing or has another
  /// version.
  static const Compiler& get() {
    static const Compiler compiler;
    return compiler;
  }

  std::string compile(const std::string& model, const std::string& program,
                      const CompileOptions& options = {}) const {
    const detail::RequestHolder request(model, program, options);
    char* report = nullptr;
    detail::check(compile_(request.get(), &report));
    return take(report);
  }

  Explanation explain(const std::string& model_or_program, const CompileOptions& options = {}) const {
    const std::string none;
    const detail::RequestHolder request(model_or_program, none, options);
    intarsia_explanation made{};
    made.struct_size = sizeof(made);
    detail::check(explain_all_(request.get(), &made));
    return {take(made.json), take(made.text), take(made.nodes), take(made.dot), take(made.html)};
  }

  /// Writes a copy of the ONNX model to `path` that says where its nodes run in the plan of explain().
  void annotate(const std::string& model, const std::string& path, const CompileOptions& options = {}) const {
    const std::string none;
    const detail::RequestHolder request(model, none, options);
    detail::check(annotate_(request.get(), path.c_str()));
  }

  /// Cuts the model at these values and writes one model per stage and their pipeline.json into the folder.
  /// Uses only the shapes of the options. Returns the object of `intarsia split --json`.
  std::string split(const std::string& model, const std::vector<std::string>& cuts, const std::string& folder,
                    const CompileOptions& options = {}) const {
    const std::string none;
    const detail::RequestHolder request(model, none, options);
    std::vector<const char*> values;
    for (const std::string& cut : cuts) values.push_back(cut.c_str());
    char* json = nullptr;
    detail::check(split_(request.get(), values.data(), values.size(), folder.c_str(), &json));
    return take(json);
  }

  /// Rewrites a SavedModel into the folder `output` (intarsia_rewrite).
  RewriteReport rewrite(const std::string& model, const std::string& output,
                        const RewriteOptions& options = {}) const {
    const std::string none;
    const detail::RequestHolder compile(model, none, options.compile);
    const std::vector<intarsia_tensor> inputs = detail::tensors(options.inputs);
    intarsia_rewrite_request request{};
    request.struct_size = sizeof(request);
    request.compile = compile.get();
    request.output = output.c_str();
    request.force = options.force;
    request.keep_variables = options.keep_variables;
    request.inputs = inputs.data();
    request.input_count = inputs.size();
    const detail::StringList replacements(options.replacements);
    request.replacements = replacements.get();
    intarsia_rewrite_report made{};
    made.struct_size = sizeof(made);
    detail::check(rewrite_(&request, &made));
    return {take(made.json), take(made.html)};
  }

  /// Writes a folder of kernels that another machine times (intarsia_tune_pack). Returns the object of
  /// `intarsia tune-pack --json`.
  std::string tune_pack(const std::string& model, const std::string& folder,
                        const CompileOptions& options = {}) const {
    const std::string none;
    const detail::RequestHolder request(model, none, options);
    char* json = nullptr;
    detail::check(tune_pack_(request.get(), folder.c_str(), &json));
    return take(json);
  }

  /// Writes the measured times of kernels for a processor to a file (intarsia_export_costs). An empty `cache`
  /// is the user's cache folder. Returns the object of `intarsia costs export --json`.
  std::string export_costs(const std::string& path, const std::string& cpu = "native",
                           const std::string& cache = "") const {
    char* json = nullptr;
    detail::check(export_costs_(cache.c_str(), cpu.c_str(), path.c_str(), &json));
    return take(json);
  }

  /// Keeps the times in a file (intarsia_import_costs). Returns the object of `intarsia costs import --json`.
  std::string import_costs(const std::string& path, const std::string& cache = "") const {
    char* json = nullptr;
    detail::check(import_costs_(cache.c_str(), path.c_str(), &json));
    return take(json);
  }

  /// Writes a program of functions that Halide compiled: pairs of a name and the bytes of an object file
  /// (intarsia_export_functions).
  void export_functions(const std::vector<std::pair<std::string, std::string>>& functions,
                        const std::string& path, const CompileOptions& options = {}) const {
    const std::string none;
    const detail::RequestHolder request(none, path, options);
    std::vector<intarsia_function_object> objects;
    for (const auto& [name, object] : functions)
      objects.push_back({sizeof(intarsia_function_object), name.c_str(), object.data(), object.size()});
    detail::check(export_functions_(request.get(), objects.data(), objects.size()));
  }

  /// Writes a program of the Halide generators that a library registers (intarsia_export_generators).
  void export_generators(const std::string& library, const std::vector<std::string>& generators,
                         const std::string& path, const CompileOptions& options = {}) const {
    const std::string none;
    const detail::RequestHolder request(none, path, options);
    std::vector<const char*> names;
    for (const std::string& generator : generators) names.push_back(generator.c_str());
    detail::check(export_generators_(request.get(), library.c_str(), names.data(), names.size()));
  }

  CheckReport check(const std::string& model_or_program, const CheckOptions& options = {}) const {
    const std::string none;
    const detail::RequestHolder compile(none, none, options.compile);
    const std::vector<intarsia_tensor> inputs = detail::tensors(options.inputs);
    std::vector<intarsia_binding> bindings;
    for (const Binding& binding : options.bindings)
      bindings.push_back({binding.first.c_str(), binding.second.c_str()});
    intarsia_check_request request{};
    request.struct_size = sizeof(request);
    request.path = model_or_program.c_str();
    if (!options.model.empty()) request.model = options.model.c_str();
    if (!options.against.empty()) request.against = options.against.c_str();
    request.rtol = options.rtol;
    request.atol = options.atol;
    request.inputs = inputs.data();
    request.input_count = inputs.size();
    request.compile = compile.get();
    request.bindings = bindings.data();
    request.binding_count = bindings.size();
    request.bisect = options.bisect;
    int32_t ok = 0;
    char* report = nullptr;
    detail::check(check_(&request, &ok, &report));
    return {ok != 0, take(report)};
  }

  /// Compares the results of two runtimes like check() by default. The JSON is an entry of check()'s outputs.
  /// `rtol` as in CheckOptions.
  CheckReport compare(const intarsia_tensor& actual, const intarsia_tensor& reference,
                      double rtol = -1) const {
    int32_t ok = 0;
    char* report = nullptr;
    detail::check(compare_(&actual, &reference, rtol, -1, &ok, &report));
    return {ok != 0, take(report)};
  }

  /// Checks whether each of `threads` threads has its own core now.
  bool has_free_cores(int threads) const { return has_free_cores_(threads) != 0; }

  /// Opens a model in another runtime. The inputs' data must outlive the peer.
  Peer open_peer(const std::string& runtime, const std::string& configuration, const std::string& model,
                 int threads, const std::vector<NamedView>& inputs, const std::string& signature = {},
                 const std::vector<std::string>& op_libraries = {},
                 Precision precision = Precision::f32) const;

  std::string backends() const { return text_of(backends_); }
  std::string pass_names() const { return text_of(pass_names_); }

 private:
  Compiler() {
    void* library = open();
    decltype(&intarsia_compile_api_version) version = nullptr;
    find(library, "intarsia_compile_api_version", version);
    if (version() != INTARSIA_API_VERSION) {
      throw Error("libintarsia_compile.so has API version " + std::to_string(version()) + ", want " +
                      std::to_string(INTARSIA_API_VERSION) + ": install both libraries of one release",
                  INTARSIA_ERROR_VERSION);
    }
    find(library, "intarsia_text_release", release_);
    find(library, "intarsia_compile", compile_);
    find(library, "intarsia_explain_all", explain_all_);
    find(library, "intarsia_annotate", annotate_);
    find(library, "intarsia_split", split_);
    find(library, "intarsia_rewrite", rewrite_);
    find(library, "intarsia_tune_pack", tune_pack_);
    find(library, "intarsia_export_costs", export_costs_);
    find(library, "intarsia_import_costs", import_costs_);
    find(library, "intarsia_export_functions", export_functions_);
    find(library, "intarsia_export_generators", export_generators_);
    find(library, "intarsia_check", check_);
    find(library, "intarsia_compare", compare_);
    find(library, "intarsia_has_free_cores", has_free_cores_);
    find(library, "intarsia_peer_open", peer_open_);
    find(library, "intarsia_peer_close", peer_close_);
    find(library, "intarsia_peer_version", peer_version_);
    find(library, "intarsia_peer_run", peer_run_);
    find(library, "intarsia_peer_lane_count", peer_lane_count_);
    find(library, "intarsia_peer_run_lane", peer_run_lane_);
    find(library, "intarsia_peer_output_count", peer_output_count_);
    find(library, "intarsia_peer_output", peer_output_);
    find(library, "intarsia_backends", backends_);
    find(library, "intarsia_pass_names", pass_names_);
  }

  /// Opens the library, which stays open until the process ends.
  static void* open() {
    const std::string name = "libintarsia_compile.so";
    std::string folder;
    // Ask the loader first: an executable's own address of a function may be a stub in the executable.
    void* symbol = dlsym(RTLD_DEFAULT, "intarsia_version");
    if (symbol == nullptr) symbol = reinterpret_cast<void*>(&intarsia_version);
    Dl_info info{};
    if (dladdr(symbol, &info) != 0 && info.dli_fname != nullptr) folder = info.dli_fname;
    folder.resize(folder.find_last_of('/') == std::string::npos ? 0 : folder.find_last_of('/') + 1);
    if (!folder.empty()) {
      if (void* library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
    const char* reason = folder.empty() ? nullptr : dlerror();
    const std::string own_folder = reason == nullptr ? "" : reason;
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const std::string why = own_folder.empty() ? dlerror() : own_folder;
    // The version of what only libraries of one release share (registry/run_exports.map.in).
    if (why.find("INTARSIA_PRIVATE_") != std::string::npos) {
      throw Error(name + " and libintarsia.so are of different releases (" + why +
                      "): install both libraries of one release",
                  INTARSIA_ERROR_VERSION);
    }
    throw Error("compiling needs " + name + ", which cannot be opened (" + why + "); programs run without it",
                INTARSIA_ERROR_NOT_FOUND);
  }

  template <typename Function>
  static void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr)
      throw Error(
          std::string("libintarsia_compile.so lacks ") + name + ": install both libraries of one release",
          INTARSIA_ERROR_VERSION);
  }

  std::string take(char* text) const {
    const std::unique_ptr<char, void (*)(char*)> owner(text, release_);
    return text == nullptr ? std::string() : std::string(text);
  }

  std::string text_of(intarsia_error* (*call)(char**)) const {
    char* text = nullptr;
    detail::check(call(&text));
    return take(text);
  }

  decltype(&intarsia_text_release) release_ = nullptr;
  decltype(&intarsia_compile) compile_ = nullptr;
  decltype(&intarsia_explain_all) explain_all_ = nullptr;
  decltype(&intarsia_annotate) annotate_ = nullptr;
  decltype(&intarsia_split) split_ = nullptr;
  decltype(&intarsia_rewrite) rewrite_ = nullptr;
  decltype(&intarsia_tune_pack) tune_pack_ = nullptr;
  decltype(&intarsia_export_costs) export_costs_ = nullptr;
  decltype(&intarsia_import_costs) import_costs_ = nullptr;
  decltype(&intarsia_export_functions) export_functions_ = nullptr;
  decltype(&intarsia_export_generators) export_generators_ = nullptr;
  decltype(&intarsia_check) check_ = nullptr;
  decltype(&intarsia_compare) compare_ = nullptr;
  decltype(&intarsia_has_free_cores) has_free_cores_ = nullptr;
  decltype(&intarsia_peer_open) peer_open_ = nullptr;
  decltype(&intarsia_peer_close) peer_close_ = nullptr;
  decltype(&intarsia_peer_version) peer_version_ = nullptr;
  decltype(&intarsia_peer_run) peer_run_ = nullptr;
  decltype(&intarsia_peer_lane_count) peer_lane_count_ = nullptr;
  decltype(&intarsia_peer_run_lane) peer_run_lane_ = nullptr;
  decltype(&intarsia_peer_output_count) peer_output_count_ = nullptr;
  decltype(&intarsia_peer_output) peer_output_ = nullptr;
  decltype(&intarsia_backends) backends_ = nullptr;
  decltype(&intarsia_pass_names) pass_names_ = nullptr;
  friend class Peer;
};

/// A model opened in another runtime, with its inputs (intarsia_peer). Move-only.
class Peer {
 public:
  std::string version() const { return compiler_->peer_version_(peer_.get()); }
  void run() { detail::check(compiler_->peer_run_(peer_.get())); }
  /// Returns how many runs are possible at a time.
  size_t lane_count() const { return compiler_->peer_lane_count_(peer_.get()); }
  /// Runs in a lane. Different threads may run in different lanes at once.
  void run_lane(size_t lane) { detail::check(compiler_->peer_run_lane_(peer_.get(), lane)); }

  /// Returns the outputs of the last run in lane 0, in the model's order; drop them before the next run.
  std::vector<Value> outputs() {
    size_t count = 0;
    detail::check(compiler_->peer_output_count_(peer_.get(), &count));
    std::vector<Value> values;
    for (size_t i = 0; i < count; ++i) {
      intarsia_tensor tensor{};
      tensor.struct_size = sizeof(tensor);
      detail::check(compiler_->peer_output_(peer_.get(), i, &tensor));
      values.emplace_back(tensor);
    }
    return values;
  }

 private:
  friend class Compiler;
  Peer(const Compiler& compiler, intarsia_peer* peer)
      : compiler_(&compiler), peer_(peer, compiler.peer_close_) {}

  const Compiler* compiler_;
  std::unique_ptr<intarsia_peer, void (*)(intarsia_peer*)> peer_;
};

inline Peer Compiler::open_peer(const std::string& runtime, const std::string& configuration,
                                const std::string& model, int threads, const std::vector<NamedView>& inputs,
                                const std::string& signature, const std::vector<std::string>& op_libraries,
                                Precision precision) const {
  const std::vector<intarsia_tensor> tensors = detail::tensors(inputs);
  const detail::StringList libraries(op_libraries);
  intarsia_peer_request request{};
  request.struct_size = sizeof(request);
  request.runtime = runtime.c_str();
  if (!configuration.empty()) request.configuration = configuration.c_str();
  request.model = model.c_str();
  request.threads = threads;
  request.inputs = tensors.data();
  request.input_count = tensors.size();
  if (!signature.empty()) request.signature = signature.c_str();
  request.op_libraries = libraries.get();
  if (precision != Precision::f32) request.precision = detail::word_of(precision);
  intarsia_peer* peer = nullptr;
  detail::check(peer_open_(&request, &peer));
  return Peer(*this, peer);
}

}  // namespace v1
}  // namespace intarsia

#endif  // INTARSIA_INTARSIA_COMPILE_HPP_
