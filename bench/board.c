/* Times the kernels of a program in plain C on a board. Prints a file of times that `intarsia costs import`
   reads.

     gcc -std=c11 -O2 -DINTARSIA_PROFILE -DBOARD_TEST='"net_test.c"' -Iout board.c out/net.c
         out/net_constants.o out/libnet_kernels.a -lm

   BOARD_TEST is the program's own test, on whose inputs it runs BOARD_ROUNDS times: the least time of a
   kernel counts, and the spread is that of its rounds. BOARD_NAME tells boards apart whose times differ. The
   clock counts nanoseconds of a system that has clock_gettime; elsewhere, define BOARD_HERTZ, the ticks of a
   second, and link a function of your own, uint64_t board_clock(void), which may count cycles. */
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
#ifndef BOARD_KERNELS
#define BOARD_KERNELS 256
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

static struct Kernel {
  const char* key;
  uint64_t least[BOARD_ROUNDS]; /* of the calls of a round */
} kernels[BOARD_KERNELS];
static int kernel_count, current_round;

uint64_t intarsia_clock(void) { return board_clock(); }

void intarsia_called(const char* key, uint64_t clocks) {
  int i = 0;
  while (i < kernel_count && strcmp(kernels[i].key, key) != 0) ++i;
  if (i == BOARD_KERNELS) {
    fprintf(stderr, "error: there are more than %d kernels: define BOARD_KERNELS\n", BOARD_KERNELS);
    exit(1);
  }
  if (i == kernel_count) {
    kernels[kernel_count++].key = key;
    for (int round = 0; round < BOARD_ROUNDS; ++round) kernels[i].least[round] = UINT64_MAX;
  }
  uint64_t* const least = &kernels[i].least[current_round];
  if (clocks == 0) clocks = 1;
  if (clocks < *least) *least = clocks;
}

static int compare(const void* a, const void* b) {
  const uint64_t left = *(const uint64_t*)a, right = *(const uint64_t*)b;
  return (left > right) - (left < right);
}

static void print_kernel(struct Kernel* kernel, int is_last) {
  char digest[64], precision[32];
  int threads;
  if (sscanf(kernel->key, "%63s %d %31s", digest, &threads, precision) != 3) return;
  qsort(kernel->least, BOARD_ROUNDS, sizeof *kernel->least, compare);
  const double least = (double)kernel->least[0], median = (double)kernel->least[BOARD_ROUNDS / 2];
  printf(
      "    {\"digest\": \"%s\", \"threads\": %d, \"precision\": \"%s\", \"seconds\": %.9f, \"spread\": "
      "%.4f}%s\n",
      digest, threads, precision, least / BOARD_HERTZ, (median - least) / least, is_last ? "" : ",");
}

int main(void) {
  for (current_round = 0; current_round < BOARD_ROUNDS; ++current_round)
    if (run_test() != 0) {
      fprintf(stderr, "error: the program's own test fails\n");
      return 1;
    }
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
