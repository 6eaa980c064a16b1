#include "bindings/tensorflow/artifact.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace intarsia::op {
namespace {

/// Artifacts of this process. A child of fork() starts with none, as another thread of its parent may have
/// been within a change. Tables are never destroyed: TensorFlow frees op nodes when the process ends.
struct Table {
  std::mutex mutex;
  std::vector<std::weak_ptr<const Artifact>> artifacts;

  static Table& get() { return *current(); }

 private:
  static Table*& current() {
    static Table* table = new Table;
    [[maybe_unused]] static const int registered =
        pthread_atfork(nullptr, nullptr, [] { current() = new Table; });
    return table;
  }
};

/// Checks for the bytes of a program, which a path can be told from: it has no zero.
bool has_bytes(std::string_view text) { return text.find('\0') != std::string_view::npos; }

using Describe = decltype(Library::program_input);

std::vector<Argument> describe_arguments(const intarsia_program* program, size_t function, size_t count,
                                         Describe describe, const char* what) {
  std::vector<Argument> arguments;
  for (size_t i = 0; i < count; ++i) {
    intarsia_argument info{};
    info.struct_size = sizeof(info);
    library().check(describe(program, function, i, &info));
    const DataType* type = info.kind == INTARSIA_TENSOR ? find_data_type(info.dtype) : nullptr;
    if (type == nullptr)
      throw Failure{Code::unimplemented, std::string(what) + " '" + info.name +
                                             "' has a type that TensorFlow's tensors do not have"};
    arguments.push_back({info.name, type});
  }
  return arguments;
}

Function describe_function(const intarsia_program* program, size_t number) {
  const Library& lib = library();
  intarsia_function info{};
  info.struct_size = sizeof(info);
  lib.check(lib.program_function(program, number, &info));
  return {info.name, describe_arguments(program, number, info.input_count, lib.program_input, "input"),
          describe_arguments(program, number, info.output_count, lib.program_output, "output")};
}

intarsia_pool* make_pool(const intarsia_program* program, const Options& options) {
  std::vector<intarsia_binding> bindings;
  for (const auto& [slot, device] : options.bindings) bindings.push_back({slot.c_str(), device.c_str()});
  intarsia_bind_options bind{};
  bind.struct_size = sizeof(bind);
  bind.bindings = bindings.data();
  bind.binding_count = bindings.size();
  bind.threads = options.threads;
  intarsia_pool_options pooled{};
  pooled.struct_size = sizeof(pooled);
  pooled.bind = &bind;
  intarsia_pool* pool = nullptr;
  library().check(library().program_pool(program, &pooled, &pool));
  return pool;
}

}  // namespace

int default_threads() {
  const int cores = std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
  const char* wanted = std::getenv("TF_NUM_INTRAOP_THREADS");
  if (const int threads = wanted == nullptr ? 0 : std::atoi(wanted); threads > 0)
    return std::min(threads, cores);
  cpu_set_t allowed;
  if (sched_getaffinity(getpid(), sizeof(allowed), &allowed) != 0) return cores;
  return std::clamp(CPU_COUNT(&allowed), 1, cores);
}

std::shared_ptr<const Artifact> Artifact::open(std::string_view path_or_bytes, const Options& options) {
  const Library& lib = library();
  std::shared_ptr<Artifact> made(new Artifact);
  lib.check(has_bytes(path_or_bytes)
                ? lib.program_load_bytes(path_or_bytes.data(), path_or_bytes.size(), &made->program_)
                : lib.program_load(std::string(path_or_bytes).c_str(), &made->program_));
  intarsia_program_info info{};
  info.struct_size = sizeof(info);
  lib.check(lib.program_describe(made->program_, &info));
  made->options_ = options;
  made->identity_ = info.identity;
  Table& table = Table::get();
  const std::lock_guard lock(table.mutex);
  std::erase_if(table.artifacts, [](const auto& artifact) { return artifact.expired(); });
  for (const auto& entry : table.artifacts) {
    std::shared_ptr<const Artifact> known = entry.lock();
    if (known != nullptr && known->identity_ == made->identity_ && known->options_ == options) return known;
  }
  for (size_t i = 0; i < info.function_count; ++i)
    made->functions_.push_back(describe_function(made->program_, i));
  made->pool_ = make_pool(made->program_, options);
  table.artifacts.emplace_back(made);
  return made;
}

Artifact::~Artifact() {
  library().pool_release(pool_);
  library().program_release(program_);
}

const Function& Artifact::function(const std::string& name) const {
  if (name.empty() && functions_.size() == 1) return functions_[0];
  std::string known;
  for (const Function& function : functions_) {
    if (function.name == name) return function;
    known += (known.empty() ? "" : ", ") + function.name;
  }
  throw Failure{Code::invalid_argument, "no function '" + name + "'; the program has: " + known};
}

}  // namespace intarsia::op
