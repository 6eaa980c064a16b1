// Kernels and their code as bytes, between the compile half and its worker processes.
#pragma once

#include <string>

#include "backends/halide/build/emitted_kernel.h"

namespace intarsia::halide {

/// Request to a worker.
struct CodegenRequest {
  Kernel kernel;
  bool checks = false;     // compile with Halide's asserts and bounds checks and its own runtime
  double cpu_seconds = 0;  // computing time after which the operating system ends the worker
};

/// Code, or the reason why there is none.
using CodegenReply = Result<EmittedKernel>;

std::string encode_request(const CodegenRequest& request);
/// Decodes a request. `bytes` come from encode_request of this build.
Result<CodegenRequest> decode_request(const std::string& bytes);
std::string encode_reply(const CodegenReply& reply);
/// Decodes a reply, of a worker or of the code cache. Errors: the worker's, or the bytes are damaged.
CodegenReply decode_reply(const std::string& bytes);

}  // namespace intarsia::halide
