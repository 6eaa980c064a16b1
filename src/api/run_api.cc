// Part of the C API that loads, binds and runs.
#include "api/handles.h"
#include "api/read_bind_options.h"
#include "api/run_backends.h"
#include "api/session_handle.h"
#include "api/struct_sizes.h"
#include "runtime/program_table.h"

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

intarsia_error no_memory_for_error{"out of memory", ErrorKind::out_of_memory, true};

}  // namespace intarsia::api

namespace intarsia::api {
namespace {

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
    auto loaded = TRY(share_program(path, run_backends()));
    *program = new intarsia_program{std::move(loaded), {}, {}};
    return {};
  });
}

intarsia_error* intarsia_program_load_bytes(const void* bytes, size_t size, intarsia_program** program) {
  return guarded([&]() -> Status {
    if (bytes == nullptr || program == nullptr) return fail("intarsia_program_load_bytes got a null pointer");
    auto loaded = TRY(share_program({static_cast<const std::byte*>(bytes), size}, run_backends()));
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
    *session = TRY(open_session(program->loaded, bind)).release();
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
    return run_session(*used, function == nullptr ? "" : function, inputs, input_count, outputs,
                       output_count);
  });
}

intarsia_error* intarsia_session_profile(intarsia_session* session, const char* function,
                                         const intarsia_tensor* inputs, size_t input_count, size_t runs,
                                         intarsia_profile** profile) {
  return guarded([&]() -> Status {
    if (profile == nullptr) return fail("intarsia_session_profile got a null pointer");
    const SessionUse used = TRY(SessionUse::begin(session));
    const std::string_view name = function == nullptr ? "" : function;
    TRY(read_session_inputs(*used, name, inputs, input_count));
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
