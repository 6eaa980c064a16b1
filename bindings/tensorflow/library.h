// The Intarsia library of this process, opened when the first op node needs it.
#pragma once

#include <intarsia/intarsia.h>

#include "bindings/tensorflow/failure.h"

namespace intarsia::op {

/// Functions of the C API that op nodes call.
struct Library {
  decltype(&intarsia_error_kind) error_kind;
  decltype(&intarsia_error_message) error_message;
  decltype(&intarsia_error_release) error_release;
  decltype(&intarsia_tensor_release) tensor_release;
  decltype(&intarsia_program_load) program_load;
  decltype(&intarsia_program_load_bytes) program_load_bytes;
  decltype(&intarsia_program_release) program_release;
  decltype(&intarsia_program_describe) program_describe;
  decltype(&intarsia_program_function) program_function;
  decltype(&intarsia_program_input) program_input;
  decltype(&intarsia_program_output) program_output;
  decltype(&intarsia_program_pool) program_pool;
  decltype(&intarsia_pool_run) pool_run;
  decltype(&intarsia_pool_release) pool_release;

  /// Throws the error as a Failure and releases it; does nothing for NULL.
  void check(intarsia_error* error) const;
};

/// Returns the library, which stays open until the process ends. Throws a Failure if there is none, or if it
/// is older than this code.
const Library& library();

}  // namespace intarsia::op
