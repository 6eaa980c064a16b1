// Part of the C API that loads, binds and runs.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "api/external_tensor.h"
#include "api/handles.h"
#include "api/read_bind_options.h"
#include "api/run_backends.h"
#include "api/struct_sizes.h"
#include "runtime/fallback_session.h"

namespace intarsia::api {

static_assert(static_cast<int>(ErrorKind::invalid_argument) == INTARSIA_ERROR_INVALID_ARGUMENT);
static_assert(static_cast<int>(ErrorKind::not_found) == INTARSIA_ERROR_NOT_FOUND);
static_assert(static_cast<int>(ErrorKind::unsupported) == INTARSIA_ERROR_UNSUPPORTED);
static_assert(static_cast<int>(ErrorKind::corrupt) == INTARSIA_ERROR_CORRUPT);
static_assert(static_cast<int>(ErrorKind::version) == INTARSIA_ERROR_VERSION);
static_assert(static_cast<int>(ErrorKind::out_of_memory) == INTARSIA_ERROR_OUT_OF_MEMORY);
static_assert(static_cast<int>(ErrorKind::device_lost) == INTARSIA_ERROR_DEVICE_LOST);
static_assert(static_cast<int>(ErrorKind::busy) == INTARSIA_ERROR_BUSY);
static_assert(static_cast<int>(ErrorKind::cancelled) == INTARSIA_ERROR_CANCELLED);
static_assert(static_cast<int>(ErrorKind::internal) == INTARSIA_ERROR_INTERNAL);
static_assert(static_cast<int>(ErrorKind::io) == INTARSIA_ERROR_IO);
static_assert(static_cast<int>(ErrorKind::timed_out) == INTARSIA_ERROR_TIMED_OUT);
static_assert(static_cast<int>(ErrorKind::dropped) == INTARSIA_ERROR_DROPPED);

/// Value on a function's boundary, and the backend that reads or produces it, which packs or unpacks it if it
/// is opaque.
struct BoundaryValue {
  const fbs::ValueT* value = nullptr;
  const RunBackend* backend = nullptr;
};

struct FunctionBoundary {
  std::string name;
  std::vector<BoundaryValue> inputs;
  std::vector<BoundaryValue> outputs;

  static const BoundaryValue* find(const std::vector<BoundaryValue>& boundary, const char* name) {
    if (name == nullptr) return nullptr;
    for (const BoundaryValue& entry : boundary) {
      if (entry.value->name == name) return &entry;
    }
    return nullptr;
  }
};

intarsia_error no_memory_for_error{"out of memory", ErrorKind::out_of_memory, true};

}  // namespace intarsia::api

struct intarsia_session {
  intarsia::FallbackSession session;
  std::vector<intarsia::api::FunctionBoundary> functions;
  // Reused by every run, so that it allocates nothing.
  std::vector<intarsia::NamedTensor> inputs;
  std::vector<intarsia::NamedTensor> outputs;
  std::vector<intarsia::Tensor> strings;
  std::atomic_flag in_use;
  // Texts about its alternatives, kept while the session lives, which may go on with others.
  mutable std::set<std::string> texts;
  mutable std::mutex texts_mutex;

  const char* keep(const std::string& text) const {
    const std::lock_guard lock(texts_mutex);
    return texts.insert(text).first->c_str();
  }
};

