/* Custom operator com.example.SoftThreshold(x) = sign(x) * max(|x| - lambda, 0); lambda is an
 * attribute. */
#include <intarsia/kernel.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FLOAT32 = 1 };

static float attribute(const intarsia_kernel_node* node, const char* name, float otherwise) {
  for (size_t i = 0; i < node->attribute_count; ++i) {
    const intarsia_kernel_attribute* a = &node->attributes[i];
    if (strcmp(a->name, name) == 0 && a->floats != NULL && a->count == 1) return a->floats[0];
  }
  return otherwise;
}

static int infer(const intarsia_kernel_node* node, const intarsia_kernel_tensor* in, size_t in_count,
                 intarsia_kernel_tensor* out, size_t out_count, intarsia_kernel_message* message) {
  (void)node;
  if (in_count != 1 || out_count != 1 || in[0].dtype != FLOAT32) {
    snprintf(message->text, message->size, "takes one float tensor and returns one");
    return 1;
  }
  out[0] = in[0];
  return 0;
}

static int run(const intarsia_kernel_node* node, const intarsia_kernel_tensor* in, size_t in_count,
               const intarsia_kernel_tensor* out, size_t out_count, intarsia_kernel_message* message) {
  (void)in_count, (void)out_count, (void)message;
  const float lambda = attribute(node, "lambda", 0.5f);
  int64_t count = 1;
  for (int axis = 0; axis < in[0].rank; ++axis) count *= in[0].sizes[axis];
  const float* x = in[0].data;
  float* y = out[0].data;
  for (int64_t i = 0; i < count; ++i) y[i] = copysignf(fmaxf(fabsf(x[i]) - lambda, 0.0f), x[i]);
  return 0;
}

static const intarsia_kernel soft_threshold = {sizeof(intarsia_kernel), "com.example", "SoftThreshold", infer,
                                               run};
static const intarsia_kernel* const kernels[] = {&soft_threshold};
static const intarsia_kernel_library library = {sizeof(intarsia_kernel_library), INTARSIA_KERNEL_ABI, 1,
                                                kernels};

const intarsia_kernel_library* intarsia_kernels(void) { return &library; }
