// Kernels and their code as bytes, between the compile half and its worker processes.
#pragma once

#include <string>

#include "backends/halide/build/emitted_kernel.h"

namespace intarsia::halide {

/// A request to a worker.
struct CodegenRequest {
  Kernel kernel;
  bool checks = false;     // with Halide's asserts and bounds checks and its own runtime
  double cpu_seconds = 0;  // the operating system ends the worker after it has computed for this long
};

/// The code, or why there is none.
using CodegenReply = Result<EmittedKernel>;

std::string encode_request(const CodegenRequest& request);
/// `bytes` come from encode_request of this build; likewise for replies.
Result<CodegenRequest> decode_request(const std::string& bytes);
std::string encode_reply(const CodegenReply& reply);
CodegenReply decode_reply(const std::string& bytes);

}  // namespace intarsia::halide
