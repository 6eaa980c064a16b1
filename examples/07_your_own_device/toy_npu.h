// Toy NPU: convolutions in f32 with bias, and the Relu after them, in a memory of its own.
#pragma once

#include <intarsia/plugin.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace toy_npu {

constexpr int32_t float32 = 1;
constexpr char magic[8] = "toynpu1";  // start of each blob: its version

/// Place where an operand of an instruction lies.
enum class In : int64_t { nothing, input, output, workspace, constant };

struct Operand {
  In in = In::nothing;
  int64_t number = 0;  // number of an input, output or constant; in the workspace, the byte offset
};

enum class Op : int64_t { convolution, relu };

/// Unit of work of the chip. All fields take 8 bytes, so that a blob is an array of these.
struct Instruction {
  Op op = Op::convolution;
  Operand x, w, bias, y;
  int64_t elements = 0;  // element count of a relu
  int64_t batch = 0, channels = 0, height = 0, width = 0;
  int64_t filters = 0, kernel_height = 0, kernel_width = 0, y_height = 0, y_width = 0;
  int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1}, group = 1;
  char node[64] = {};  // node name, for profiles
};

/// Start of a blob; the instructions follow.
struct BlobHeader {
  char magic[8] = {};
  uint64_t instructions = 0;
};

/// Writes a message and returns the status that goes with it.
inline int32_t fail(const intarsia_plugin_message* message, const std::string& text,
                    int32_t status = INTARSIA_PLUGIN_FAILED) {
  std::snprintf(message->text, message->size, "%s", text.c_str());
  return status;
}

extern const intarsia_plugin_compiler compiler;
extern const intarsia_plugin_runtime runtime;

}  // namespace toy_npu
