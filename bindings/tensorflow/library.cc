#include "bindings/tensorflow/library.h"

#include <dlfcn.h>

namespace intarsia::op {
namespace {

constexpr const char* file_name = INTARSIA_LIBRARY;  // found by the RUNPATH of this library

template <typename Function>
void find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr)
    throw Failure{Code::failed_precondition, std::string(file_name) + " is too old for this op: it lacks " +
                                                 name + "; install one Intarsia, whole"};
}

Library open() {
  void* handle = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    throw Failure{Code::not_found, std::string("cannot open the Intarsia library, which runs programs: ") +
                                       dlerror() +
                                       "; install the package intarsia for this Python, or add its folder to "
                                       "LD_LIBRARY_PATH"};
  Library library{};
  find(handle, "intarsia_error_kind", library.error_kind);
  find(handle, "intarsia_error_message", library.error_message);
  find(handle, "intarsia_error_release", library.error_release);
  find(handle, "intarsia_tensor_release", library.tensor_release);
  find(handle, "intarsia_program_load", library.program_load);
  find(handle, "intarsia_program_load_bytes", library.program_load_bytes);
  find(handle, "intarsia_program_release", library.program_release);
  find(handle, "intarsia_program_describe", library.program_describe);
  find(handle, "intarsia_program_function", library.program_function);
  find(handle, "intarsia_program_input", library.program_input);
  find(handle, "intarsia_program_output", library.program_output);
  find(handle, "intarsia_program_pool", library.program_pool);
  find(handle, "intarsia_pool_run", library.pool_run);
  find(handle, "intarsia_pool_release", library.pool_release);
  return library;
}

}  // namespace

void Library::check(intarsia_error* error) const {
  if (error == nullptr) return;
  Failure failure{code_of(error_kind(error)), error_message(error)};
  error_release(error);
  throw failure;
}

const Library& library() {
  static const Library library = open();
  return library;
}

}  // namespace intarsia::op
