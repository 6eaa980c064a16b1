// Kernels and their code as bytes, between the compile half and its worker processes.
#pragma once

#include <string>

#include "backends/halide/build/emitted_kernel.h"

namespace intarsia::halide {

/// What a worker is asked for.
struct CodegenRequest {
  Kernel kernel;
  bool checks = false;     // with Halide's asserts and bounds checks and its own runtime
  double cpu_seconds = 0;  // the worker is ended by the kernel when it has computed for so long
};

/// The code, or why there is none.
using CodegenReply = Result<EmittedKernel>;

std::string encode_request(const CodegenRequest& request);
/// `bytes` come from encode_request of this build; a reply's likewise.
Result<CodegenRequest> decode_request(const std::string& bytes);
std::string encode_reply(const CodegenReply& reply);
CodegenReply decode_reply(const std::string& bytes);

}  // namespace intarsia::halide
