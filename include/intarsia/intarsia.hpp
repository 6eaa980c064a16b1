// Intarsia for C++17: intarsia.h with values, lifetimes and exceptions. Header-only; link libintarsia.
//
//   auto program = intarsia::Program::load("resnet.so");
//   auto session = program.bind({{"accel", "sim:0"}});
//   std::vector<float> image(1 * 3 * 224 * 224), scores(1000);
//   session.run({{"image", {image.data(), {1, 3, 224, 224}}}}, {{"scores", {scores.data(), {1, 1000}}}});
//
// Any number of threads may call program.run(inputs, outputs), which uses sessions that the program keeps.
#ifndef INTARSIA_INTARSIA_HPP_
#define INTARSIA_INTARSIA_HPP_

#include <intarsia/intarsia.h>
#include <intarsia/intarsia_value.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace intarsia {
inline namespace v1 {

/// A library with its own devices (plugin.h) that this process has loaded.
struct Plugin {
  std::string name, version, path;
};

/// Loads a plug-in; one that is loaded already is not an error. Call it before loading programs that need it,
/// and before compiling for its devices. Throws if it cannot be loaded (intarsia_load_plugin).
inline void load_plugin(const std::string& path) { detail::check(intarsia_load_plugin(path.c_str())); }

/// Returns the plug-ins of this process, with those that INTARSIA_PLUGINS names.
inline std::vector<Plugin> plugins() {
  std::vector<Plugin> all;
  for (size_t i = 0; i < intarsia_plugin_count(); ++i) {
    intarsia_plugin_description plugin{};
    plugin.struct_size = sizeof(plugin);
    detail::check(intarsia_plugin_info(i, &plugin));
    all.push_back({plugin.name, plugin.version, plugin.path});
  }
  return all;
}

using Binding = std::pair<std::string, std::string>;  // slot, device
using NamedView = std::pair<std::string, View>;
using NamedSizes = std::pair<std::string, std::vector<int64_t>>;  // of an argument

/// Reaction of a session to a device that is lost during a run: switching to the function's next alternative,
/// if it has one, or throwing.
enum class OnDeviceLost {
  alternative = INTARSIA_ON_DEVICE_LOST_ALTERNATIVE,
  error = INTARSIA_ON_DEVICE_LOST_ERROR
};

/// An input or output of a function. Size -1: open until a run, or known only after it.
struct Argument {
  std::string name;
  int32_t kind = INTARSIA_TENSOR;
  int32_t dtype = INTARSIA_UNDEFINED;
  bool rank_known = true;
  std::vector<int64_t> shape;
  int64_t index_limit = 0;  // exclusive upper bound of an input whose integers are indices; 0 if not known
  std::vector<std::string> sizes;    // expression of each open size ("batch", "past+1"); empty for others
  std::vector<int64_t> tuned_shape;  // sizes that the program was measured with (inputs)
};

/// Named size that is open until a run (intarsia_symbol).
struct Symbol {
  std::string name;
  int64_t min = 0, max = 0;
};

namespace detail {

/// Bind options in the form of the C API; refers to the bindings, which must outlive it.
class BindOptions {
 public:
  BindOptions(const std::vector<Binding>& devices, int threads,
              OnDeviceLost on_device_lost = OnDeviceLost::alternative, uint64_t most_bytes = 0,
              bool in_place = false) {
    for (const Binding& binding : devices)
      bindings_.push_back({binding.first.c_str(), binding.second.c_str()});
    const auto lost = static_cast<int64_t>(on_device_lost);
    options_ = {sizeof(options_), bindings_.data(), bindings_.size(), threads, lost, most_bytes, in_place};
  }
  BindOptions(const BindOptions&) = delete;
  BindOptions& operator=(const BindOptions&) = delete;
  const intarsia_bind_options* get() const { return &options_; }

 private:
  std::vector<intarsia_binding> bindings_;
  intarsia_bind_options options_{};
};

/// Returns the tensor in the form of the C API; refers to the name and the view, which must outlive it.
inline intarsia_tensor tensor(const std::string& name, const View& view) {
  intarsia_tensor tensor{};
  tensor.struct_size = sizeof(tensor);
  tensor.name = name.c_str();
  tensor.dtype = view.dtype;
  tensor.data = view.data;
  tensor.rank = view.shape.size();
  tensor.shape = view.shape.data();
  return tensor;
}

inline std::vector<intarsia_tensor> tensors(const std::vector<NamedView>& views) {
  std::vector<intarsia_tensor> all;
  for (const NamedView& view : views) all.push_back(tensor(view.first, view.second));
  return all;
}

/// Returns outputs whose memory the run allocates; refers to the names, which must outlive it.
inline std::vector<intarsia_tensor> outputs(const std::vector<std::string>& names) {
  std::vector<intarsia_tensor> all;
  for (const std::string& name : names) all.push_back(tensor(name, View()));
  return all;
}

inline Argument argument(const intarsia_argument& from) {
  const size_t rank = from.rank < 0 ? 0 : static_cast<size_t>(from.rank);
  Argument to{from.name, from.kind, from.dtype, from.rank >= 0, {}, from.index_limit, {}, {}};
  to.shape.assign(from.shape, from.shape + rank);
  to.sizes.resize(rank);
  if (from.tuned_shape != nullptr) to.tuned_shape.assign(from.tuned_shape, from.tuned_shape + rank);
  return to;
}

}  // namespace detail

/// Shape of an argument. Size -1: known only after a run (of an output).
struct NamedShape {
  std::string name;
  bool rank_known = true;
  std::vector<int64_t> shape;
};

struct Function {
  std::string name;
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Symbol> symbols;
};

/// A way to run a function (intarsia_alternative).
struct Alternative {
  size_t number = 0;         // index; 0 is the one that was chosen when the model was compiled
  std::string targets;       // "halide@cpu + reference@cpu"
  uint64_t measured_ns = 0;  // time of a run on the compiling machine; 0 if not measured
  std::string reason;        // why earlier ones cannot run here, or no longer can; empty for number 0
};

/// Copies to and from a device's memory (intarsia_copy_counts).
struct CopyCounts {
  uint64_t uploads = 0, uploaded_bytes = 0, downloads = 0, downloaded_bytes = 0, direct = 0, direct_bytes = 0;
};

/// Part of a run that takes time (intarsia_profile_entry).
struct ProfileEntry {
  std::string kind;                                        // "kernel", "operator", "region" or "copy"
  std::string name;                                        // "conv1: Conv Relu"
  std::string target;                                      // "halide@cpu"; for a copy the device
  uint64_t time_ns = 0;                                    // time per run
  std::vector<std::pair<std::string, std::string>> nodes;  // nodes of the model: name, operator
  int32_t dtype = INTARSIA_UNDEFINED;                      // element type of its output
  bool shape_known = false;
  std::vector<int64_t> shape;          // shape of its output
  std::vector<int64_t> weights_shape;  // shape of a contraction's second operand; empty if none, or not known
  uint64_t flops = 0;                  // a multiply and an add are two; 0 if no products, or not known
  uint64_t bytes = 0;                  // bytes read and written, each counted once; 0 if not known
  std::string algorithm;               // "winograd 4x4, tile 6x32"; empty if not known
};

struct Profile {
  size_t runs = 0;                    // runs that were timed
  uint64_t run_ns = 0;                // time of a whole run
  std::vector<ProfileEntry> entries;  // entries, the one that takes most time first
};

namespace detail {

inline ProfileEntry profile_entry(const intarsia_profile_entry& from) {
  ProfileEntry entry;
  entry.kind = from.kind;
  entry.name = from.name;
  entry.target = from.target;
  entry.time_ns = from.time_ns;
  for (size_t i = 0; i < from.node_count; ++i) entry.nodes.emplace_back(from.nodes[i], from.ops[i]);
  entry.dtype = from.dtype;
  entry.shape_known = from.rank >= 0;
  if (entry.shape_known) entry.shape.assign(from.shape, from.shape + from.rank);
  entry.weights_shape.assign(from.weights_shape, from.weights_shape + from.weights_rank);
  entry.flops = from.flops;
  entry.bytes = from.bytes;
  entry.algorithm = from.algorithm;
  return entry;
}

/// Converts the profile and releases it.
inline Profile take_profile(intarsia_profile* profile) {
  const std::unique_ptr<intarsia_profile, void (*)(intarsia_profile*)> owner(profile,
                                                                             intarsia_profile_release);
  intarsia_profile_info info{};
  info.struct_size = sizeof(info);
  check(intarsia_profile_describe(profile, &info));
  Profile taken{info.run_count, info.run_ns, {}};
  for (size_t i = 0; i < info.entry_count; ++i) {
    intarsia_profile_entry entry{};
    entry.struct_size = sizeof(entry);
    check(intarsia_profile_get(profile, i, &entry));
    taken.entries.push_back(profile_entry(entry));
  }
  return taken;
}

}  // namespace detail

/// Buffers and threads for runs, one at a time: a call during another thread's call throws. Move-only; may
/// outlive its Program.
class Session {
 public:
  explicit Session(intarsia_session* session) : session_(session, intarsia_session_release) {}

  /// Runs a function into the caller's buffers. `function` may be empty if the program has only one.
  void run(const std::vector<NamedView>& inputs, const std::vector<NamedView>& outputs,
           const std::string& function = {}) {
    std::vector<intarsia_tensor> to = detail::tensors(outputs);
    call(function, detail::tensors(inputs), to);
    for (intarsia_tensor& tensor : to) intarsia_tensor_release(&tensor);
  }

  /// Runs a function and returns the named outputs, in memory that the run allocates.
  std::vector<Value> compute(const std::vector<NamedView>& inputs, const std::vector<std::string>& outputs,
                             const std::string& function = {}) {
    std::vector<intarsia_tensor> to = detail::outputs(outputs);
    call(function, detail::tensors(inputs), to);
    return {to.begin(), to.end()};
  }

  /// Sets a function that runs call for every value that passes between regions, right after it was produced;
  /// the value lives until the function returns. An empty function turns it off. It must not throw.
  void set_dump(std::function<void(const intarsia_tensor& value)> dump) {
    auto kept = dump ? std::make_unique<Dump>(std::move(dump)) : nullptr;
    const intarsia_dump forward = [](void* user, const intarsia_tensor* value) {
      (*static_cast<Dump*>(user))(*value);
    };
    detail::check(intarsia_session_set_dump(session_.get(), kept ? forward : nullptr, kept.get()));
    dump_ = std::move(kept);
  }

  /// Sets a function that runs call after each piece of work; where devices overlap, from several threads at
  /// once. An empty function turns it off. It must not throw.
  void set_trace(std::function<void(const intarsia_trace_event& event)> trace) {
    auto kept = trace ? std::make_unique<Trace>(std::move(trace)) : nullptr;
    const intarsia_trace forward = [](void* user, const intarsia_trace_event* event) {
      (*static_cast<Trace*>(user))(*event);
    };
    detail::check(intarsia_session_set_trace(session_.get(), kept ? forward : nullptr, kept.get()));
    trace_ = std::move(kept);
  }

  /// Runs a function several times and measures where the time goes (intarsia_session_profile). `runs` 0: as
  /// many as fit into a second, 5 to 200.
  Profile profile(const std::vector<NamedView>& inputs, size_t runs = 0, const std::string& function = {}) {
    const std::vector<intarsia_tensor> from = detail::tensors(inputs);
    intarsia_profile* made = nullptr;
    detail::check(intarsia_session_profile(session_.get(), function.empty() ? nullptr : function.c_str(),
                                           from.data(), from.size(), runs, &made));
    return detail::take_profile(made);
  }

  /// Returns what it runs as a function, counted from 0: the chosen alternative, or one that does without
  /// what is missing here.
  Alternative alternative(size_t function = 0) const {
    intarsia_alternative info{};
    info.struct_size = sizeof(info);
    detail::check(intarsia_session_alternative(session_.get(), function, &info));
    return {info.number, info.targets, info.measured_ns, info.reason};
  }

  /// Returns the copies of a slot's device memory by all sessions of the process; slots count from 0.
  CopyCounts copy_counts(size_t slot) const {
    intarsia_copy_counts counts{};
    counts.struct_size = sizeof(counts);
    detail::check(intarsia_session_copy_counts(session_.get(), slot, &counts));
    return {counts.uploads,          counts.uploaded_bytes, counts.downloads,
            counts.downloaded_bytes, counts.direct,         counts.direct_bytes};
  }

  /// Returns the bytes of its working memory (intarsia_session_arena_bytes).
  uint64_t arena_bytes() const { return intarsia_session_arena_bytes(session_.get()); }

  /// Returns the C handle, for calls of the C API that this class lacks.
  intarsia_session* get() const { return session_.get(); }

 private:
  using Dump = std::function<void(const intarsia_tensor&)>;
  using Trace = std::function<void(const intarsia_trace_event&)>;

  void call(const std::string& function, const std::vector<intarsia_tensor>& from,
            std::vector<intarsia_tensor>& to) {
    detail::check(intarsia_session_run(session_.get(), function.empty() ? nullptr : function.c_str(),
                                       from.data(), from.size(), to.data(), to.size()));
  }

  std::unique_ptr<Dump> dump_;  // referred to by the session, like the next
  std::unique_ptr<Trace> trace_;
  std::unique_ptr<intarsia_session, void (*)(intarsia_session*)> session_;
};

namespace detail {

/// Returns the outputs of a function with their ranks; none of a function that does not exist.
inline std::vector<NamedShape> outputs_of(const intarsia_program* program, const std::string& name) {
  intarsia_program_info info{};
  info.struct_size = sizeof(info);
  check(intarsia_program_describe(program, &info));
  std::vector<NamedShape> outputs;
  for (size_t i = 0; i < info.function_count; ++i) {
    intarsia_function function{};
    function.struct_size = sizeof(function);
    check(intarsia_program_function(program, i, &function));
    if (name != function.name && !(name.empty() && info.function_count == 1)) continue;
    for (size_t output = 0; output < function.output_count; ++output) {
      intarsia_argument argument{};
      argument.struct_size = sizeof(argument);
      check(intarsia_program_output(program, i, output, &argument));
      outputs.push_back({argument.name, argument.rank >= 0, {}});
      if (argument.rank > 0) outputs.back().shape.resize(static_cast<size_t>(argument.rank));
    }
  }
  return outputs;
}

inline std::vector<NamedShape> output_shapes(const intarsia_program* program,
                                             const std::vector<NamedSizes>& inputs,
                                             const std::string& function) {
  std::vector<intarsia_tensor> from;
  for (const NamedSizes& input : inputs) {
    from.push_back(tensor(input.first, View()));
    from.back().rank = input.second.size();
    from.back().shape = input.second.data();
  }
  std::vector<NamedShape> shapes = outputs_of(program, function);
  std::vector<intarsia_shape> to;
  for (NamedShape& shape : shapes)
    to.push_back({sizeof(intarsia_shape), shape.name.c_str(), static_cast<int64_t>(shape.shape.size()),
                  shape.shape.data()});
  check(intarsia_program_output_shapes(program, function.empty() ? nullptr : function.c_str(), from.data(),
                                       from.size(), to.data(), to.size()));
  return shapes;
}

}  // namespace detail

/// Options of a pool (intarsia_pool_options).
struct PoolOptions {
  std::vector<Binding> devices;  // slots not named get the device they were compiled for
  int threads = 0;               // threads of a run; 0: as compiled, at most all cores
  size_t max_sessions = 0;       // most sessions at a time, for which further runs wait; 0: no limit
  size_t max_idle = 0;           // most sessions kept while no run uses them; 0: one per core
};

/// Sessions of one program for any number of threads: each run takes one that no other run uses. Move-only;
/// may outlive its Program.
class Pool {
 public:
  explicit Pool(intarsia_pool* pool) : pool_(pool, intarsia_pool_release) {}

  /// Runs a function like Session::run.
  void run(const std::vector<NamedView>& inputs, const std::vector<NamedView>& outputs,
           const std::string& function = {}) const {
    std::vector<intarsia_tensor> to = detail::tensors(outputs);
    call(function, detail::tensors(inputs), to);
    for (intarsia_tensor& tensor : to) intarsia_tensor_release(&tensor);
  }

  /// Runs a function like Session::compute.
  std::vector<Value> compute(const std::vector<NamedView>& inputs, const std::vector<std::string>& outputs,
                             const std::string& function = {}) const {
    std::vector<intarsia_tensor> to = detail::outputs(outputs);
    call(function, detail::tensors(inputs), to);
    return {to.begin(), to.end()};
  }

  /// Returns the number of sessions that it has now.
  size_t sessions() const { return describe().sessions; }
  /// Returns the number of those that no run uses.
  size_t idle_sessions() const { return describe().idle; }
  intarsia_pool* get() const { return pool_.get(); }

 private:
  void call(const std::string& function, const std::vector<intarsia_tensor>& from,
            std::vector<intarsia_tensor>& to) const {
    detail::check(intarsia_pool_run(pool_.get(), function.empty() ? nullptr : function.c_str(), from.data(),
                                    from.size(), to.data(), to.size()));
  }
  intarsia_pool_info describe() const {
    intarsia_pool_info info{};
    info.struct_size = sizeof(info);
    detail::check(intarsia_pool_describe(pool_.get(), &info));
    return info;
  }

  std::unique_ptr<intarsia_pool, void (*)(intarsia_pool*)> pool_;
};

/// A loaded program file. Any number of threads may use it at once.
class Program {
 public:
  static Program load(const std::string& path) {
    intarsia_program* program = nullptr;
    detail::check(intarsia_program_load(path.c_str(), &program));
    return Program(program);
  }

  /// Loads a program from the bytes of its file, which are copied (intarsia_program_load_bytes).
  static Program load_bytes(const void* bytes, size_t size) {
    intarsia_program* program = nullptr;
    detail::check(intarsia_program_load_bytes(bytes, size, &program));
    return Program(program);
  }

  /// Creates a session. Slots not named get the device they were compiled for; threads 0: as compiled, at
  /// most all cores; max_arena_bytes, append_in_place: as in intarsia_bind_options.
  Session bind(const std::vector<Binding>& devices = {}, int threads = 0,
               OnDeviceLost on_device_lost = OnDeviceLost::alternative, uint64_t max_arena_bytes = 0,
               bool append_in_place = false) const {
    const detail::BindOptions options(devices, threads, on_device_lost, max_arena_bytes, append_in_place);
    intarsia_session* session = nullptr;
    detail::check(intarsia_program_bind(program_.get(), options.get(), &session));
    return Session(session);
  }

  /// Creates a pool of sessions, for runs in any number of threads.
  Pool pool(const PoolOptions& options = {}) const { return Pool(make_pool(program_.get(), options)); }

  /// Runs a function like Session::run and Session::compute, in the program's own pool with default options.
  void run(const std::vector<NamedView>& inputs, const std::vector<NamedView>& outputs,
           const std::string& function = {}) const {
    pool_.run(inputs, outputs, function);
  }
  std::vector<Value> compute(const std::vector<NamedView>& inputs, const std::vector<std::string>& outputs,
                             const std::string& function = {}) const {
    return pool_.compute(inputs, outputs, function);
  }

  std::vector<Function> functions() const {
    intarsia_program_info info{};
    info.struct_size = sizeof(info);
    detail::check(intarsia_program_describe(program_.get(), &info));
    std::vector<Function> all;
    for (size_t i = 0; i < info.function_count; ++i) {
      intarsia_function function{};
      function.struct_size = sizeof(function);
      detail::check(intarsia_program_function(program_.get(), i, &function));
      all.push_back(
          {function.name,
           arguments(intarsia_program_input, intarsia_program_input_size, i, function.input_count),
           arguments(intarsia_program_output, intarsia_program_output_size, i, function.output_count),
           symbols(i, function.symbol_count)});
    }
    return all;
  }

  /// Returns the shapes of all outputs for inputs of these shapes, without a run; throws what a run with such
  /// inputs would throw (intarsia_program_output_shapes).
  std::vector<NamedShape> output_shapes(const std::vector<NamedSizes>& inputs,
                                        const std::string& function = {}) const {
    return detail::output_shapes(program_.get(), inputs, function);
  }

  /// Throws if the bytes of a constant are damaged.
  void verify() const { detail::check(intarsia_program_verify(program_.get())); }
  std::string text() const { return intarsia_program_text(program_.get()); }
  intarsia_program* get() const { return program_.get(); }

 private:
  explicit Program(intarsia_program* program)
      : program_(program, intarsia_program_release), pool_(make_pool(program, {})) {}

  static intarsia_pool* make_pool(const intarsia_program* program, const PoolOptions& options) {
    const detail::BindOptions bind(options.devices, options.threads);
    intarsia_pool_options given{};
    given.struct_size = sizeof(given);
    given.bind = bind.get();
    given.max_sessions = options.max_sessions;
    given.max_idle = options.max_idle;
    intarsia_pool* pool = nullptr;
    detail::check(intarsia_program_pool(program, &given, &pool));
    return pool;
  }

  using Describe = intarsia_error* (*)(const intarsia_program*, size_t, size_t, intarsia_argument*);
  using DescribeSize = intarsia_error* (*)(const intarsia_program*, size_t, size_t, size_t, const char**);
  std::vector<Argument> arguments(Describe describe, DescribeSize describe_size, size_t function,
                                  size_t count) const {
    std::vector<Argument> all;
    for (size_t i = 0; i < count; ++i) {
      intarsia_argument argument{};
      argument.struct_size = sizeof(argument);
      detail::check(describe(program_.get(), function, i, &argument));
      all.push_back(detail::argument(argument));
      for (size_t axis = 0; axis < all.back().sizes.size(); ++axis) {
        const char* expression = nullptr;
        detail::check(describe_size(program_.get(), function, i, axis, &expression));
        if (expression != nullptr) all.back().sizes[axis] = expression;
      }
    }
    return all;
  }

  std::vector<Symbol> symbols(size_t function, size_t count) const {
    std::vector<Symbol> all;
    for (size_t i = 0; i < count; ++i) {
      intarsia_symbol symbol{};
      symbol.struct_size = sizeof(symbol);
      detail::check(intarsia_program_symbol(program_.get(), function, i, &symbol));
      all.push_back({symbol.name, symbol.min, symbol.max});
    }
    return all;
  }

  std::unique_ptr<intarsia_program, void (*)(intarsia_program*)> program_;
  Pool pool_;  // of run() and compute()
};

}  // namespace v1
}  // namespace intarsia

#endif  // INTARSIA_INTARSIA_HPP_
