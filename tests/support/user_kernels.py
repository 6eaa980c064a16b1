"""A kernel of a user in C, and models with it, for programs in plain C."""

import subprocess

import numpy as np
from cli_models import SOURCE
from emitted_c import STRICT
from onnx import TensorProto, helper
from small_models import random, save

# y = scale * x + shift[0] + (bias, if there) and the number of its elements above 0, for each row.
SCALE = """
#include <intarsia/kernel.h>
#include <string.h>

static const intarsia_kernel_attribute* find(const intarsia_kernel_node* node, const char* name) {
  for (size_t i = 0; i < node->attribute_count; ++i)
    if (strcmp(node->attributes[i].name, name) == 0) return &node->attributes[i];
  return NULL;
}

static int infer(const intarsia_kernel_node* node, const intarsia_kernel_tensor* in, size_t in_count,
                 intarsia_kernel_tensor* out, size_t out_count, intarsia_kernel_message* message) {
  (void)in_count, (void)message;
  const intarsia_kernel_attribute* mode = find(node, "mode");
  if (mode == NULL || strcmp(mode->strings[0], "say \\"it\\"?") != 0) return 1;
  out[0] = in[0];
  out[0].data = NULL;
  if (out_count > 1) {
    out[1] = out[0];
    out[1].rank = 1;
    out[1].dtype = 7;
  }
  return 0;
}

static int run(const intarsia_kernel_node* node, const intarsia_kernel_tensor* in, size_t in_count,
               const intarsia_kernel_tensor* out, size_t out_count, intarsia_kernel_message* message) {
  (void)message;
  const float scale = find(node, "scale")->floats[0];
  const int64_t shift = find(node, "shift")->ints[1];
  const int64_t rows = in[0].sizes[0], columns = in[0].sizes[1];
  const float *x = in[0].data, *bias = in_count > 1 && in[1].dtype != 0 ? in[1].data : NULL;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t above = 0;
    for (int64_t c = 0; c < columns; ++c) {
      const float y = scale * x[r * columns + c] + (float)shift + (bias == NULL ? 0.0f : bias[c]);
      if (out[0].dtype != 0) ((float*)out[0].data)[r * columns + c] = y;
      above += y > 0;
    }
    if (out_count > 1 && out[1].dtype != 0) ((int64_t*)out[1].data)[r] = above;
  }
  return FAILS;
}

static const intarsia_kernel scale = {sizeof(intarsia_kernel), "my", "Scale", infer, run};
static const intarsia_kernel* const kernels[] = {&scale};
static const intarsia_kernel_library library = {sizeof(intarsia_kernel_library), INTARSIA_KERNEL_ABI, 1, kernels};
const intarsia_kernel_library* intarsia_kernels(void) { return &library; }
"""


def write_kernel(folder, fails=0):
    """The source of the kernel, and a library of it for this machine."""
    source, library = folder / "my_kernels.c", folder / "libmy_kernels.so"
    source.write_text(SCALE.replace("FAILS", str(fails)))
    command = ["gcc", *STRICT, "-shared", "-fPIC", f"-I{SOURCE}/include", source, "-o", library]
    subprocess.run(command, check=True, timeout=60)
    return source, library


def scale(inputs, outputs, **attributes):
    given = {"scale": 0.1, "shift": [7, -2], "mode": 'say "it"?'} | attributes
    return helper.make_node("Scale", inputs, outputs, name="/scale/" + outputs[0], domain="my", **given)


def save_scales(path):
    """Kernels of a user between kernels of ours, one after the other, with a constant, without one, and with one result unused."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        scale(["a", "bias"], ["b", "above"]),
        scale(["b"], ["", "few"], shift=[0, 3]),
        scale(["b", ""], ["c"], scale=float("-inf"), shift=[0, -(2**63)]),
        helper.make_node("Clip", ["c", "low", "high"], ["y"]),
        helper.make_node("Relu", ["b"], ["z"]),
    ]
    low, high = np.array(-3, np.float32), np.array(3, np.float32)
    outputs = [(name, TensorProto.FLOAT, [4, 6]) for name in "yz"]
    counts = [(name, TensorProto.INT64, [4]) for name in ("above", "few")]
    constants = {"w": random(1, 5, 6), "bias": random(2, 6), "low": low, "high": high}
    return save(path, nodes, [("x", TensorProto.FLOAT, [4, 5])], outputs + counts, constants, domains=["my"])