namespace intarsia::api {
namespace {

Result<std::vector<BoundaryValue>> find_boundary_values(const LoadedProgram& program,
                                                        const fbs::FunctionT& function, bool inputs) {
  std::vector<BoundaryValue> boundary;
  for (uint32_t id : inputs ? function.inputs : function.outputs) {
    BoundaryValue entry{function.values[id].get(), nullptr};
    for (const auto& step : function.steps) {
      const std::vector<uint32_t>& ids = inputs ? step->inputs : step->outputs;
      if (step->kind != fbs::StepKind::run || std::ranges::find(ids, id) == ids.end()) continue;
      entry.backend = TRY(program.backend(step->region));
    }
    boundary.push_back(entry);
  }
  return boundary;
}

Result<FunctionBoundary> find_boundary(const LoadedProgram& program, const fbs::FunctionT& function) {
  return FunctionBoundary{function.name, TRY(find_boundary_values(program, function, true)),
                          TRY(find_boundary_values(program, function, false))};
}

/// Use of a session, one call at a time: a call during another one gets an error and touches nothing.
class SessionUse {
 public:
  static Result<SessionUse> begin(intarsia_session* session) {
    if (session == nullptr) return fail("the session is a null pointer");
    if (session->in_use.test_and_set(std::memory_order_acquire)) {
      return fail(ErrorKind::busy,
                  "the session is in use by another thread, or by the run that this call comes from: a "
                  "session runs once at a time; make one per thread with intarsia_program_bind");
    }
    return SessionUse(session);
  }
  SessionUse(SessionUse&& other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
  ~SessionUse() {
    if (session_ != nullptr) session_->in_use.clear(std::memory_order_release);
  }
  intarsia_session* operator->() const { return session_; }
  intarsia_session& operator*() const { return *session_; }

 private:
  explicit SessionUse(intarsia_session* session) : session_(session) {}
  intarsia_session* session_;
};

/// Finds a boundary, which only opaque values need; null for an unknown function, which the run reports.
const FunctionBoundary* find_boundary(const intarsia_session& session, std::string_view function) {
  for (const FunctionBoundary& boundary : session.functions) {
    if (boundary.name == function || (function.empty() && session.functions.size() == 1)) return &boundary;
  }
  return nullptr;
}

/// Finds a value on the boundary; empty if the function does not have it, which the run reports.
BoundaryValue find_value(const FunctionBoundary* boundary, bool is_input, const intarsia_tensor& tensor) {
  if (boundary == nullptr) return {};
  const BoundaryValue* found =
      FunctionBoundary::find(is_input ? boundary->inputs : boundary->outputs, tensor.name);
  return found == nullptr ? BoundaryValue{} : *found;
}

/// Reads the inputs into session.inputs.
Status read_inputs(intarsia_session& session, const FunctionBoundary* boundary, const intarsia_tensor* inputs,
                   size_t input_count) {
  TRY(check_sizes("input", inputs, input_count));
  if (session.inputs.size() < input_count) session.inputs.resize(input_count);
  if (session.strings.size() < input_count) session.strings.resize(input_count);
  for (size_t i = 0; i < input_count; ++i) {
    const intarsia_tensor& from = element(inputs, i);
    const BoundaryValue at = find_value(boundary, true, from);
    TRY(read_input(from, at.backend, at.value, session.inputs[i], session.strings[i]));
  }
  return {};
}

Result<std::vector<FunctionBoundary>> find_boundaries(const Session& session) {
  std::vector<FunctionBoundary> boundaries;
  for (const BoundFunction& bound : session.program().functions)
    boundaries.push_back(TRY(find_boundary(*session.program().program, *bound.function)));
  return boundaries;
}

/// Runs the session; if a device is lost, an alternative reads the inputs anew, as opaque ones depend on it.
Status run_session(intarsia_session& session, std::string_view function, const intarsia_tensor* inputs,
                   size_t input_count, const intarsia_tensor* outputs, size_t output_count) {
  while (true) {
    TRY(read_inputs(session, find_boundary(session, function), inputs, input_count));
    for (size_t i = 0; i < output_count; ++i) TRY(read_output(element(outputs, i), session.outputs[i]));
    Status ran = session.session.session().run(function, std::span(session.inputs).first(input_count),
                                               std::span(session.outputs).first(output_count));
    if (ran || !session.session.fall_back(function, ran.error())) return ran;
    session.functions = TRY(find_boundaries(session.session.session()));
  }
}

Status run(intarsia_session& session, std::string_view function, const intarsia_tensor* inputs,
           size_t input_count, intarsia_tensor* outputs, size_t output_count) {
  TRY(check_sizes("output", outputs, output_count));
  if (session.outputs.size() < output_count) session.outputs.resize(output_count);
  TRY(run_session(session, function, inputs, input_count, outputs, output_count));
  const FunctionBoundary* boundary = find_boundary(session, function);
  for (size_t i = 0; i < output_count; ++i) {
    intarsia_tensor& to = element(outputs, i);
    const BoundaryValue at = find_value(boundary, false, to);
    const Status written = caught([&] { return write_output(session.outputs[i], at.backend, at.value, to); });
    session.outputs[i].owner = nullptr;
    if (written) continue;
    for (size_t made = 0; made < i; ++made) release_tensor(element(outputs, made));
    return written;
  }
  return {};
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

const char* intarsia_version(void) { return INTARSIA_VERSION; }
uint32_t intarsia_api_version(void) { return INTARSIA_API_VERSION; }

const char* intarsia_error_message(const intarsia_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}
int32_t intarsia_error_kind(const intarsia_error* error) {
  return error == nullptr ? 0 : static_cast<int32_t>(error->kind);
}
void intarsia_error_release(intarsia_error* error) {
  if (error != nullptr && !error->is_static) delete error;
}
void intarsia_tensor_release(intarsia_tensor* tensor) {
  if (tensor != nullptr) release_tensor(*tensor);
}

intarsia_error* intarsia_program_load(const char* path, intarsia_program** program) {
  return guarded([&]() -> Status {
    if (path == nullptr || program == nullptr) return fail("intarsia_program_load got a null pointer");
    auto loaded = TRY(load_program(path, run_backends()));
    *program = new intarsia_program{std::move(loaded), {}, {}};
    return {};
  });
}

void intarsia_program_release(intarsia_program* program) { delete program; }

intarsia_error* intarsia_program_verify(const intarsia_program* program) {
  return guarded([&]() -> Status {
    if (program == nullptr) return fail("the program is a null pointer");
    return verify_constants(program->loaded->file());
  });
}

intarsia_error* intarsia_program_bind(const intarsia_program* program, const intarsia_bind_options* options,
                                      intarsia_session** session) {
  return guarded([&]() -> Status {
    if (program == nullptr || session == nullptr) return fail("intarsia_program_bind got a null pointer");
    const BindOptions bind = TRY(read_bind_options(options));
    auto made = std::make_unique<intarsia_session>(TRY(FallbackSession::open(program->loaded, bind)));
    made->functions = TRY(find_boundaries(made->session.session()));
    *session = made.release();
    return {};
  });
}

intarsia_error* intarsia_session_alternative(const intarsia_session* session, size_t function,
                                             intarsia_alternative* info) {
  return guarded([&]() -> Status {
    if (session == nullptr) return fail("the session is a null pointer");
    const auto& functions = session->session.session().program().functions;
    if (function >= functions.size())
      return fail("no function {}; the program has {}", function, functions.size());
    const BoundFunction& bound = functions[function];
    return fill_struct(info, {.struct_size = sizeof(*info),
                              .number = bound.alternative,
                              .targets = session->keep(bound.targets),
                              .measured_ns = bound.function->measured_ns,
                              .reason = session->keep(bound.reason)});
  });
}

intarsia_error* intarsia_session_copy_counts(const intarsia_session* session, size_t slot,
                                             intarsia_copy_counts* counts) {
  return guarded([&]() -> Status {
    if (session == nullptr) return fail("the session is a null pointer");
    const auto& executors = session->session.session().program().executors;
    if (slot >= executors.size()) return fail("no slot {}; the program has {}", slot, executors.size());
    if (executors[slot] == nullptr) return fail("the session has no device for slot {}", slot);
    const CopyCounts made = executors[slot]->space()->copy_counts();
    return fill_struct(counts, {.struct_size = sizeof(*counts),
                                .uploads = made.uploads,
                                .uploaded_bytes = made.uploaded_bytes,
                                .downloads = made.downloads,
                                .downloaded_bytes = made.downloaded_bytes,
                                .direct = made.direct,
                                .direct_bytes = made.direct_bytes});
  });
}

uint64_t intarsia_session_arena_bytes(const intarsia_session* session) {
  return session == nullptr ? 0 : session->session.session().arena_bytes();
}

void intarsia_session_release(intarsia_session* session) { delete session; }

intarsia_error* intarsia_session_run(intarsia_session* session, const char* function,
                                     const intarsia_tensor* inputs, size_t input_count,
                                     intarsia_tensor* outputs, size_t output_count) {
  return guarded([&]() -> Status {
    const SessionUse used = TRY(SessionUse::begin(session));
    return run(*used, function == nullptr ? "" : function, inputs, input_count, outputs, output_count);
  });
}

intarsia_error* intarsia_session_profile(intarsia_session* session, const char* function,
                                         const intarsia_tensor* inputs, size_t input_count, size_t runs,
                                         intarsia_profile** profile) {
  return guarded([&]() -> Status {
    if (profile == nullptr) return fail("intarsia_session_profile got a null pointer");
    const SessionUse used = TRY(SessionUse::begin(session));
    const std::string_view name = function == nullptr ? "" : function;
    TRY(read_inputs(*used, find_boundary(*used, name), inputs, input_count));
    *profile = make_profile(TRY(
        profile_session(used->session.session(), name, std::span(used->inputs).first(input_count), runs)));
    return {};
  });
}

intarsia_error* intarsia_session_set_trace(intarsia_session* session, intarsia_trace trace, void* user) {
  return guarded([&]() -> Status {
    const SessionUse used = TRY(SessionUse::begin(session));
    TraceCallback callback;
    if (trace != nullptr) {
      callback = [trace, user](const TraceEvent& event) {
        const std::string name(event.name), kind(event.kind), device(event.device);
        const intarsia_trace_event out{sizeof(out),    name.c_str(),   kind.c_str(),
                                       device.c_str(), event.begin_ns, event.end_ns};
        trace(user, &out);
      };
    }
    used->session.session().set_trace(callback);
    return {};
  });
}

intarsia_error* intarsia_session_set_dump(intarsia_session* session, intarsia_dump dump, void* user) {
  return guarded([&]() -> Status {
    const SessionUse used = TRY(SessionUse::begin(session));
    DumpHook hook;
    if (dump != nullptr) {
      hook = [dump, user](const std::string& name, const TensorView& tensor) {
        if (tensor.dtype == DType::string) return;  // intarsia_string and std::string have different layouts
        const intarsia_tensor view = view_tensor(name, tensor);
        dump(user, &view);
      };
    }
    used->session.session().set_dump(hook);
    return {};
  });
}
