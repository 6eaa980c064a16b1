// The toy NPU: convolutions in f32 with bias, and the Relu behind them, in a memory of its own.
#pragma once

#include <intarsia/plugin.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace toy_npu {

constexpr int32_t float32 = 1;
constexpr char magic[8] = "toynpu1";  // what blobs begin with: their version

/// Where an operand of an instruction lies.
enum class In : int64_t { nothing, input, output, workspace, constant };

struct Operand {
  In in = In::nothing;
  int64_t number = 0;  // of an input, output or constant; in the workspace: bytes from its beginning
};

enum class Op : int64_t { convolution, relu };

/// What the chip does in one go. All fields have 8 bytes, so that a blob is a list of these.
struct Instruction {
  Op op = Op::convolution;
  Operand x, w, bias, y;
  int64_t elements = 0;  // of a relu
  int64_t batch = 0, channels = 0, height = 0, width = 0;
  int64_t filters = 0, kernel_height = 0, kernel_width = 0, y_height = 0, y_width = 0;
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1}, group = 1;
  char node[64] = {};  // its name, for profiles
};

/// A blob is this, then the instructions.
struct BlobHeader {
  char magic[8] = {};
  uint64_t instructions = 0;
};

/// Writes a message and gives the status that goes with it.
inline int32_t fail(const intarsia_plugin_message* message, const std::string& text,
                    int32_t status = INTARSIA_PLUGIN_FAILED) {
  std::snprintf(message->text, message->size, "%s", text.c_str());
  return status;
}

extern const intarsia_plugin_compiler compiler;
extern const intarsia_plugin_runtime runtime;

}  // namespace toy_npu
