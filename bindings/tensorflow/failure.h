// Failures, as TensorFlow tells them to its users.
#pragma once

#include <intarsia/intarsia.h>

#include <string>

namespace intarsia::op {

/// Codes of TensorFlow (c/tf_status.h).
enum class Code : int {
  ok = 0,
  cancelled = 1,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15
};

/// Exception that ends the work for an op node; none leaves this library.
struct Failure {
  Code code = Code::internal;
  std::string message;
};

/// Returns the code for a kind of error of ours.
constexpr Code code_of(int32_t kind) {
  switch (kind) {
    case INTARSIA_ERROR_INVALID_ARGUMENT:
      return Code::invalid_argument;
    case INTARSIA_ERROR_NOT_FOUND:
      return Code::not_found;
    case INTARSIA_ERROR_UNSUPPORTED:
      return Code::unimplemented;
    case INTARSIA_ERROR_CORRUPT:
      return Code::data_loss;
    case INTARSIA_ERROR_VERSION:
    case INTARSIA_ERROR_IO:
      return Code::failed_precondition;
    case INTARSIA_ERROR_OUT_OF_MEMORY:
      return Code::resource_exhausted;
    case INTARSIA_ERROR_DEVICE_LOST:
    case INTARSIA_ERROR_BUSY:
      return Code::unavailable;
    case INTARSIA_ERROR_CANCELLED:
      return Code::cancelled;
    case INTARSIA_ERROR_TIMED_OUT:
      return Code::deadline_exceeded;
    case INTARSIA_ERROR_DROPPED:
      return Code::aborted;
    default:
      return Code::internal;
  }
}

}  // namespace intarsia::op
