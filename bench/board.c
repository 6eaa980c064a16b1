/* Times the kernels of a program in plain C on a board. Prints a file of times that `intarsia costs import`
   reads.

     gcc -std=c11 -O2 -DINTARSIA_PROFILE -DBOARD_TEST='"net_test.c"' -Iout board.c out/net.c
   out/libnet_kernels.a \ out/net_constants.o -lm

   BOARD_TEST is the program's own test, on whose inputs it runs BOARD_ROUNDS times. The clock counts
   nanoseconds of a system that has clock_gettime; elsewhere, define BOARD_HERTZ, the ticks of a second, and
   link a function of your own, uint64_t board_clock(void), which may count cycles. The least time of a kernel
   counts. */
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BOARD_HERTZ
uint64_t board_clock(void);
#else
#include <time.h>
#define BOARD_HERTZ 1000000000
static uint64_t board_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * BOARD_HERTZ + (uint64_t)now.tv_nsec;
}
#endif
#ifndef BOARD_ROUNDS
#define BOARD_ROUNDS 5
#endif
#ifndef BOARD_NAME
#define BOARD_NAME "board"
#endif

/* The test's own messages would be between the times. */
static int say_nothing(const char* format, ...) {
  (void)format;
  return 0;
}
#define printf say_nothing
#define main run_test
#include BOARD_TEST
#undef main
#undef printf

extern const char* const intarsia_origin[5];
uint64_t intarsia_clock(void);
void intarsia_called(const char* key, uint64_t clocks);

enum { most_kernels = 1024 };
static struct Kernel {
  const char* key;
  uint64_t least, most;
} kernels[most_kernels];
static int kernel_count;

uint64_t intarsia_clock(void) { return board_clock(); }

void intarsia_called(const char* key, uint64_t clocks) {
  int i = 0;
  while (i < kernel_count && strcmp(kernels[i].key, key) != 0) ++i;
  if (i == most_kernels) return;
  if (i == kernel_count) kernels[kernel_count++] = (struct Kernel){key, clocks, clocks};
  if (clocks < kernels[i].least) kernels[i].least = clocks;
  if (clocks > kernels[i].most) kernels[i].most = clocks;
}

static void print_kernel(const struct Kernel* kernel, int is_last) {
  char digest[64], precision[32];
  int threads;
  const uint64_t least = kernel->least > 0 ? kernel->least : 1;
  if (sscanf(kernel->key, "%63s %d %31s", digest, &threads, precision) != 3) return;
  printf(
      "    {\"digest\": \"%s\", \"threads\": %d, \"precision\": \"%s\", \"seconds\": %.9f, \"spread\": "
      "%.4f}%s\n",
      digest, threads, precision, (double)least / BOARD_HERTZ, (double)(kernel->most - least) / (double)least,
      is_last ? "" : ",");
}

int main(void) {
  for (int round = 0; round < BOARD_ROUNDS; ++round)
    if (run_test() != 0) return 1;
  printf("{\n  \"intarsia_costs\": 1,\n  \"machine\": {\"name\": \"%s\", \"architecture\": \"%s\"},\n",
         BOARD_NAME, intarsia_origin[1]);
  printf(
      "  \"cpu\": \"%s\",\n  \"generator\": {\"backend\": \"%s\", \"version\": \"%s\", \"code\": \"%s\"},\n",
      intarsia_origin[0], intarsia_origin[2], intarsia_origin[3], intarsia_origin[4]);
  printf("  \"kernels\": [\n");
  for (int i = 0; i < kernel_count; ++i) print_kernel(&kernels[i], i + 1 == kernel_count);
  printf("  ]\n}\n");
  return 0;
}
