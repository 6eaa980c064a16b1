/* Calls of kernels that a program in plain C is linked with: intarsia_kernels() of intarsia/kernel.h. */
#ifndef INTARSIA_USER_KERNELS_H
#define INTARSIA_USER_KERNELS_H

#include <math.h> /* INFINITY and NAN, as attributes may be */
#include <string.h>

#include "intarsia/kernel.h"

/* Runs the kernel of the node's operator. Returns 0, or another number if there is none or it fails. */
static inline int intarsia_call_user(const intarsia_kernel_node* node, const intarsia_kernel_tensor* in,
                                     size_t in_count, const intarsia_kernel_tensor* out, size_t out_count) {
  const intarsia_kernel_library* const library = intarsia_kernels();
  if (library == NULL || library->abi != INTARSIA_KERNEL_ABI) return 1;
  for (size_t i = 0; i < library->kernel_count; ++i) {
    const intarsia_kernel* const kernel = library->kernels[i];
    if (strcmp(kernel->domain, node->domain) != 0 || strcmp(kernel->op, node->op) != 0) continue;
    char text[128] = "";
    intarsia_kernel_message message = {text, sizeof text};
    return kernel->run(node, in, in_count, out, out_count, &message);
  }
  return 1;
}

#endif
