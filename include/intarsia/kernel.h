/* Kernels of your own: the interface that a library given to `intarsia compile --kernels LIB.so` exports.
 *
 * A kernel implements one operator of one domain. The library is opened when a model is compiled (to learn
 * the types of the outputs) and when the program is loaded (to run). At run time it is found by the path that
 * the program was compiled with, or by its file name next to the program.
 *
 * Several threads may make the calls below at once. All pointers are valid until the call returns and belong
 * to the caller; free nothing. Element types are the numbers of ONNX TensorProto.DataType
 * (float 1, int64 7). */
#ifndef INTARSIA_KERNEL_H
#define INTARSIA_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INTARSIA_KERNEL_ABI 1
#define INTARSIA_MAX_RANK 16

/* Attribute of the node: `count` elements in the list of its kind; single values are lists of one. */
typedef struct intarsia_kernel_attribute {
  const char* name;
  size_t count;
  const int64_t* ints;        /* INT and INTS, else null */
  const float* floats;        /* FLOAT and FLOATS, else null */
  const char* const* strings; /* STRING and STRINGS, zero-terminated, else null */
} intarsia_kernel_attribute;

typedef struct intarsia_kernel_node {
  size_t struct_size;
  const char* op;
  const char* domain;
  int32_t version; /* opset version of the domain */
  size_t attribute_count;
  const intarsia_kernel_attribute* attributes;
} intarsia_kernel_node;

/* A dense row-major tensor. `dtype` 0: the optional input or output is omitted. `data` is null in `infer`,
 * except for inputs whose value the model fixes. A size of -1 is not known before the run. */
typedef struct intarsia_kernel_tensor {
  void* data;
  int32_t dtype;
  int32_t rank;
  int64_t sizes[INTARSIA_MAX_RANK];
} intarsia_kernel_tensor;

/* Buffer for the reason of a failed call: up to `size` bytes, zero-terminated. */
typedef struct intarsia_kernel_message {
  char* text;
  size_t size;
} intarsia_kernel_message;

typedef struct intarsia_kernel {
  size_t struct_size; /* sizeof(intarsia_kernel) */
  const char* domain; /* domain other than "" and "ai.onnx": standard operators keep their meaning */
  const char* op;
  /* Sets dtype, rank and sizes of every output from the inputs' types. Called again before every run with all
   * sizes known; it must then set known sizes. Returns 0, or another number after writing a message if the
   * node is invalid or not supported by this kernel. */
  int (*infer)(const intarsia_kernel_node* node, const intarsia_kernel_tensor* inputs, size_t input_count,
               intarsia_kernel_tensor* outputs, size_t output_count, intarsia_kernel_message* message);
  /* Fills the outputs, whose memory, types and sizes are set. Returns 0, or another number after writing a
   * message. */
  int (*run)(const intarsia_kernel_node* node, const intarsia_kernel_tensor* inputs, size_t input_count,
             const intarsia_kernel_tensor* outputs, size_t output_count, intarsia_kernel_message* message);
} intarsia_kernel;

typedef struct intarsia_kernel_library {
  size_t struct_size; /* sizeof(intarsia_kernel_library) */
  int32_t abi;        /* INTARSIA_KERNEL_ABI */
  size_t kernel_count;
  const intarsia_kernel* const* kernels;
} intarsia_kernel_library;

/* Returns the library's kernels, which live as long as the library. The only function that it exports. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const intarsia_kernel_library* intarsia_kernels(void);

#ifdef __cplusplus
}
#endif
#endif
