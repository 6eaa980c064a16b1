/* What a program calls that runs a region on a board. */
#pragma once

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/halide/abi/halide_abi.h"

static int run_loop(struct HalideKernelRuntime* runtime, HalideTask task, int min, int size,
                    uint8_t* closure) {
  for (int i = 0; i < size; ++i) {
    const int status = task(runtime, min + i, closure);
    if (status != 0) return status;
  }
  return 0;
}

static void* take(struct HalideKernelRuntime* runtime, size_t bytes) {
  (void)runtime;
  return memalign(64, (bytes + 127) / 64 * 64);
}

static void give_back(struct HalideKernelRuntime* runtime, void* memory) {
  (void)runtime;
  free(memory);
}

static void say(struct HalideKernelRuntime* runtime, const char* message) {
  (void)runtime;
  puts(message);
}

static void write_file(const char* path, const void* bytes, size_t count) {
  FILE* const file = fopen(path, "wb");
  if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) exit(98);
}
